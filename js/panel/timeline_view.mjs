// @ts-check
/** What the timeline shows of the history: which span, the peak in it, and what was read at one moment. Pure. */

import { clockSeconds } from "../format.mjs";
import { t } from "../strings/index.mjs";
import { COLUMNS, columns } from "./chart.mjs";
import { MINUTES } from "./history.mjs";

/**
 * @typedef {import("./history.mjs").Sample} Sample
 * @typedef {import("./history.mjs").NodeSpan} NodeSpan
 *
 * @typedef {object} Picture
 * @property {number} from  ms
 * @property {number} to
 * @property {string | null} gpu  the device shown; null: RAM alone
 * @property {(Sample | null)[]} cells
 * @property {NodeSpan[]} nodes
 * @property {Sample | null} peak
 * @property {number | null} total  of the GPU
 * @property {number | null} ramTotal
 */

/** The width of a column of the last minutes: columns keep their place in time, so that the picture does not shimmer. */
export const COLUMN_MS = (MINUTES * 60_000) / COLUMNS;

/**
 * @param {import("./store.mjs").View} view
 * @param {"minutes" | "run"} span
 * @param {string | null} gpu
 * @returns {Picture}
 */
export function pictureOf(view, span, gpu) {
  const now = span === "run" ? view.now : Math.ceil(view.now / COLUMN_MS) * COLUMN_MS;
  const { from, to, samples, nodes } = view.history.view(span, now);
  const weight = weightOf(gpu);
  const peak = samples.reduce((best, sample) => (!best || weight(sample) > weight(best) ? sample : best), /** @type {Sample | null} */ (null));
  const last = samples[samples.length - 1];
  return {
    from,
    to,
    gpu,
    cells: columns(samples, from, to, weight),
    nodes,
    peak: peak && weight(peak) > 0 ? peak : null,
    total: gpu === null ? null : (last?.devices[gpu]?.total ?? null),
    ramTotal: last?.ram.total ?? null,
  };
}

/** What the peak is the peak of: memory held on the GPU, else this process's RAM. @param {string | null} gpu */
const weightOf = (gpu) => (/** @type {Sample} */ sample) =>
  gpu === null ? (sample.ram.own ?? 0) : (sample.devices[gpu]?.held ?? 0);

/** The line under the chart while nobody points at it. @param {Picture} picture @param {import("./history.mjs").History} history */
export function peakLine({ peak, gpu }, history) {
  if (!peak) return t("timeline.empty");
  const time = clockSeconds(peak.at / 1000);
  const point = gpu === null ? null : peak.devices[gpu];
  const words = point
    ? t("timeline.peak.vram", { held_bytes: point.held ?? 0, used_bytes: point.used ?? 0 })
    : t("timeline.peak.ram", { own_bytes: peak.ram.own ?? 0 });
  const node = history.nodeAt(peak.at);
  return node
    ? t("timeline.peak.node", { peak: words, node: node.title, time })
    : t("timeline.peak.idle", { peak: words, time });
}

/**
 * The line under the chart for the moment that is pointed at.
 * @param {Picture} picture
 * @param {import("./history.mjs").History} history
 * @param {number} at ms
 * @returns {{ time: string, node: string, text: string }}
 */
export function readoutAt({ cells, gpu, from, to }, history, at) {
  const time = clockSeconds(at / 1000);
  const node = history.nodeAt(at)?.title ?? "";
  const column = (to - from) / cells.length;
  const shown = cells[Math.min(cells.length - 1, Math.max(0, Math.floor((at - from) / column)))];
  if (!shown) return { time, node, text: t("timeline.read.none") };
  const own_bytes = shown.ram.own ?? 0;
  const point = gpu === null ? null : shown.devices[gpu];
  const text = point
    ? t("timeline.read.vram", { held_bytes: point.held ?? 0, used_bytes: point.used ?? 0, own_bytes })
    : t("timeline.read.ram", { own_bytes });
  return { time, node, text };
}

/** A cursor moved by a key; null: the key is none of ours. @param {string} key @param {number | null} at @param {Picture} picture */
export function moved(key, at, { from, to, cells }) {
  const step = (to - from) / cells.length;
  const middle = to - step / 2;
  const start = at ?? middle;
  /** @type {Record<string, number>} */
  const targets = {
    ArrowLeft: at === null ? middle : start - step,
    ArrowRight: start + step,
    ArrowDown: start - step,
    ArrowUp: start + step,
    PageDown: start - 10 * step,
    PageUp: start + 10 * step,
    Home: from + step / 2,
    End: middle,
  };
  return key in targets ? Math.min(middle, Math.max(from + step / 2, targets[key])) : null;
}
