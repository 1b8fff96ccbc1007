// @ts-check
/** One warning: closed it is its title, open it says all. */

import { icon } from "../icons.mjs";
import { t } from "../strings/index.mjs";
import { button, make, setAttribute, setIcon, setInline } from "./dom.mjs";
import { LEVELS, severityOf } from "./problems.mjs";
import { createBody } from "./warnings_body.mjs";

/**
 * @param {import("./sections.mjs").Context} context
 * @param {string} id of the rule
 * @param {{ say: (text: string) => void, toggle: () => void, dismiss: () => void }} acts
 */
export function createCard(context, id, { say, toggle, dismiss }) {
  const { document } = context;
  const mark = make(document, "span", "mark");
  const spoken = make(document, "span", "vh");
  const title = make(document, "span");
  title.id = `hr-card-${id}-title`;
  const text = make(document, "span", "t", spoken, title);
  const head = button(document, "", toggle, mark, text, icon(document, "chevron"));
  head.setAttribute("aria-controls", `hr-card-${id}`);
  const body = createBody(context, say, dismiss);
  body.element.id = `hr-card-${id}`;
  body.dismissButton.setAttribute("aria-describedby", title.id);
  const element = make(document, "article", "hr-card", make(document, "h4", "", head), body.element);
  element.setAttribute("data-rule", id);
  /**
   * @param {import("./types.mjs").Advice} advice
   * @param {import("../strings/advice.mjs").Words} words
   * @param {boolean} open
   */
  function update(advice, words, open) {
    const severity = severityOf(advice);
    setAttribute(mark, "data-level", LEVELS[severity]);
    setIcon(mark, LEVELS[severity]);
    setInline(spoken, t(`cards.${severity}`));
    setInline(title, words.title);
    body.update(words, advice);
    setOpen(open);
  }

  /** @param {boolean} open */
  function setOpen(open) {
    setAttribute(head, "aria-expanded", String(open));
    element.toggleAttribute("data-closed", !open);
  }

  return { element, update, setOpen, focus: () => head.focus() };
}
