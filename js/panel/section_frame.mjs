// @ts-check
/** The frame around a section: a heading that opens and closes it, with one fact that also serves when it is closed. */

import { icon } from "../icons.mjs";
import { t } from "../strings/index.mjs";
import { button, make, setText, show, uniqueId } from "./dom.mjs";

/**
 * @param {import("./sections.mjs").SectionModule} module
 * @param {import("./sections.mjs").Context} context
 */
export function createFrame(module, context) {
  const { document, get, set } = context;
  const section = module.create(context);
  const memory = `section.${module.id}`;
  const title = make(document, "span", "t", t(memory));
  const fact = make(document, "span", "s");
  const body = make(document, "div", "hr-sec-body", section.element);
  body.id = uniqueId();
  const head = button(document, "", () => setOpen(element.hasAttribute("data-closed"), true), title, fact, icon(document, "chevron"));
  head.setAttribute("aria-controls", body.id);
  const element = make(document, "section", "hr-sec", make(document, "h3", "", head), body);
  element.setAttribute("data-section", module.id);
  let shown = "";

  /** @param {boolean} open @param {boolean} [remember] */
  function setOpen(open, remember = false) {
    element.toggleAttribute("data-closed", !open);
    head.setAttribute("aria-expanded", String(open));
    if (remember) set(memory, open);
  }
  setOpen(get(memory) ?? true);

  /** @param {import("./store.mjs").View} view */
  function update(view) {
    const has = section.update(view);
    show(element, has);
    if (!has) return;
    const found = section.fact?.(view) ?? "";
    if (typeof found === "string") {
      setText(fact, found);
      return;
    }
    if (found.label === shown) return;
    shown = found.label;
    fact.replaceChildren(...found.parts, make(document, "span", "vh", found.label));
    for (const part of fact.children) if (!part.classList.contains("vh")) part.setAttribute("aria-hidden", "true");
  }

  /** Opens it and brings it into view. */
  function reveal() {
    setOpen(true);
    element.scrollIntoView({ block: "start" });
    head.focus({ preventScroll: true });
  }

  return { id: module.id, element, foot: section.foot ?? null, update, reveal };
}
