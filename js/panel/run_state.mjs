// @ts-check
/** What the host runs now, from its events; only this browser's runs have nodes and steps. Pure. */

/**
 * @typedef {object} Run
 * @property {boolean} running
 * @property {string | null} id  the prompt's
 * @property {string | null} nodeId
 * @property {string} nodeTitle
 * @property {number | null} step
 * @property {number | null} steps
 */

/** @type {Run} */
export const IDLE = { running: false, id: null, nodeId: null, nodeTitle: "", step: null, steps: null };

/** A prompt starts. @param {string} id @returns {Run} */
export const started = (id) => ({ ...IDLE, running: true, id });

/** The run reaches a node; null: it is over. @param {Run} run @param {string | null} nodeId @param {string} title @returns {Run} */
export const atNode = (run, nodeId, title) =>
  nodeId === null ? IDLE : { ...run, running: true, nodeId, nodeTitle: title, step: null, steps: null };

/** Its node is called otherwise. @param {Run} run @param {string} title @returns {Run} */
export const named = (run, title) => ({ ...run, nodeTitle: title });

/**
 * The running node's progress: only where it counts more than one step.
 * @param {Run} run @param {number} value @param {number} max
 * @returns {Run}
 */
export const progressed = (run, value, max) =>
  run.nodeId !== null && max > 1 ? { ...run, step: Math.min(Math.floor(value), max), steps: max } : run;
