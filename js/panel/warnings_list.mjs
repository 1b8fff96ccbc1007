// @ts-check
/** The cards as a list, in their order; which are open; where the focus is when one of them goes. */

import { make } from "./dom.mjs";
import { wordsOf } from "./problems.mjs";
import { createCard } from "./warnings_card.mjs";
import { arrange } from "./warnings_dom.mjs";

/** Rules whose card has opened by itself once in this browser. */
const OPENED = "warnings.opened";
/** Which cards are open: the host takes the panel's elements away when it is closed. @type {Map<string, boolean>} */
const open = new Map();

/**
 * @param {import("./sections.mjs").Context} context
 * @param {{ say: (text: string) => void, dismiss: (rule: string) => void }} acts
 */
export function createList(context, { say, dismiss }) {
  const element = make(context.document, "div", "hr-cards");
  /** @type {Map<string, ReturnType<typeof createCard>>} by rule, in the order in which they are shown */
  let cards = new Map();

  /** @param {string} rule */
  function toggle(rule) {
    open.set(rule, !open.get(rule));
    cards.get(rule)?.setOpen(open.get(rule) ?? false);
  }

  /** @param {import("./types.mjs").Advice[]} shown @param {import("./store.mjs").View} view */
  function update(shown, view) {
    openWorst(context, shown);
    const before = cards;
    const focused = [...before].find(([, card]) => card.element.contains(context.document.activeElement))?.[0];
    cards = new Map();
    for (const advice of shown) {
      const rule = advice.id;
      const acts = { say, toggle: () => toggle(rule), dismiss: () => dismiss(rule) };
      const card = before.get(rule) ?? createCard(context, rule, acts);
      cards.set(rule, card);
      card.update(advice, wordsOf(advice, view), open.get(rule) ?? false);
    }
    arrange(element, [...cards.values()].map((card) => card.element));
    // The card with the focus went with its cause: the focus stays near by instead of going back to the page's top.
    if (focused && !cards.has(focused)) focus(neighbour([...before.keys()], focused));
  }

  /** @param {string | undefined} rule @returns {boolean} whether there is such a card */
  function focus(rule) {
    const card = rule === undefined ? undefined : cards.get(rule);
    card?.focus();
    return card !== undefined;
  }

  return { element, update, focus, count: () => cards.size, next: (/** @type {string} */ rule) => neighbour([...cards.keys()], rule) };
}

/** The rule behind another one, or else before it. @param {string[]} rules @param {string} rule */
function neighbour(rules, rule) {
  const place = rules.indexOf(rule);
  return rules[place + 1] ?? rules[place - 1];
}

/**
 * The worst card opens by itself the first time that it is the worst, unless somebody is reading another one.
 * @param {import("./sections.mjs").Context} context
 * @param {import("./types.mjs").Advice[]} shown
 */
function openWorst(context, shown) {
  const worst = shown[0]?.id;
  const before = context.get(OPENED);
  const known = Array.isArray(before) ? before : [];
  if (!worst || known.includes(worst)) return;
  context.set(OPENED, [...known, worst]);
  if (!shown.some((advice) => open.get(advice.id))) open.set(worst, true);
}
