// @ts-check
/** The section with the warnings: a card each, and a line for those that were dismissed. */

import { t } from "../strings/index.mjs";
import { make } from "./dom.mjs";
import { broughtBack, dismissed, dismissedAdvice, shownAdvice } from "./problems.mjs";
import { IGNORED } from "./settings.mjs";
import { createDismissed } from "./warnings_dismissed.mjs";
import { createSpoken, hasSelection } from "./warnings_dom.mjs";
import { createFact } from "./warnings_fact.mjs";
import { createList } from "./warnings_list.mjs";

export const id = "warnings";

/**
 * @param {import("./sections.mjs").Context} context
 * @returns {import("./sections.mjs").Section}
 */
export function create(context) {
  const { document } = context;
  const spoken = createSpoken(document);
  const list = createList(context, { say: spoken.say, dismiss });
  const more = createDismissed(context, bringBack);
  const element = make(document, "div", "", list.element, more.element, spoken.element);
  const foot = make(document, "div", "hr-foot-more");
  /** @type {string[]} */
  let ignored = [];
  /** What is drawn. @type {{ shown: unknown, hidden: unknown }} */
  let drawn = { shown: null, hidden: null };

  /** @param {string} rule */
  function dismiss(rule) {
    const next = list.next(rule);
    change(dismissed(ignored, rule));
    spoken.say(t("cards.dismiss.done"));
    if (!list.focus(next)) more.focus();
  }

  /** @param {string} rule */
  function bringBack(rule) {
    change(broughtBack(ignored, rule));
    list.focus(rule);
  }

  /** @param {string[]} rules */
  function change(rules) {
    // A selection would hold back the change that was just asked for.
    document.getSelection?.()?.removeAllRanges();
    context.set(IGNORED, rules);
    context.redraw();
  }

  /** @param {import("./store.mjs").View} view */
  function update(view) {
    ignored = view.ignored;
    const shown = shownAdvice(view);
    const hidden = dismissedAdvice(view);
    const same = shown === drawn.shown && hidden === drawn.hidden;
    // What somebody has selected to copy stays as it is until the selection is gone.
    if (same || hasSelection(element)) return list.count() > 0;
    drawn = { shown, hidden };
    list.update(shown, view);
    more.update(hidden, view);
    // Where no card is left the section goes, and the line stands at the panel's foot.
    const place = shown.length ? element : foot;
    if (more.element.parentElement !== place) place.append(more.element);
    return shown.length > 0;
  }

  return { element, foot, update, fact: createFact(document) };
}
