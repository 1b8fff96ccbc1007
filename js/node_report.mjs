// @ts-check
/** The report on each of our nodes: one element per node, fed by the host's events. */

import * as host from "./host.mjs";
import { createReport } from "./report.mjs";
import { ReportState } from "./report_state.mjs";

const WIDGET = "headroom_report";
/** At the host's default width of 210 px a report wraps badly. */
const LEAST_WIDTH = 300;
/** A longer report scrolls, unless the user makes the node higher; headroom.css has the same number. */
const MOST_HEIGHT = 240;
/** "Not run yet": one line, its padding and the border. */
const ONE_LINE = 34;
const BORDER = 2;

const state = new ReportState();
/** @type {WeakMap<object, (view: import("./report_state.mjs").View) => void>} */
const drawings = new WeakMap();
/** @type {WeakMap<Element, () => void>} */
const measures = new WeakMap();

const sizes = new ResizeObserver((entries) => {
  // At the next frame: a size that changes inside the callback is an error event on the page.
  requestAnimationFrame(() => {
    for (const measure of new Set(entries.map((entry) => measures.get(entry.target)))) measure?.();
  });
});

/** Puts an empty report on a new node. @param {any} node */
export function addReport(node) {
  const { element, body, update } = createReport(document);
  let need = 0;

  /** @param {number} height */
  function setNeed(height) {
    if (height === need) return;
    need = height;
    element.style.setProperty("--hr-need", `${need}px`);
  }

  function measure() {
    // Zero while the host does not show the node.
    if (!body.offsetHeight) return;
    setNeed(body.offsetHeight + BORDER);
    host.redraw(node);
    const scrolls = element.scrollHeight > element.clientHeight;
    // What scrolls must be reachable by keyboard; in Nodes 2.0 the wheel scrolls it once it has the focus.
    element.toggleAttribute("data-scrolls", scrolls);
    if (scrolls) element.tabIndex = 0;
    else element.removeAttribute("tabindex");
    element.dataset.captureWheel = String(scrolls);
  }

  setNeed(ONE_LINE);
  const widget = host.addElement(node, WIDGET, element, {
    width: LEAST_WIDTH,
    height: () => Math.min(need, MOST_HEIGHT),
  });
  host.shareWithCanvas(element);
  for (const part of [element, body]) measures.set(part, measure);
  host.chain(node, "onAdded", () => [element, body].forEach((part) => sizes.observe(part)));
  host.chain(widget, "onRemove", () => [element, body].forEach((part) => sizes.unobserve(part)));
  host.chain(node, "onExecuted", (output) => {
    const report = output?.headroom?.[0];
    if (report) draw(node, state.receive(node, report));
  });
  drawings.set(node, update);
}

/** @param {any} node @param {import("./report_state.mjs").View} view */
const draw = (node, view) => drawings.get(node)?.(view);

/** Brings back what the host kept, after an undo, a change of tabs or from the history. @param {Record<string, any>} [outputs] */
export function restoreReports(outputs) {
  for (const node of host.ourNodes()) {
    const report = host.storedReport(node, outputs);
    if (report) draw(node, state.restore(node, report));
  }
}

/** Starts listening to the host; called once. */
export function followRuns() {
  host.listen("execution_start", ({ prompt_id, timestamp }) => state.startRun(prompt_id, (timestamp ?? 0) / 1000));
  host.listen("executing", (id) => {
    const node = id == null ? null : host.ourNode(id);
    if (node) draw(node, state.startNode(node));
  });
  host.listen("headroom.report", ({ node: id, type, report }) => {
    const node = host.ourNode(id, type);
    if (!node || !report) return;
    drawAndStore(node, state.receive(node, report));
  });
  host.listen("execution_error", ({ node_id, node_type, exception_message, timestamp }) => {
    const node = host.ourNode(node_id, node_type);
    if (node) drawAndStore(node, state.fail(node, exception_message ?? "", timestamp && timestamp / 1000));
  });
  host.listen("execution_interrupted", ({ node_id, node_type, prompt_id }) => {
    const node = host.ourNode(node_id, node_type);
    if (node) drawAndStore(node, state.interrupt(node, prompt_id));
  });
  host.listenToEnds(settle);
}

/** A run has ended: what still waits for its report waits in vain, or was never in it. */
function settle() {
  for (const node of host.ourNodes()) {
    const view = state.settle(node);
    if (view) draw(node, view);
  }
}

/** For a view that the host's own outputs do not hold. @param {any} node @param {import("./report_state.mjs").View} view */
function drawAndStore(node, view) {
  draw(node, view);
  if (view.report) host.storeReport(node, view.report);
}
