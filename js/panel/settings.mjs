// @ts-check
/** The pack's settings in ComfyUI's settings page, as data, and what their values mean here. The ids never change. */

import { GIB } from "../format.mjs";

export const INTERVAL = "Headroom.RefreshInterval";
export const METER = "Headroom.Meter";
export const IGNORED = "Headroom.IgnoredRules";
const LIMITS = {
  tightPercent: "Headroom.TightPercent",
  tightGib: "Headroom.TightGiB",
  criticalPercent: "Headroom.CriticalPercent",
  criticalGib: "Headroom.CriticalGiB",
};

/** @param {number} max @param {number} step */
const between = (max, step) => ({ min: 0, max, step });

/**
 * In the order in which they are added; the host shows the last one of a group first.
 * @type {{ id: string, name: string, type: string, defaultValue: unknown, category?: string[], tooltip?: string, options?: unknown, attrs?: unknown }[]}
 */
export const SETTINGS = [
  {
    id: LIMITS.criticalGib,
    category: ["Headroom", "Limits", "CriticalGiB"],
    name: "Critical below, GiB",
    tooltip: "Less than this many GiB left is shown as critical.",
    type: "number",
    defaultValue: 0.5,
    attrs: between(64, 0.1),
  },
  {
    id: LIMITS.criticalPercent,
    category: ["Headroom", "Limits", "CriticalPercent"],
    name: "Critical below, percent of the total",
    tooltip: "Less than this share left is shown as critical.",
    type: "number",
    defaultValue: 5,
    attrs: between(50, 1),
  },
  {
    id: LIMITS.tightGib,
    category: ["Headroom", "Limits", "TightGiB"],
    name: "Tight below, GiB",
    tooltip: "Less than this many GiB left is shown as tight.",
    type: "number",
    defaultValue: 1.5,
    attrs: between(64, 0.1),
  },
  {
    id: LIMITS.tightPercent,
    category: ["Headroom", "Limits", "TightPercent"],
    name: "Tight below, percent of the total",
    tooltip: "Less than this share left is shown as tight.",
    type: "number",
    defaultValue: 15,
    attrs: between(50, 1),
  },
  {
    id: METER,
    category: ["Headroom", "Display", "Meter"],
    name: "Meter in the top bar",
    tooltip: "What is left of VRAM and RAM, beside the Run button.",
    type: "boolean",
    defaultValue: true,
  },
  {
    id: INTERVAL,
    category: ["Headroom", "Display", "RefreshInterval"],
    name: "Seconds between two readings",
    tooltip: "While the panel is open and this tab is in front. The meter alone asks half as often.",
    type: "combo",
    defaultValue: 1,
    options: [0.5, 1, 2, 5, 10].map((seconds) => ({ text: String(seconds), value: seconds })),
  },
  // The warnings that were dismissed; brought back in the panel.
  { id: IGNORED, name: "Dismissed warnings", type: "hidden", defaultValue: [] },
];

/** The default of a setting of ours. @param {string} id */
export const defaultOf = (id) => SETTINGS.find((setting) => setting.id === id)?.defaultValue;

/**
 * A number from a setting; the default where it is none. @param {(id: string) => unknown} get @param {string} id
 * @returns {number}
 */
function numberOf(get, id) {
  const found = get(id);
  const value = found === null || found === undefined || found === "" ? NaN : Number(found);
  return Number.isFinite(value) && value >= 0 ? value : Number(defaultOf(id));
}

/**
 * When what is left is tight and when it is critical.
 * @param {(id: string) => unknown} get
 * @returns {import("./levels.mjs").Limits}
 */
export function limitsFrom(get) {
  /** @param {string} percent @param {string} gib */
  const limit = (percent, gib) => ({ share: numberOf(get, percent) / 100, bytes: numberOf(get, gib) * GIB });
  return {
    tight: limit(LIMITS.tightPercent, LIMITS.tightGib),
    critical: limit(LIMITS.criticalPercent, LIMITS.criticalGib),
  };
}

/** Milliseconds between two readings. @param {(id: string) => unknown} get */
export const intervalFrom = (get) => Math.max(0.5, numberOf(get, INTERVAL)) * 1000;
