// @ts-check
/** The section "Now": every GPU that ComfyUI uses, those that it does not, and the RAM. */

import { clockSeconds } from "../format.mjs";
import { t } from "../strings/index.mjs";
import { deviceBlock, ramBlock } from "./blocks.mjs";
import { createBlock } from "./block_view.mjs";
import { keyed, make, setInline, show } from "./dom.mjs";

export const id = "now";
const OPEN = "now.open";

/**
 * A GPU's reading, or the RAM's.
 * @typedef {object} Item
 * @property {string} key
 * @property {import("./store.mjs").Reading | null} reading
 * @property {import("./store.mjs").RamReading | null} ram
 * @property {boolean} old
 * @property {boolean} first  it has its rows open at first
 */

/** @param {Item} item */
const blockOf = ({ reading, ram }) =>
  reading ? deviceBlock(reading) : ramBlock(/** @type {import("./store.mjs").RamReading} */ (ram));

/** @param {import("./sections.mjs").Context} context @returns {import("./sections.mjs").Section} */
export function create({ document, get, set, resetPeak }) {
  const none = make(document, "p", "hr-none");
  const list = make(document, "div");
  const waiting = make(document, "div", "hr-wait");
  const element = make(document, "div", "", none, waiting, list);
  waiting.append(...[0, 1].map(() => make(document, "div", "hr-dev hr-ghost")));
  /** @type {Map<string, any>} */
  const known = new Map();

  /** What the user opened or closed, by the key of the block. @returns {Record<string, boolean>} */
  const remembered = () => get(OPEN) ?? {};

  /** @param {import("./store.mjs").View} view @returns {boolean} */
  function update(view) {
    const { snapshot, ram } = view;
    show(waiting, !snapshot);
    show(none, Boolean(snapshot) && view.devices.length === 0);
    if (!snapshot || !ram) return true;
    setInline(none, t((snapshot.host.flags ?? []).includes("--cpu") ? "now.cpu" : "now.noGpu"));
    const old = view.connection.state !== "live";
    /** @type {Item[]} */
    const items = view.devices.map((reading, place) => ({ key: reading.key, reading, ram: null, old, first: place === 0 }));
    if (!ram.shared) items.push({ key: "ram", reading: null, ram, old, first: true });
    items.push(...view.unused.map((reading) => ({ key: reading.key, reading, ram: null, old, first: false })));
    keyed(list, items, (item) => item.key, createPart, known);
    return true;
  }

  /** @param {Item} first */
  function createPart(first) {
    const gpu = first.reading !== null;
    const part = createBlock(document, blockOf(first), {
      // The GPU that runs the queue is open, others are compact.
      open: remembered()[first.key] ?? first.first,
      old: first.old,
      onToggle: gpu ? (key, open) => set(OPEN, { ...remembered(), [key]: open }) : null,
      onResetPeak: gpu ? resetPeak : null,
    });
    let drawn = first;
    /** @param {Item} item */
    function update(item) {
      // The same reading again: its words need not be made.
      if (item.reading === drawn.reading && item.ram === drawn.ram && item.old === drawn.old) return;
      drawn = item;
      part.update(blockOf(item), item.old);
    }
    return { element: part.element, update };
  }

  /** @param {import("./store.mjs").View} view */
  function fact({ connection }) {
    if (connection.state === "lost" && connection.at !== null) return t("now.fact.old", { time: clockSeconds(connection.at / 1000) });
    return t("now.fact");
  }

  return { element, update, fact };
}
