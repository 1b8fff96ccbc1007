import assert from "node:assert/strict";
import { test } from "node:test";

import { area, columns, place } from "../../js/panel/chart.mjs";
import { History } from "../../js/panel/history.mjs";
import { IDLE, atNode, progressed, started } from "../../js/panel/run_state.mjs";
import { COLUMN_MS, moved, peakLine, pictureOf, readoutAt } from "../../js/panel/timeline_view.mjs";
import { clockSeconds } from "../../js/format.mjs";
import { gib } from "./panel_samples.mjs";

const point = (held) => ({ held: gib(held), used: gib(15), weights: gib(held / 2), working: gib(held / 2), other: 0, total: gib(16) });
const sample = (at, held, own = 20) => ({ at, devices: { a: point(held) }, ram: { own: gib(own), held: gib(30), total: gib(56) } });
const minute = 60_000;

test("five minutes are kept, and no more", () => {
  const history = new History();
  for (let second = 0; second <= 900; second++) history.add(sample(second * 1000, 1));
  const { samples, from, to } = history.view("minutes", 900_000);
  assert.equal(to - from, 5 * minute);
  assert.equal(samples.length, 301);
  assert.equal(samples[0].at, 600_000);
});

test("a run of many hours stays bounded and keeps its peak", () => {
  const history = new History();
  history.startRun("p", 0);
  for (let second = 0; second < 20_000; second++) history.add(sample(second * 1000, second === 7777 ? 13 : 2));
  const { samples, from } = history.view("run", 20_000_000);
  assert.equal(from, 0);
  assert.ok(samples.length <= 600, String(samples.length));
  assert.ok(samples.some((one) => one.devices.a.held === gib(13) && one.at === 7_777_000));
});

test("the beginning of a long run stays as dense as its end", () => {
  const history = new History();
  history.startRun("p", 0);
  const hours = 3;
  for (let second = 0; second < hours * 3600; second++) history.add(sample(second * 1000, 2));
  const { samples } = history.view("run", hours * 3_600_000);
  const tenths = new Set(samples.map((one) => Math.floor(one.at / (hours * 36_000))));
  assert.equal(tenths.size, 100, "every hundredth of the run has a sample");
});

test("a clock that was set back shows no future", () => {
  const history = new History();
  history.startRun("p", 7_190_000);
  for (let second = 7200; second < 7300; second++) history.add(sample(second * 1000, 12));
  history.startNode("3", "KSampler", 7_250_000);
  history.endRun(7_299_000);
  history.add(sample(3_700_000, 2));
  const { samples, nodes } = history.view("minutes", 3_701_000);
  assert.deepEqual(samples.map((one) => one.devices.a.held), [gib(2)]);
  assert.deepEqual(nodes, []);
});

test("nodes follow one another, and the same node again is the same block", () => {
  const history = new History();
  history.startRun("p", 0);
  history.startNode("3", "KSampler", 100);
  history.startNode("3", "KSampler", 200);
  history.startNode("8", "VAE Decode", 5000);
  history.endRun(7000);
  assert.deepEqual(history.view("minutes", 8000).nodes, [
    { id: "3", title: "KSampler", from: 100, to: 5000 },
    { id: "8", title: "VAE Decode", from: 5000, to: 7000 },
  ]);
  assert.equal(history.nodeAt(4999).title, "KSampler");
  assert.equal(history.nodeAt(7000), null);
  assert.deepEqual(history.run, { id: "p", from: 0, to: 7000 });
});

test("this run is shown from its start to its end, then as the last one", () => {
  const history = new History();
  history.add(sample(900, 1));
  history.startRun("p", 1000);
  history.add(sample(2000, 5));
  history.endRun(3000);
  history.add(sample(9000, 9));
  const { from, to, samples } = history.view("run", 10_000);
  assert.deepEqual([from, to], [1000, 3000]);
  assert.deepEqual(samples.map((one) => one.at), [900, 2000]);
});

test("a column shows the most of what was read in it, and a gap stays a gap", () => {
  const cells = columns([sample(0, 1), sample(500, 4), sample(900, 2), sample(100_000, 3)], 0, 300_000, (one) => one.devices.a.held);
  assert.equal(cells[0].devices.a.held, gib(4));
  assert.equal(cells[1], null, "minutes without a reading are not drawn as if something had been read");
  assert.equal(cells[32], null);
  assert.equal(cells[33].at, 100_000, "three seconds a column");
  const near = columns([sample(0, 1), sample(6000, 2)], 0, 300_000, () => 0);
  assert.deepEqual(near.slice(0, 4).map((cell) => cell?.at ?? null), [0, 0, 6000, null]);
});

test("an area is one shape per stretch, inside of its box", () => {
  const cells = [null, 0.5, 0.5, null, 2, null];
  const path = area(cells, () => 0, (cell) => cell, 80);
  assert.equal(path, "M50 40H150V80H50ZM200 0H250V80H200Z");
  // From left to right over the top, back along the bottom; 300 wide, so that a column is 100.
  const stairs = [[0, 0.5], [0.25, 0.5], [0.25, 1]];
  assert.equal(area(stairs, ([low]) => low, ([, high]) => high, 80), "M0 40H200V0H300V60H100V80H0Z");
  assert.equal(area([null, null], () => 0, () => 1, 80), "");
  assert.deepEqual([place(5, 0, 10), place(-3, 0, 10), place(99, 0, 10)], [0.5, 0, 1]);
});

/** Numbers and their units are kept on one line. */
const plain = (text) => text.replaceAll("\u00a0", " ");
const view = (history, now) => ({ history, now });

test("the picture keeps its columns in place while time goes on", () => {
  const history = new History();
  history.add(sample(1_000_000, 1));
  const first = pictureOf(view(history, 999_100), "minutes", "a");
  const second = pictureOf(view(history, 1_001_900), "minutes", "a");
  assert.equal(first.to, second.to);
  assert.equal(first.to % COLUMN_MS, 0);
});

test("the line under the chart names the peak, its node and its time", () => {
  const history = new History();
  history.startRun("p", 0);
  history.startNode("3", "KSampler", 10_000);
  history.add(sample(20_000, 8.2));
  history.startNode("8", "VAE Decode", 30_000);
  history.add(sample(31_000, 8.5));
  history.startNode(null, "", 40_000);
  history.add(sample(41_000, 1));
  const picture = pictureOf(view(history, 42_000), "minutes", "a");
  assert.equal(plain(peakLine(picture, history)), `Peak held 8.5 GiB (in use then: 15.0 GiB): VAE Decode, ${clockSeconds(31)}`);
  const { node, text, time } = readoutAt(picture, history, 20_500);
  assert.deepEqual([node, plain(text), time], ["KSampler", "8.2 GiB held, 15.0 GiB in use, 20.0 GiB RAM", clockSeconds(20)]);
  assert.equal(readoutAt(picture, history, picture.from + 1).text, "nothing was read");
});

test("without a GPU the RAM has the peak", () => {
  const history = new History();
  history.add({ at: 5000, devices: {}, ram: { own: gib(1.5), held: gib(3), total: gib(8) } });
  const picture = pictureOf(view(history, 6000), "minutes", null);
  assert.equal(plain(peakLine(picture, history)), `Peak 1.5 GiB RAM of ComfyUI, ${clockSeconds(5)}`);
  assert.equal(peakLine(pictureOf(view(new History(), 0), "minutes", null), history), "Fills while the panel or the meter is shown.");
});

test("arrow keys move by a column and stay inside", () => {
  const picture = { from: 0, to: 300_000, cells: new Array(150).fill(null) };
  const end = 299_000;
  assert.equal(moved("ArrowLeft", null, picture), end);
  assert.equal(moved("ArrowLeft", end, picture), 297_000);
  assert.equal(moved("ArrowRight", end, picture), end);
  assert.equal(moved("Home", end, picture), 1000);
  assert.equal(moved("PageDown", 11_000, picture), 1000);
  assert.equal(moved("a", end, picture), null);
});

test("a run has a node and steps, and ends with the node that is none", () => {
  const running = atNode(started("p"), "3", "KSampler");
  assert.deepEqual(progressed(running, 11, 20), { running: true, id: "p", nodeId: "3", nodeTitle: "KSampler", step: 11, steps: 20 });
  assert.equal(progressed(running, 1, 1).steps, null, "one step of one is no progress");
  assert.equal(progressed(IDLE, 3, 20), IDLE);
  assert.equal(atNode(progressed(running, 11, 20), "8", "VAE Decode").step, null);
  assert.equal(atNode(running, null, ""), IDLE);
});
