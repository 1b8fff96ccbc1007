// @ts-check
/** What is told of a run that failed: its title and the memory at that moment, in parts that add up. Pure. */

import { GIB, clock, clockSeconds, gib, number } from "../format.mjs";
import { t } from "../strings/index.mjs";
import { shortName } from "./blocks.mjs";
import { divideDevice, divideRam, tenths } from "./memory.mjs";

/**
 * @typedef {import("./types.mjs").LoadedModel} LoadedModel
 *
 * One line of a table; the size in GiB as it is shown.
 * @typedef {{ id: string, label: string, size: string, detail: string }} Row
 * @typedef {{ id: string, bytes: number | null, detail?: string }} Part
 *
 * One memory at that moment; the rows add up to the total.
 * @typedef {{ id: string, label: string, total: string, rows: Row[] }} Block
 */

const MOST_MODELS = 4;
/** Programs smaller than this are the desktop. */
const PROGRAM_BYTES = 2 ** 28;

/**
 * A node as it is called: as on the canvas, or else by its class, as the host's own messages do.
 * @param {string | null | undefined} type
 * @param {string | null} [title]
 */
function nodeName(type, title) {
  if (title) return title.replaceAll("`", "'");
  return type ? `\`${type.replaceAll("`", "'")}\`` : t("failure.someNode");
}

/**
 * The card's title.
 * @param {Record<string, any> | null} failure
 * @param {Record<string, any> | null} ended the last run where ComfyUI ended in the middle of it
 * @param {string | null} [title] what the failure's node is called on the canvas
 */
export function failureTitle(failure, ended, title = null) {
  if (!failure) return ended?.node ? t("ended.title.node", { node: nodeName(ended.node) }) : t("ended.title");
  const node = nodeName(failure.node_type, title);
  if (failure.kind !== "out-of-memory") return t(failure.kind === "nan" ? "failure.nan" : "failure.other", { node });
  const memory = t(`failure.memory.${["vram", "ram"].includes(failure.memory) ? failure.memory : "unknown"}`);
  const { asked_bytes: asked, free_bytes: free } = failure;
  if (!isSize(asked)) return t("failure.oom", { node, memory });
  if (!isSize(free)) return t("failure.oom.asked", { node, memory, asked_bytes: asked });
  return t("failure.oom.figures", { node, memory, asked_bytes: asked, free_bytes: free });
}

/** When it was, and how long the node had run. @param {Record<string, any>} failure */
export function failureTime(failure) {
  const time = clockSeconds(failure.at);
  if (!isSize(failure.running_seconds)) return t("failure.time", { time });
  return t("failure.time.after", { time, running_seconds: failure.running_seconds });
}

/**
 * What is known of the last run's end, without what the advice about it says already.
 * @param {Record<string, any>} ended
 * @param {{ params: Record<string, any> } | null} [advice]
 * @returns {string[]}
 */
export function endedFacts(ended, advice = null) {
  const facts = [];
  if (isSize(ended.ended_at)) facts.push(t("ended.time", { time: clock(ended.ended_at) }));
  if (isSize(ended.ram_bytes) && !("ram_bytes" in (advice?.params ?? {}))) facts.push(t("ended.ram", { ram_bytes: ended.ram_bytes }));
  if (isSize(ended.vram_bytes) && ended.vram_bytes > 0) facts.push(t("ended.vram", { vram_bytes: ended.vram_bytes }));
  return facts;
}

/**
 * The memory at that moment: every GPU, and the RAM where it ran out or there is nothing else.
 * @param {Record<string, any>} failure
 * @returns {Block[]}
 */
export function moment(failure) {
  const cards = (failure.devices ?? []).filter((/** @type {any} */ device) => device.kind !== "cpu");
  const blocks = cards.map((/** @type {any} */ device) => deviceBlock(device, failure.models ?? [], cards.length > 1));
  const ram = failure.memory === "ram" || !blocks.length ? ramBlock(failure.ram ?? {}) : null;
  return ram ? [ram, ...blocks] : blocks;
}

/** @param {any} device @param {LoadedModel[]} models @param {boolean} several @returns {Block} */
function deviceBlock(device, models, several) {
  const { total, parts } = divideDevice(device, models);
  const programs = (device.programs ?? []).filter((/** @type {any} */ one) => (one.used_bytes ?? 0) >= PROGRAM_BYTES);
  const named = programs.map((/** @type {any} */ one) => `${one.name} ${gib(one.used_bytes)}`).join(", ");
  const rows = ["weights", "working", "other", "evictable", "cache", "free"].map((id) => ({ id, bytes: parts[id] }));
  const detailed = rows.map((row) => (row.id === "other" && named ? { ...row, detail: named } : row));
  return block(`gpu${device.index}`, several ? `${shortName(device.name)}, GPU ${device.index}` : shortName(device.name), total, detailed);
}

/** @param {any} ram @returns {Block | null} */
function ramBlock(ram) {
  const { total, parts } = divideRam(ram);
  const rows = ["own", "other", "fileCache", "free"].map((id) => ({ id: `ram.${id}`, bytes: parts[id] }));
  return total === null ? null : block("ram", t("failure.memory.ram"), total, rows);
}

/**
 * What is unknown has no row; where all is known the shown tenths add up.
 * @param {string} id @param {string} label @param {number | null} total @param {Part[]} parts
 * @returns {Block}
 */
function block(id, label, total, parts) {
  const known = parts.filter((part) => typeof part.bytes === "number");
  const whole = total !== null && known.length === parts.length;
  const shares = whole ? tenths(Math.round((total / GIB) * 10), known.map((part) => Number(part.bytes))) : [];
  const rows = known.map((part, index) => ({
    id: part.id,
    label: t(part.id.includes(".") ? part.id : `block.${part.id}`),
    size: whole ? number(shares[index] / 10) : gib(part.bytes),
    detail: part.detail ?? "",
  }));
  return { id, label, total: gib(total), rows };
}

/**
 * The models that were loaded, the largest in memory first; the rest as one line.
 * @param {Record<string, any>} failure
 * @returns {{ name: string, detail: string }[]}
 */
export function loadedThen(failure) {
  /** @type {LoadedModel[]} */
  const models = [...(failure.models ?? [])].sort((a, b) => (b.resident_bytes ?? 0) - (a.resident_bytes ?? 0));
  const shown = models.slice(0, models.length > MOST_MODELS ? MOST_MODELS - 1 : MOST_MODELS);
  const lines = shown.map((model) => ({
    name: model.name ?? model.class_name,
    detail: t("failure.model", { resident: gib(model.resident_bytes), size: gib(model.size_bytes), device: model.device ?? "" }).trim(),
  }));
  const rest = models.slice(shown.length);
  if (!rest.length) return lines;
  const bytes = rest.reduce((sum, model) => sum + (model.resident_bytes ?? 0), 0);
  return [...lines, { name: t("failure.models.more", { count: rest.length }), detail: gib(bytes) }];
}

/** @param {unknown} value @returns {value is number} */
const isSize = (value) => typeof value === "number" && Number.isFinite(value);
