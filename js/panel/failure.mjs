// @ts-check
/** The section on what just failed: one card from what was frozen at that moment, and one for an end without a finish. */

import { clock } from "../format.mjs";
import { make } from "./dom.mjs";
import { drawTrouble } from "./failure_card.mjs";
import { dismissed, shownTroubles } from "./problems.mjs";
import { IGNORED } from "./settings.mjs";
import { createSpoken } from "./warnings_dom.mjs";

export const id = "failure";

/**
 * @typedef {import("./store.mjs").View} View
 *
 * @param {import("./sections.mjs").Context} context
 * @returns {import("./sections.mjs").Section}
 */
export function create(context) {
  const { document } = context;
  const list = make(document, "div", "hr-cards");
  const spoken = createSpoken(document);
  const element = make(document, "div", "", list, spoken.element);
  /** @type {import("./problems.mjs").Trouble[] | null} */
  let drawn = null;
  /** @type {string[]} */
  let ignored = [];

  /** @param {string} key */
  function dismiss(key) {
    context.set(IGNORED, dismissed(ignored, key));
    context.redraw();
    // The card went with its focus: on to the next heading, and not back to the page's top.
    const headings = [...(element.closest(".hr")?.querySelectorAll("h3 > button") ?? [])];
    const next = headings.find((heading) => heading.getClientRects().length > 0);
    if (next instanceof HTMLElement) next.focus();
  }

  /** @param {View} view */
  function update(view) {
    ignored = view.ignored;
    const troubles = shownTroubles(view);
    // What is told is frozen: it is drawn once, and no poll touches it.
    if (troubles !== drawn) {
      drawn = troubles;
      list.replaceChildren(...troubles.map((trouble) => drawTrouble(context, trouble, view, spoken.say, () => dismiss(trouble.key))));
    }
    return troubles.length > 0;
  }

  /** @param {View} view */
  function fact(view) {
    const [first] = shownTroubles(view);
    const at = first?.failure?.at ?? first?.ended?.ended_at;
    return typeof at === "number" ? clock(at) : "";
  }

  return { element, update, fact };
}
