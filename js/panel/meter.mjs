// @ts-check
/** The meter in the top bar: one button with what is left per GPU and of RAM; a click opens the panel. */

import { icon } from "../icons.mjs";
import { t } from "../strings/index.mjs";
import { button, keyed, make, setAttribute, setStyle, setText, show } from "./dom.mjs";
import { meterItems } from "./meter_items.mjs";
import { unchanged } from "./unchanged.mjs";

/** @param {Document} document @param {() => void} open */
export function createMeter(document, open) {
  const list = make(document, "span", "its");
  const more = make(document, "span", "mo");
  const control = button(document, "", open, list, more);
  const element = make(document, "div", "hr hr-meter", control);
  /** @type {Map<string, any>} */
  const known = new Map();

  /** @type {{ items: import("./meter_items.mjs").Item[], more: number, old: boolean } | null} */
  let drawn = null;

  /** @param {import("./store.mjs").View} view */
  function update(view) {
    const wanted = unchanged(drawn, { ...meterItems(view), old: view.connection.state !== "live" });
    if (wanted === drawn) return;
    drawn = wanted;
    const { items, more: others, old } = wanted;
    element.classList.toggle("hr-old", old);
    keyed(list, items, (item) => item.key, () => createItem(document), known);
    show(more, others > 0);
    setText(more, t("meter.more", { count: others }));
    const parts = items.map(partOf);
    const state = old ? [t("meter.old")] : [];
    setAttribute(control, "aria-label", t("meter.label", { parts: [...parts, ...state].join("; ") }));
    setAttribute(control, "title", [...parts, ...state].join("\n"));
  }

  return { element, update };
}

/** An item in words. @param {import("./meter_items.mjs").Item} item */
function partOf({ name, left, used, level }) {
  const word = level === "error" ? t("meter.critical") : level === "warn" ? t("meter.tight") : "";
  const text = t("meter.part", { name, left, used: used || "n/a" });
  return word ? `${text} (${word})` : text;
}

/** @param {Document} document */
function createItem(document) {
  const [name, left, used] = [make(document, "span", "nm"), make(document, "span"), make(document, "span", "us")];
  const held = make(document, "i", "h");
  const available = make(document, "i", "a");
  const sign = icon(document, "warn");
  const critical = icon(document, "error");
  const element = make(
    document,
    "span",
    "it",
    name,
    make(document, "span", "lf", make(document, "span", "sg", sign, critical), left),
    make(document, "span", "mbar", held, available),
    used,
  );

  /** @type {import("./meter_items.mjs").Item | null} */
  let drawn = null;

  /** @param {import("./meter_items.mjs").Item} item */
  function update(item) {
    if (item === drawn) return;
    drawn = item;
    setAttribute(element, "data-level", item.level);
    setAttribute(element, "data-least", item.least ? "" : null);
    setText(name, item.name);
    setText(left, item.left);
    setText(used, item.used);
    setStyle(held, "--v", `${(item.held * 100).toFixed(1)}%`);
    setStyle(available, "--v", `${(item.available * 100).toFixed(1)}%`);
  }

  return { element, update };
}
