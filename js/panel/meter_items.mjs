// @ts-check
/** What the meter in the top bar shows: the GPUs with least left, and the RAM. Pure. */

import { gib } from "../format.mjs";
import { t } from "../strings/index.mjs";

/**
 * @typedef {object} Item
 * @property {string} key
 * @property {string} name
 * @property {string} left
 * @property {string} used
 * @property {string} level
 * @property {number} held  share of the total
 * @property {boolean} least  of the GPUs the one with least left: in a small window it is the only one
 * @property {number} available  share that can be had although it is in use
 */

const MOST_GPUS = 2;

/** A share as it can be seen. @param {number} exact */
const share = (exact) => Math.round(Math.max(0, exact) * 200) / 200;

/** @param {string} key @param {string} name @param {import("./memory.mjs").Division} division @param {string} level @returns {Item} */
function item(key, name, { total, held, available, atLeast, parts }, level) {
  const free = parts.free ?? 0;
  const whole = total || 1;
  // Of a GPU what nvidia-smi shows, of the RAM what is not the system's file cache.
  const used = total === null || held === null ? null : key === "ram" ? held : total - free;
  return {
    key,
    name,
    left: available === null ? "n/a" : t("meter.left", { left: (atLeast ? "≥ " : "") + gib(available) }),
    used: used === null ? "" : `${gib(used)}/${gib(total)}`,
    level,
    least: false,
    held: held === null ? 0 : share(held / whole),
    available: held === null ? 0 : share((whole - held - free) / whole),
  };
}

/**
 * @param {import("./store.mjs").View} view
 * @returns {{ items: Item[], more: number }} `more`: GPUs that are left out
 */
export function meterItems({ devices, ram, snapshot }) {
  if (!snapshot) return { items: [waiting()], more: 0 };
  const sorted = [...devices].sort((a, b) => left(a) - left(b));
  const chosen = new Set(sorted.slice(0, MOST_GPUS));
  const several = devices.length > 1;
  /** @type {Item[]} */
  const items = devices
    .filter((reading) => chosen.has(reading))
    .map(({ key, device, division, level, lost }) => {
      const name = several ? t("block.gpu", { index: device.index }) : t("meter.vram");
      // Of a card that is lost nothing is known, whatever torch remembers of it.
      return lost ? item(key, name, { ...division, held: null, available: null }, "off") : item(key, name, division, level);
    });
  for (const one of items) one.least = one.key === sorted[0]?.key;
  if (ram && !ram.shared) items.push(item("ram", t("ram"), ram.division, ram.level));
  return { items, more: devices.length - chosen.size };
}

/** For the order: least left first, a card that is not read last. @param {import("./store.mjs").Reading} reading */
const left = ({ division, level, lost }) =>
  lost ? Infinity : (division.available ?? Infinity) - (level === "error" ? 2 ** 50 : 0);

/** Before the first reading: the place is there, so that it can be seen whether anybody looks at it. @returns {Item} */
const waiting = () => ({ key: "ram", name: t("ram"), left: "–", used: "", level: "off", least: false, held: 0, available: 0 });
