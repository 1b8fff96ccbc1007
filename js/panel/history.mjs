// @ts-check
/** What was read over time and which node ran when, bounded: five minutes, and the current or last run thinned. Pure. */

export const MINUTES = 5;
const WINDOW_MS = MINUTES * 60_000;
const MOST_RECENT = 1200;
const MOST_OF_RUN = 600;
const MOST_NODES = 400;

/**
 * One reading. Per device: bytes, null where unknown.
 * @typedef {{ held: number | null, used: number | null, weights: number, working: number, other: number, total: number | null }} Point
 * @typedef {object} Sample
 * @property {number} at  ms
 * @property {Record<string, Point>} devices
 * @property {{ own: number | null, held: number | null, total: number | null }} ram
 *
 * @typedef {{ id: string, title: string, from: number, to: number | null }} NodeSpan
 * @typedef {{ id: string, from: number, to: number | null }} RunSpan
 */

export class History {
  /** @type {Sample[]} */
  #recent = [];
  /** @type {Sample[]} */
  #ofRun = [];
  /** @type {NodeSpan[]} */
  #nodes = [];
  /** @type {RunSpan | null} */
  run = null;

  /** @param {Sample} sample */
  add(sample) {
    this.#recent.push(sample);
    const oldest = sample.at - WINDOW_MS;
    while (this.#recent.length > MOST_RECENT || this.#recent[0].at < oldest) this.#recent.shift();
    if (!this.run || this.run.to !== null) return;
    this.#ofRun.push(sample);
    if (this.#ofRun.length > MOST_OF_RUN) this.#ofRun = thinned(this.#ofRun);
  }

  /** A run starts. @param {string} id @param {number} at */
  startRun(id, at) {
    this.endRun(at);
    this.run = { id, from: at, to: null };
    this.#ofRun = this.#recent.slice(-1);
    this.#nodes = this.#nodes.filter((node) => (node.to ?? at) >= at - WINDOW_MS);
  }

  /** The node that runs from now on; null: none. @param {string | null} id @param {string} title @param {number} at */
  startNode(id, title, at) {
    const last = this.#nodes[this.#nodes.length - 1];
    if (last && last.to === null) {
      if (last.id === id) return;
      last.to = at;
    }
    if (id === null) return;
    this.#nodes.push({ id, title, from: at, to: null });
    if (this.#nodes.length > MOST_NODES) this.#nodes.splice(0, this.#nodes.length - MOST_NODES);
  }

  /** @param {number} at */
  endRun(at) {
    this.startNode(null, "", at);
    if (this.run && this.run.to === null) this.run.to = at;
  }

  /**
   * What lies in the chosen span of time.
   * @param {"minutes" | "run"} span
   * @param {number} now
   * @returns {{ from: number, to: number, samples: Sample[], nodes: NodeSpan[] }}
   */
  view(span, now) {
    const run = span === "run" ? this.run : null;
    const to = run ? (run.to ?? now) : now;
    const from = run ? Math.min(run.from, to - 1000) : now - WINDOW_MS;
    const samples = run ? this.#ofRun : this.#recent.filter((sample) => sample.at >= from);
    return { from, to, samples, nodes: this.#nodes.filter((node) => (node.to ?? now) >= from && node.from <= to) };
  }

  /** The node that ran at a time. @param {number} at @returns {NodeSpan | null} */
  nodeAt(at) {
    return this.#nodes.find((node) => node.from <= at && at < (node.to ?? Infinity)) ?? null;
  }
}

/** Half as many samples: of two neighbours the one that holds more, so that no peak is lost. @param {Sample[]} samples */
function thinned(samples) {
  const kept = [];
  for (let index = 0; index < samples.length; index += 2) {
    const [a, b] = [samples[index], samples[index + 1] ?? samples[index]];
    kept.push(weight(b) > weight(a) ? b : a);
  }
  return kept;
}

/** @param {Sample} sample */
const weight = (sample) =>
  Object.values(sample.devices).reduce((sum, point) => sum + (point.held ?? 0), 0) || (sample.ram.held ?? 0);
