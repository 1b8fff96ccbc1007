// @ts-check
/** The status line: "am I fine?" in words. What matters most comes first. Pure. */

import { clockSeconds } from "../format.mjs";
import { t } from "../strings/index.mjs";
import { spilledBytes } from "./memory.mjs";

/**
 * @typedef {import("./store.mjs").View} View
 *
 * @typedef {object} Status
 * @property {string} id  which of the states it is
 * @property {"ok" | "info" | "warn" | "error" | "off"} level
 * @property {string} icon
 * @property {string} title  bold
 * @property {string} detail
 * @property {string} spoken  for screen readers; the same while only numbers change
 * @property {string} [section]  the section that says more
 */

/**
 * The worst problem of what runs now, by its title and the section that has it; null: none.
 * @typedef {{ title: string, section: string } | null} Problem
 *
 * @typedef {(view: View, problem: Problem) => Status | null} Rule
 */

/** @type {Rule[]} */
const RULES = [absent, noAnswer, first, lostCard, spilled, critical, problem, running, tight];

/** @param {View} view @param {Problem} [problem] @returns {Status} */
export function statusOf(view, problem = null) {
  for (const rule of RULES) {
    const found = rule(view, problem);
    if (found) return found;
  }
  return status("fine", "ok", "ok", t("status.fine"), left(view));
}

/**
 * @param {string} id @param {Status["level"]} level @param {string} icon @param {string} title @param {string} detail
 * @param {{ spoken?: string, section?: string }} [more]
 * @returns {Status}
 */
const status = (id, level, icon, title, detail, more = {}) => ({ id, level, icon, title, detail, spoken: title, ...more });

/** @type {Rule} */
function absent(view) {
  if (view.connection.state !== "absent") return null;
  return status("absent", "off", "off", t("status.absent"), t("status.absent.detail"));
}

/** @type {Rule} */
function noAnswer(view) {
  const { state, at, nextAt } = view.connection;
  if (state !== "lost") return null;
  const seconds = Math.max(1, Math.ceil(((nextAt ?? view.now) - view.now) / 1000));
  const detail =
    at === null
      ? t("status.noAnswer.never", { seconds })
      : t("status.noAnswer.detail", { time: clockSeconds(at / 1000), seconds });
  return status("noAnswer", "off", "off", t("status.noAnswer"), detail);
}

/** @type {Rule} */
function first(view) {
  return view.snapshot ? null : status("first", "off", "off", t("status.first"), "");
}

/** @type {Rule} */
function lostCard(view) {
  const found = view.devices.find((reading) => reading.lost);
  if (!found) return null;
  const time = clockSeconds((found.lostSince ?? view.now) / 1000);
  return status("lost", "warn", "warn", t("status.lost", { index: found.device.index }), t("status.lost.detail", { time }));
}

/** @type {Rule} */
function spilled(view) {
  const found = view.devices.find(({ device, lost }) => !lost && spilledBytes(device) !== null);
  if (!found) return null;
  const title = t("status.spilled", { spilled_bytes: spilledBytes(found.device) });
  const where = view.devices.length > 1 ? [t("status.onGpu", { index: found.device.index })] : [];
  const detail = [...where, t("status.spilled.detail")].join(", ");
  return status("spilled", "error", "error", title, detail, { spoken: t("status.spilled.spoken") });
}

/** @type {Rule} */
function critical(view) {
  const found = least(view, "error");
  return found && status("critical", "error", "error", shortOf(found), rest(view, found), { spoken: t("status.critical.spoken") });
}

/** @type {Rule} */
function problem(view, worst) {
  return worst && status("problem", "error", "error", worst.title, left(view), { section: worst.section });
}

/** @type {Rule} */
function running(view) {
  const { run, snapshot } = view;
  if (!run.running && !snapshot?.host.running) return null;
  const { step, steps } = run;
  const node = run.nodeTitle || view.otherNode;
  const spoken = node ? t("status.running.node", { node }) : t("status.running");
  const title = node && steps !== null ? t("status.running.step", { node, step, steps }) : spoken;
  return status("running", "off", "run", title, left(view), { spoken });
}

/** @type {Rule} */
function tight(view) {
  const found = least(view, "warn");
  return found && status("tight", "warn", "warn", shortOf(found), rest(view, found), { spoken: t("status.tight.spoken") });
}

/**
 * What is left of one kind of memory.
 * @typedef {{ kind: "vram" | "ram", index: number, available: number, atLeast: boolean, level: string, several: boolean }} Left
 */

/** Every GPU whose available memory is known, and the RAM. @param {View} view @returns {Left[]} */
function lefts(view) {
  const several = view.devices.length > 1;
  /** @type {Left[]} */
  const found = view.devices
    .filter((reading) => reading.division.available !== null)
    .map(({ device, division, level }) => ({
      ...{ kind: "vram", index: device.index, available: Number(division.available) },
      ...{ atLeast: division.atLeast, level, several },
    }));
  const ram = view.ram;
  if (ram && !ram.shared && ram.division.available !== null) {
    const { available } = ram.division;
    found.push({ kind: "ram", index: 0, available, atLeast: false, level: ram.level, several: false });
  }
  return found;
}

/** The shortest memory of this level; VRAM before RAM. @param {View} view @param {string} level */
function least(view, level) {
  const found = lefts(view).filter((one) => one.level === level);
  found.sort((a, b) => Number(a.kind === "ram") - Number(b.kind === "ram") || a.available - b.available);
  return found[0] ?? null;
}

/** The GPU that runs the queue, and the RAM. @param {View} view */
const shown = (view) => lefts(view).filter((one, place) => one.kind === "ram" || place === 0);

/** @param {Left} one */
const keyOf = ({ kind, atLeast }) => (kind === "ram" ? "status.left.ram" : `status.left.vram${atLeast ? ".atLeast" : ""}`);

/** "0.3 GiB VRAM left". @param {Left} one */
const shortOf = (one) => t("status.left", { parts: t(keyOf(one), { left_bytes: one.available }) });

/** The second line under a shortage: on which GPU, and what is left of the rest. @param {View} view @param {Left} short */
function rest(view, short) {
  const where = short.several ? [t("status.onGpu", { index: short.index })] : [];
  return [...where, ...shown(view).filter((one) => one.kind !== short.kind).map(shortOf)].join(", ");
}

/** "15.1 GiB VRAM, 27.5 GiB RAM left". @param {View} view */
function left(view) {
  const parts = shown(view).map((one) => t(keyOf(one), { left_bytes: one.available }));
  return parts.length ? t("status.left", { parts: parts.join(", ") }) : "";
}
