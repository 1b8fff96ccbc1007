// @ts-check
/** What keeps focus and selection where they are while the cards change around them. */

import { make } from "./dom.mjs";

/**
 * What is said to screen readers and shown to nobody; the same words again are said again.
 * @param {Document} document
 */
export function createSpoken(document) {
  const element = make(document, "p", "vh");
  element.setAttribute("role", "status");
  /** @param {string} text */
  const say = (text) => void (element.textContent = element.textContent === text ? `${text}\u00a0` : text);
  return { element, say };
}

/** Documents in which something is selected, and those that are watched. @type {WeakMap<Document, boolean>} */
const selecting = new WeakMap();

/**
 * Whether something may be selected. Told by the browser when it changes: to ask at each reading costs a layout of the
 * page, three milliseconds.
 * @param {Document} document
 */
function maySelect(document) {
  if (!selecting.has(document)) {
    const look = () => selecting.set(document, document.getSelection?.()?.isCollapsed === false);
    document.addEventListener?.("selectionchange", look);
    look();
  }
  return selecting.get(document);
}

/** Whether text in this element is selected. @param {HTMLElement} element */
export function hasSelection(element) {
  if (!maySelect(element.ownerDocument)) return false;
  const selection = element.ownerDocument.getSelection?.();
  if (!selection || selection.isCollapsed) return false;
  return element.contains(selection.anchorNode) || element.contains(selection.focusNode);
}

/**
 * Makes these elements a parent's children, in this order. The one with the focus is never moved: that would take the
 * focus from it.
 * @param {HTMLElement} parent
 * @param {HTMLElement[]} wanted
 */
export function arrange(parent, wanted) {
  const now = [...parent.children];
  if (now.length === wanted.length && wanted.every((element, index) => element === now[index])) return;
  for (const element of now) if (!wanted.includes(/** @type {HTMLElement} */ (element))) element.remove();
  const focused = wanted.findIndex((element) => element.contains(parent.ownerDocument.activeElement));
  wanted.forEach((element, index) => {
    if (index < focused) parent.insertBefore(element, wanted[focused]);
    else if (index > focused) parent.append(element);
  });
}
