// @ts-check
/** Which report is current on which node, and whether it is older than the run. No DOM, no host. */

import { headline } from "./format.mjs";

/** @typedef {import("./report.mjs").Report} Report */

/**
 * What is to be drawn on a node.
 * @typedef {object} View
 * @property {Report | null} report  null: the node has not run yet
 * @property {boolean} pending  the node runs and has said nothing in this run yet: the report is the one before
 * @property {boolean} earlier  the report was made before the run it is shown for (it comes from the cache)
 */

/**
 * @typedef {object} Entry
 * @property {Report | null} report
 * @property {string | null} run  the run in which the report arrived; null: brought back from the host's outputs
 * @property {boolean} pending
 */

/** The reports of all nodes; a node is any object, and is forgotten with it. */
export class ReportState {
  /** @type {WeakMap<object, Entry>} */
  #entries = new WeakMap();
  #run = "";
  #startedAt = 0;

  /**
   * A prompt starts.
   * @param {string} id
   * @param {number} at  Unix time by the server's clock, as in a report's made_at; 0 where it is unknown
   */
  startRun(id, at) {
    this.#run = id;
    this.#startedAt = at;
  }

  /** The running prompt reaches this node. @param {object} node */
  startNode(node) {
    const entry = this.#entries.get(node);
    if (entry) entry.pending = entry.run !== this.#run;
    return this.view(node);
  }

  /** The run has ended: the report before is still the node's. @param {object} node @returns {View | null} null: nothing changes */
  settle(node) {
    const entry = this.#entries.get(node);
    if (!entry?.pending) return null;
    entry.pending = false;
    return this.view(node);
  }

  /** The node sent a report: the final one, one from the cache, or one between two attempts. @param {object} node @param {Report} report */
  receive(node, report) {
    this.#entries.set(node, { report, run: this.#run, pending: false });
    return this.view(node);
  }

  /** The host kept this report over an undo or a change of tabs. @param {object} node @param {Report} report */
  restore(node, report) {
    if (!this.#entries.has(node)) this.#entries.set(node, { report, run: null, pending: false });
    return this.view(node);
  }

  /**
   * The node ended in an error. Its own report of this run stays if it says so; else the message takes the headline,
   * above what the node had said so far.
   * @param {object} node
   * @param {string} message
   * @param {number} [at]
   * @returns {View}
   */
  fail(node, message, at = this.#startedAt) {
    const said = this.#said(node);
    if (said?.level === "error") return this.view(node);
    const { title, rest } = headline(message);
    const blocks = [...(rest ? [{ kind: "text", text: rest, muted: false, lead: "" }] : []), ...(said?.blocks ?? [])];
    return this.receive(node, { level: "error", title, figure: "", blocks, facts: said?.facts ?? {}, made_at: at });
  }

  /**
   * The user interrupted a run at this node: what it had said between two attempts stays, under another headline.
   * Every open browser hears of it, also of a run that another one started.
   * @param {object} node
   * @param {string} run
   */
  interrupt(node, run) {
    const said = run === this.#run ? this.#said(node) : null;
    return said ? this.receive(node, { ...said, level: "info", title: "Interrupted" }) : this.view(node);
  }

  /** The node's report of the running prompt, if it sent one. @param {object} node */
  #said(node) {
    const entry = this.#entries.get(node);
    return entry?.run === this.#run ? entry.report : null;
  }

  /** @param {object} node @returns {View} */
  view(node) {
    const entry = this.#entries.get(node);
    if (!entry?.report) return { report: null, pending: false, earlier: false };
    const madeAt = entry.report.made_at || 0;
    // Brought back with no run in this browser: there is nothing it could belong to.
    const orphan = entry.run === null && !this.#startedAt;
    return { report: entry.report, pending: entry.pending, earlier: madeAt > 0 && (orphan || madeAt < this.#startedAt) };
  }
}
