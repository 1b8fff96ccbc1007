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
  /** The run's samples stand for at least so many ms each: its beginning is not to get thinner than its end. */
  #stride = 0;
  #strideFrom = 0;
  /** @type {NodeSpan[]} */
  #nodes = [];
  /** @type {RunSpan | null} */
  run = null;

  /** @param {Sample} sample */
  add(sample) {
    if (this.#recent.length && sample.at < this.#recent[this.#recent.length - 1].at) this.#clockSetBack(sample.at);
    this.#recent.push(sample);
    const oldest = sample.at - WINDOW_MS;
    while (this.#recent.length > MOST_RECENT || this.#recent[0].at < oldest) this.#recent.shift();
    if (!this.run || this.run.to !== null) return;
    this.#addToRun(sample);
  }

  /** @param {Sample} sample */
  #addToRun(sample) {
    const last = this.#ofRun.length - 1;
    if (last >= 0 && sample.at - this.#strideFrom < this.#stride) {
      if (weight(sample) > weight(this.#ofRun[last])) this.#ofRun[last] = sample;
      return;
    }
    this.#ofRun.push(sample);
    this.#strideFrom = sample.at;
    if (this.#ofRun.length <= MOST_OF_RUN) return;
    this.#stride = ((sample.at - this.#ofRun[0].at) / this.#ofRun.length) * 2;
    this.#ofRun = thinned(this.#ofRun);
  }

  /** What lies in the future now would be shown until the clock is there again. @param {number} now */
  #clockSetBack(now) {
    /** @param {{ at: number }} sample */
    const before = (sample) => sample.at <= now;
    this.#recent = this.#recent.filter(before);
    this.#ofRun = this.#ofRun.filter(before);
    this.#strideFrom = Math.min(this.#strideFrom, now);
    this.#nodes = this.#nodes.filter((node) => node.from <= now).map((node) => ({ ...node, to: node.to && Math.min(node.to, now) }));
  }

  /** A run starts. @param {string} id @param {number} at */
  startRun(id, at) {
    this.endRun(at);
    this.run = { id, from: at, to: null };
    this.#ofRun = this.#recent.slice(-1);
    this.#stride = 0;
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

  /** The node that runs is called otherwise. @param {string} title */
  rename(title) {
    const last = this.#nodes[this.#nodes.length - 1];
    if (last && last.to === null) last.title = title;
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
