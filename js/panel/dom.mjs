// @ts-check
/** Making and updating elements: a text, an attribute or a style is only written when it changes. Text never is HTML. */

import { splitCode } from "../format.mjs";
import { icon } from "../icons.mjs";

/**
 * @template {keyof HTMLElementTagNameMap} K
 * @param {Document} document
 * @param {K} tag
 * @param {string} [className]
 * @param {(Node | string)[]} children
 * @returns {HTMLElementTagNameMap[K]}
 */
export function make(document, tag, className = "", ...children) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  element.append(...children);
  return element;
}

/** Text for screen readers alone. @param {Document} document @param {string} text */
export const hidden = (document, text) => make(document, "span", "vh", text);

/** @type {WeakMap<Element, string>} */
const texts = new WeakMap();

/** The element's whole text. @param {Element} element @param {string} text */
export function setText(element, text) {
  const before = texts.get(element);
  if (before === text) return;
  texts.set(element, text);
  const { firstChild } = element;
  // A text that is there already is changed: cheaper than a new one.
  if (before && text && firstChild instanceof Text && firstChild === element.lastChild) firstChild.data = text;
  else element.textContent = text;
}

/** The element's whole text, with its machine words (between backticks) in mono. @param {HTMLElement} element @param {string} text */
export function setInline(element, text) {
  if (texts.get(element) === text) return;
  texts.set(element, text);
  const document = element.ownerDocument;
  element.replaceChildren(
    ...splitCode(text).map((part) => (part.code ? make(document, "code", "", part.text) : part.text)),
  );
}

/** @param {Element} element @param {string} name @param {string | null} value null: without it */
export function setAttribute(element, name, value) {
  if (element.getAttribute(name) === value) return;
  if (value === null) element.removeAttribute(name);
  else element.setAttribute(name, value);
}

/** @param {HTMLElement} element @param {boolean} shown */
export function show(element, shown) {
  if (element.hidden === shown) element.hidden = !shown;
}

/** @type {WeakMap<Element, Record<string, string>>} */
const styles = new WeakMap();

/** A custom property. @param {HTMLElement} element @param {string} name @param {string} value */
export function setStyle(element, name, value) {
  const known = styles.get(element) ?? {};
  if (known[name] === value) return;
  known[name] = value;
  styles.set(element, known);
  element.style.setProperty(name, value);
}

/**
 * A button that is off stays in the tab order and says why: `setOff`.
 * @param {Document} document
 * @param {string} className
 * @param {() => void} press
 * @param {(Node | string)[]} children
 */
export function button(document, className, press, ...children) {
  const element = make(document, "button", className, ...children);
  element.type = "button";
  element.addEventListener("click", () => {
    if (element.getAttribute("aria-disabled") !== "true") press();
  });
  return element;
}

/** @param {Document} document @param {string} name of the icon @param {string} label @param {() => void} press */
export function iconButton(document, name, label, press) {
  const element = button(document, "ib", press, icon(document, name));
  setLabel(element, label);
  return element;
}

/** What a button without words is called, and its tooltip. @param {HTMLElement} element @param {string} label @param {string} [tip] */
export function setLabel(element, label, tip = label) {
  setAttribute(element, "aria-label", label);
  setAttribute(element, "data-tip", tip);
}

/** @param {HTMLElement} element @param {boolean} off @param {string} why  the id of the text that says why */
export function setOff(element, off, why) {
  setAttribute(element, "aria-disabled", off ? "true" : null);
  setAttribute(element, "aria-describedby", off ? why : null);
}

/** An icon in its place, changed only when it is another one. @param {HTMLElement} holder @param {string} name */
export function setIcon(holder, name) {
  if (holder.getAttribute("data-icon") === name) return;
  holder.setAttribute("data-icon", name);
  holder.replaceChildren(icon(holder.ownerDocument, name));
}

/**
 * Keeps one child per item in the items' order; a child that stays is the same element, and keeps its focus.
 * @template T
 * @param {HTMLElement} parent
 * @param {T[]} items
 * @param {(item: T) => string} keyOf
 * @param {(item: T) => { element: HTMLElement, update: (item: T) => void }} create
 * @param {Map<string, { element: HTMLElement, update: (item: T) => void }>} known  made before; kept by the caller
 */
export function keyed(parent, items, keyOf, create, known) {
  const keys = items.map(keyOf);
  const same = keys.length === known.size && keys.every((key) => known.has(key));
  if (!same) {
    for (const [key, part] of known) {
      if (keys.includes(key)) continue;
      part.element.remove();
      known.delete(key);
    }
  }
  items.forEach((item, place) => {
    const part = known.get(keys[place]) ?? create(item);
    known.set(keys[place], part);
    part.update(item);
  });
  arrange(parent, keys.map((key) => /** @type {{ element: HTMLElement }} */ (known.get(key)).element));
}

/** Brings elements into order; the focus stays where it is, also in one that is moved. @param {HTMLElement} parent @param {HTMLElement[]} wanted */
function arrange(parent, wanted) {
  if (wanted.every((element, place) => parent.children[place] === element)) return;
  const { activeElement: focused } = parent.ownerDocument;
  wanted.forEach((element, place) => {
    if (parent.children[place] !== element) parent.insertBefore(element, parent.children[place] ?? null);
  });
  if (focused instanceof HTMLElement && focused !== parent.ownerDocument.activeElement && parent.contains(focused)) {
    focused.focus({ preventScroll: true });
  }
}

let last = 0;
/** An id that no other element has. */
export const uniqueId = () => `hr-${++last}`;
