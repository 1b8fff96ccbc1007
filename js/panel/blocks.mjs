// @ts-check
/** A GPU and the RAM as blocks of words: name, bar, two small tables that add up to the total, facts, notes. Pure. */

import { GIB, gib, number, withUnit } from "../format.mjs";
import { reason, t } from "../strings/index.mjs";
import { spilledBytes, tenths } from "./memory.mjs";

/**
 * @typedef {import("./store.mjs").Reading} Reading
 * @typedef {{ kind: string, label: string, text: string, na: boolean }} Row  `kind`: its hue and texture
 * @typedef {{ id: string, label: string, text: string, na: boolean, tip: string }} Fact
 * @typedef {{ lead: string, text: string }} Note
 *
 * @typedef {object} Block
 * @property {string} key
 * @property {string} label  for screen readers
 * @property {string} name
 * @property {string} sub
 * @property {string} total
 * @property {string} level
 * @property {[kind: string, share: number][]} bar  shares of the total; empty: unknown
 * @property {number | null} peakAt  share of the total
 * @property {{ held: string, available: string, heldRows: Row[], availableRows: Row[] }} split
 * @property {Fact[]} facts
 * @property {Note[]} notes
 */

const NA = "n/a";
const HELD = ["weights", "working", "other"];
const AVAILABLE = ["evictable", "cache", "free"];
/** @type {import("./memory.mjs").Division} */
const UNKNOWN = {
  ...{ total: null, held: null, available: null, atLeast: false },
  parts: Object.fromEntries([...HELD, ...AVAILABLE].map((name) => [name, null])),
};
/** A part of the RAM is drawn as the part of a GPU that it is like. */
const RAM_AS = { own: "weights", other: "other", fileCache: "evictable", free: "free" };
/** Fields of the server's reading and the words that depend on them. */
const FIELD_WORDS = {
  evictable_bytes: "block.evictable",
  others_bytes: "block.other",
  torch_reserved_bytes: "block.cache",
  torch_allocated_bytes: "block.working",
  free_bytes: "block.free",
  utilisation_percent: "fact.busy",
  temperature_celsius: "fact.temp",
};

/** The card's name without its maker's. @param {string} name */
export const shortName = (name) =>
  name.replace(/^(NVIDIA|AMD|Intel\(R\)|Intel)\s+/i, "").replace(/^(GeForce|Radeon)\s+(?=\S)/i, "") || name;

/** @param {number | null} percent */
const percent = (percent) => (percent === null ? NA : withUnit(String(Math.round(percent)), "%"));

/** @param {string} id @param {string} text @returns {Fact} */
const fact = (id, text) => ({ id, label: t(`fact.${id}`), text, na: text === NA, tip: t(`fact.${id}.tip`) });

/**
 * The parts of both tables with one decimal, so that they add up to the total as it is shown.
 * @param {import("./memory.mjs").Division} division
 * @param {string[]} held
 * @param {string[]} available
 */
function figures({ total, held: heldBytes, available: availableBytes, parts, atLeast }, held, available) {
  /** @type {Record<string, string>} */
  const shown = {};
  /** @param {string} name */
  const alone = (name) => (shown[name] = parts[name] === null ? NA : gib(parts[name]));
  if (total === null || heldBytes === null || availableBytes === null) {
    for (const name of [...held, ...available]) alone(name);
    const some = availableBytes === null ? NA : `≥ ${gib(availableBytes)}`;
    return { shown, held: NA, available: some };
  }
  // Available is the same number wherever it is shown; held is the rest of the total as it is shown.
  const availableTenths = Math.round(Number(number(availableBytes / GIB)) * 10);
  const heldTenths = Math.max(0, Math.round((total / GIB) * 10) - availableTenths);
  for (const [names, whole] of /** @type {[string[], number][]} */ ([[held, heldTenths], [available, availableTenths]])) {
    if (names.some((name) => parts[name] === null)) {
      names.forEach(alone);
      continue;
    }
    const sizes = tenths(whole, names.map((name) => Number(parts[name])));
    names.forEach((name, place) => (shown[name] = (sizes[place] / 10).toFixed(1)));
  }
  const left = (availableTenths / 10).toFixed(1);
  return { shown, held: (heldTenths / 10).toFixed(1), available: atLeast ? `≥ ${left}` : left };
}

/** A share as it can be seen: what is the same in the picture is not drawn again. @param {number} exact */
const share = (exact) => Math.round(Math.max(0, exact) * 1000) / 1000;

/** @param {number | null} total @param {Record<string, number | null>} parts @param {string[]} names @returns {[string, number][]} */
function bar(total, parts, names) {
  if (!total) return [];
  return names.map((name) => [name, share(Number(parts[name] ?? 0) / total)]);
}

/** @param {Reading} reading @returns {Block} */
export function deviceBlock({ key, device, division, level, peak, lost, used, programs }) {
  // Of a card that is lost nothing is known, whatever torch remembers of it.
  const { shown, held, available } = figures(lost ? UNKNOWN : division, HELD, AVAILABLE);
  /** @param {string} kind @returns {Row} */
  const row = (kind) => ({ kind, label: t(`block.${kind}`), text: shown[kind], na: shown[kind] === NA });
  const known = division.held !== null && !lost;
  const gpu = t("block.gpu", { index: device.index });
  const sub = used ? (device.unified ? t("block.shared") : gpu) : t("block.unused");
  return {
    key,
    label: `${gpu}, ${device.name}`,
    name: shortName(device.name),
    sub,
    total: division.total === null ? NA : withUnit(gib(division.total), "GiB"),
    level: lost ? "off" : level,
    bar: known ? bar(division.total, division.parts, [...HELD, ...AVAILABLE]) : [],
    peakAt: known && peak !== null && division.total ? share(Math.min(1, peak / division.total)) : null,
    split: { held, available, heldRows: HELD.map(row), availableRows: AVAILABLE.map(row) },
    facts: [
      fact("inUse", gib(device.used_bytes)),
      fact("peak", gib(peak)),
      fact("busy", percent(device.utilisation_percent)),
      fact("temp", device.temperature_celsius === null ? NA : withUnit(String(Math.round(device.temperature_celsius)), "°C")),
    ],
    notes: [...spillNote(device), ...programNote(programs), ...reasonNotes(device.reasons)],
  };
}

/** @param {import("./types.mjs").Device} device @returns {Note[]} */
function spillNote(device) {
  const spilled = spilledBytes(device);
  return spilled === null ? [] : [{ lead: t("block.spilled"), text: t("block.spilled.text", { spilled_bytes: spilled }) }];
}

/** @param {Reading["programs"]} programs @returns {Note[]} */
function programNote(programs) {
  if (!programs.length) return [];
  const named = programs.map((program) => `${program.name} ${gib(program.used_bytes)}`);
  return [{ lead: t("block.other"), text: named.join(", ") }];
}

/** Why something is n/a; the same reason for several figures is said once. @param {Record<string, string>} reasons @returns {Note[]} */
function reasonNotes(reasons) {
  if (reasons.device) return [{ lead: "", text: sentence(reason(reasons.device)) }];
  /** @type {Map<string, string[]>} */
  const words = new Map();
  for (const [field, key] of Object.entries(FIELD_WORDS)) {
    const why = reasons[field];
    if (why) words.set(why, [...(words.get(why) ?? []), t(key)]);
  }
  return [...words].map(([why, names]) => ({ lead: names.join(", "), text: reason(why) }));
}

/** @param {string} text */
const sentence = (text) => text.charAt(0).toUpperCase() + text.slice(1);

/** @param {Pick<import("./store.mjs").RamReading, "ram" | "division" | "level">} reading @returns {Block} */
export function ramBlock({ ram, division, level }) {
  const { shown, held, available } = figures(division, ["own", "other"], ["fileCache", "free"]);
  /** @param {keyof typeof RAM_AS} part @returns {Row} */
  const row = (part) => ({ kind: RAM_AS[part], label: t(`ram.${part}`), text: shown[part], na: shown[part] === NA });
  const parts = Object.fromEntries(Object.entries(RAM_AS).map(([from, to]) => [to, division.parts[from]]));
  const { swap_used_bytes: swap, swap_total_bytes: swapTotal } = ram;
  const notes = Object.entries(ram.reasons).filter(([field]) => /** @type {any} */ (ram)[field] === null);
  return {
    key: "ram",
    label: t("ram"),
    name: t("ram"),
    sub: ram.limit_source ? t("ram.limit") : "",
    total: division.total === null ? NA : withUnit(gib(division.total), "GiB"),
    level,
    bar: division.held === null ? [] : bar(division.total, parts, Object.values(RAM_AS)),
    peakAt: null,
    split: { held, available, heldRows: [row("own"), row("other")], availableRows: [row("fileCache"), row("free")] },
    facts: [
      fact("pinned", gib(ram.pinned_bytes)),
      fact("swap", swapTotal === 0 ? t("fact.swap.none") : swap === null ? NA : `${gib(swap)}/${gib(swapTotal)}`),
      fact("cpu", percent(ram.cpu_percent)),
      fact("machine", gib(ram.machine_bytes)),
    ],
    notes: [...new Set(notes.map(([, why]) => why))].map((why) => ({ lead: "", text: why })),
  };
}
