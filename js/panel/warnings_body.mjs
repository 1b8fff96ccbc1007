// @ts-check
/** What an open card says: why, what to do about it with a command, how to see that it worked, and from where it is known. */

import { t } from "../strings/index.mjs";
import { button, make, setInline, show } from "./dom.mjs";
import { createCommand } from "./warnings_command.mjs";

/**
 * @param {import("./sections.mjs").Context} context
 * @param {(text: string) => void} say  for screen readers
 * @param {() => void} dismiss
 */
export function createBody(context, say, dismiss) {
  const { document } = context;
  const why = make(document, "p");
  const fix = labelled(document);
  const command = createCommand(context, say);
  const check = labelled(document);
  const source = make(document, "p", "src");
  const dismissButton = button(document, "b q", dismiss);
  const footer = make(document, "footer", "", source, dismissButton);
  const element = make(document, "div", "", why, fix.element, command.element, check.element, footer);
  let shownSource = "";

  /**
   * @param {import("../strings/advice.mjs").Words} words
   * @param {import("./types.mjs").Advice} advice
   */
  function update(words, advice) {
    setInline(why, words.why);
    fix.update(t("cards.fix"), words.fix);
    command.update(advice.command);
    check.update(t("cards.check"), words.check);
    setInline(dismissButton, t("cards.dismiss"));
    const wanted = [t("cards.source"), advice.source, advice.link].join("\n");
    if (wanted !== shownSource) source.replaceChildren(...sourceParts(document, advice));
    shownSource = wanted;
  }

  return { element, footer, dismissButton, update };
}

/** A paragraph behind a label; hidden where it says nothing. @param {Document} document */
function labelled(document) {
  const label = make(document, "span", "lab");
  const text = make(document, "span");
  const element = make(document, "p", "", label, text);
  /** @param {string} name @param {string} words */
  const update = (name, words) => {
    show(element, Boolean(words));
    setInline(label, name);
    setInline(text, words);
  };
  return { element, update };
}

/**
 * The source, with the public report in it as a link.
 * @param {Document} document
 * @param {{ source: string, link: string }} advice
 */
function sourceParts(document, { source, link }) {
  const parts = [t("cards.source")];
  const reference = isHttps(link) ? referenceIn(source, link) : "";
  if (!reference) return [...parts, source];
  const anchor = make(document, "a", "", reference);
  anchor.setAttribute("href", link);
  anchor.setAttribute("target", "_blank");
  anchor.setAttribute("rel", "noopener noreferrer");
  const at = source.indexOf(reference);
  return [...parts, source.slice(0, at), anchor, source.slice(at + reference.length)];
}

/**
 * The words of a source that its link leads to: "ComfyUI #14938". The whole source where no number tells.
 * @param {string} source @param {string} link
 */
export function referenceIn(source, link) {
  const number = link.match(/\/(\d+)\/?$/)?.[1];
  const found = number ? source.match(new RegExp(`[\\w./-]+ (?:PR)?#${number}\\b`)) : null;
  return found ? found[0] : source;
}

/** @param {unknown} link */
export function isHttps(link) {
  try {
    return new URL(String(link)).protocol === "https:";
  } catch {
    return false;
  }
}
