import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { ReportState } from "../../js/report_state.mjs";

const report = (title, made_at, level = "ok") => ({ level, title, figure: "", blocks: [], facts: {}, made_at });
const FRESH = { report: null, pending: false, earlier: false };

let state, node;
beforeEach(() => {
  state = new ReportState();
  node = {};
});

test("a new node has no report, also while it runs", () => {
  assert.deepEqual(state.view(node), FRESH);
  state.startRun("a", 100);
  assert.deepEqual(state.startNode(node), FRESH);
});

test("a report of this run is current", () => {
  state.startRun("a", 100);
  state.startNode(node);
  assert.deepEqual(state.receive(node, report("Clean", 101)), {
    report: report("Clean", 101),
    pending: false,
    earlier: false,
  });
});

test("the last report stays while the node runs again, and does not look current", () => {
  state.startRun("a", 100);
  state.receive(node, report("NaN", 101, "error"));
  state.startRun("b", 200);
  assert.equal(state.view(node).pending, false);
  assert.equal(state.startNode(node).pending, true);
  assert.equal(state.view(node).report.title, "NaN");
  assert.equal(state.receive(node, report("Clean", 201)).pending, false);
});

test("a node that starts twice in a run keeps what it said in between", () => {
  state.startRun("a", 100);
  state.startNode(node);
  state.receive(node, report("attempt 1", 101, "info"));
  assert.equal(state.startNode(node).pending, false);
});

test("a report from the cache is known by its age", () => {
  state.startRun("a", 100);
  state.receive(node, report("Clean", 101));
  assert.equal(state.view(node).earlier, false);
  state.startRun("b", 200);
  assert.equal(state.receive(node, report("Clean", 101)).earlier, true);
});

test("a report without a time has no age", () => {
  state.startRun("a", 100);
  assert.equal(state.receive(node, report("Clean", 0)).earlier, false);
});

test("an error without a report shows the message", () => {
  state.startRun("a", 100);
  state.startNode(node);
  const view = state.fail(node, "samples has 16 channels. Connect another VAE.\n", 102);
  assert.equal(view.report.level, "error");
  assert.equal(view.report.title, "samples has 16 channels");
  assert.equal(view.report.blocks[0].text, "Connect another VAE.");
  assert.equal(view.report.made_at, 102);
  assert.equal(view.earlier, false);
});

test("an error does not hide the report that the node sent about it", () => {
  state.startRun("a", 100);
  state.receive(node, report("Item 1 is NaN", 101, "error"));
  assert.equal(state.fail(node, "Latent Guard stopped the run").report.title, "Item 1 is NaN");
});

test("an error report of an earlier run does not hide a new error", () => {
  state.startRun("a", 100);
  state.receive(node, report("Item 1 is NaN", 101, "error"));
  state.startRun("b", 200);
  state.startNode(node);
  assert.equal(state.fail(node, "out of disk").report.title, "out of disk");
});

test("an error after a report between attempts takes the headline and keeps the attempts", () => {
  state.startRun("a", 100);
  const blocks = [{ kind: "table", columns: [], rows: [] }];
  state.receive(node, { ...report("Decoding", 101, "info"), blocks });
  const view = state.fail(node, "Interrupted by the driver");
  assert.equal(view.report.title, "Interrupted by the driver");
  assert.deepEqual(view.report.blocks, blocks);
});

test("an interrupted node keeps its attempts and does not claim to go on", () => {
  state.startRun("a", 100);
  const said = { ...report("Attempt 1 did not do; trying the next", 101, "warn"), blocks: [{ kind: "table" }] };
  state.receive(node, said);
  assert.equal(state.interrupt(node, "of another browser").report.title, said.title);
  const view = state.interrupt(node, "a");
  assert.deepEqual([view.report.level, view.report.title, view.report.blocks], ["info", "Interrupted", said.blocks]);
});

test("a node that was interrupted before it said anything keeps the last report, marked as old", () => {
  state.startRun("a", 100);
  state.receive(node, report("Clean", 101));
  state.startRun("b", 200);
  state.startNode(node);
  const view = state.interrupt(node, "b");
  assert.deepEqual([view.report.title, view.pending], ["Clean", true]);
});

test("a report that the host kept is shown with its age, but never over a newer one", () => {
  const kept = report("Clean", 50);
  assert.deepEqual(state.restore(node, kept), { report: kept, pending: false, earlier: true });
  state.startRun("a", 100);
  state.receive(node, report("NaN", 101, "error"));
  assert.equal(state.restore(node, kept).report.title, "NaN");
});

test("a report that the host kept over an undo is current if it is of the last run", () => {
  state.startRun("a", 100);
  const afterUndo = {};
  assert.equal(state.restore(afterUndo, report("Clean", 101)).earlier, false);
  assert.equal(state.restore({}, report("Clean", 99)).earlier, true);
});

test("a report that waits for a run that is over is current again", () => {
  state.startRun("a", 100);
  state.receive(node, report("Clean", 101));
  state.startRun("b", 200);
  state.startNode(node);
  assert.equal(state.view(node).pending, true);
  assert.equal(state.settle(node).pending, false);
  assert.equal(state.settle(node), null, "nothing is drawn again");
});
