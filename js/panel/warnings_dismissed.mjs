// @ts-check
/** The line for dismissed warnings, and behind it their list, from which each can be brought back. */

import { icon } from "../icons.mjs";
import { t } from "../strings/index.mjs";
import { button, make, setAttribute, setInline, show } from "./dom.mjs";
import { LEVELS, severityOf, wordsOf } from "./problems.mjs";

/**
 * @param {import("./sections.mjs").Context} context
 * @param {(rule: string) => void} bringBack
 */
export function createDismissed(context, bringBack) {
  const { document } = context;
  const count = make(document, "span");
  const list = make(document, "ul", "hr-dismissed");
  list.id = "hr-dismissed";
  list.hidden = true;
  const toggleButton = button(document, "lk", toggle);
  toggleButton.setAttribute("aria-controls", list.id);
  const line = make(document, "p", "hr-more", count, " ", toggleButton);
  const element = make(document, "div", "", line, list);
  function toggle() {
    show(list, list.hidden);
    label();
  }

  function label() {
    setAttribute(toggleButton, "aria-expanded", String(!list.hidden));
    setInline(toggleButton, t(list.hidden ? "cards.show" : "cards.hide"));
  }

  /** @param {import("./types.mjs").Advice[]} advice @param {import("./store.mjs").View} view */
  function update(advice, view) {
    show(element, advice.length > 0);
    if (!advice.length) show(list, false);
    setInline(count, t(advice.length === 1 ? "cards.dismissed.one" : "cards.dismissed", { count: advice.length }));
    label();
    list.replaceChildren(...advice.map((one) => drawLine(document, one, wordsOf(one, view).title, () => bringBack(one.id))));
  }

  return { element, update, focus: () => toggleButton.focus() };
}

/**
 * @param {Document} document
 * @param {import("./types.mjs").Advice} advice
 * @param {string} words its title
 * @param {() => void} bringBack
 */
function drawLine(document, advice, words, bringBack) {
  const severity = severityOf(advice);
  const mark = make(document, "span", "mark", icon(document, LEVELS[severity]));
  mark.setAttribute("data-level", LEVELS[severity]);
  const title = make(document, "span", "t");
  title.id = `hr-dismissed-${advice.id}`;
  setInline(title, words);
  const back = button(document, "b q", bringBack, t("cards.bringBack"));
  back.setAttribute("aria-describedby", title.id);
  return make(document, "li", "", mark, make(document, "span", "vh", t(`cards.${severity}`)), title, back);
}
