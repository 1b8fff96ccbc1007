// @ts-check
/** A command with its copy button. */

import { t } from "../strings/index.mjs";
import { iconButton, make, setAttribute, setIcon, setLabel, show } from "./dom.mjs";

const SHOWN_MS = 2000;

/**
 * @param {import("./sections.mjs").Context} context
 * @param {(text: string) => void} say  for screen readers
 */
export function createCommand(context, say) {
  const { document } = context;
  const code = make(document, "code");
  const copy = iconButton(document, "copy", t("cards.copy"), () => void press());
  const element = make(document, "div", "hr-code", code, copy);
  let command = "";
  /** @type {ReturnType<typeof setTimeout> | undefined} while it says what came of the last press */
  let timer;

  function rest() {
    timer = undefined;
    setIcon(copy, "copy");
    setAttribute(copy, "data-level", null);
    setLabel(copy, t("cards.copy"));
  }

  async function press() {
    const done = await context.copy(command);
    // Without the right to the clipboard the text is selected, so that the keys for copying are all it takes.
    if (!done) document.getSelection()?.selectAllChildren(code);
    const label = t(done ? "cards.copied" : "cards.copy.byHand");
    setIcon(copy, done ? "ok" : "copy");
    setAttribute(copy, "data-level", done ? "ok" : null);
    setLabel(copy, label);
    say(label);
    clearTimeout(timer);
    timer = setTimeout(rest, done ? SHOWN_MS : 2 * SHOWN_MS);
  }

  /** @param {string} text an empty one hides it */
  function update(text) {
    show(element, Boolean(text));
    if (text !== command) {
      command = text;
      const parts = pieces(text).map((piece) => make(document, "span", "", piece));
      code.replaceChildren(...parts.flatMap((part, index) => (index ? [" ", part] : [part])));
    }
    if (!timer) rest();
  }

  return { element, update };
}

/**
 * A command where a line may break: a flag stays with its value.
 * @param {string} command
 * @returns {string[]} joined by spaces they are the command
 */
export function pieces(command) {
  /** @type {string[]} */
  const found = [];
  for (const word of command.split(" ")) {
    const last = found.length - 1;
    if (last >= 0 && /^--[\w-]+$/.test(found[last]) && !word.startsWith("-")) found[last] += ` ${word}`;
    else found.push(word);
  }
  return found;
}
