import assert from "node:assert/strict";
import { test } from "node:test";

import { createReport } from "../../js/report.mjs";
import { document } from "./fake_dom.mjs";

const text = (content, more = {}) => ({ kind: "text", text: content, muted: false, lead: "", ...more });
const row = (cells, note = "", done = false) => ({ cells, note, done });

function draw(report, { pending = false, earlier = false } = {}) {
  const shown = createReport(document);
  const full = { level: "ok", title: "Clean", figure: "", blocks: [], facts: {}, made_at: 0, ...report };
  shown.update({ report: full, pending, earlier });
  return shown;
}
const ofClass = (element, name) => element.all((child) => child.className.split(" ").includes(name));

test("a new report says that the node has not run yet", () => {
  const { element } = createReport(document);
  assert.equal(element.textContent, "Not run yet");
  assert.equal(ofClass(element, "hd")[0].getAttribute("data-level"), "off");
  assert.equal(element.getAttribute("role"), "group");
  assert.equal(element.getAttribute("aria-label"), "Headroom report");
});

test("the headline has an icon, a spoken level, the title and the figure", () => {
  for (const [level, word] of Object.entries({ ok: "Fine", info: "Note", warn: "Warning", error: "Problem" })) {
    const { element } = draw({ level, title: "Done", figure: "0.4 ms" });
    assert.equal(element.textContent, `${word}: Done0.4 ms`);
    assert.equal(ofClass(element, "vh")[0].textContent, `${word}: `);
    const [svg] = element.tags("svg");
    assert.equal(svg.namespaceURI, "http://www.w3.org/2000/svg");
    assert.equal(svg.getAttribute("aria-hidden"), "true");
  }
});

test("each level has another shape", () => {
  const shapes = ["ok", "info", "warn", "error"].map((level) =>
    JSON.stringify(draw({ level }).element.tags("svg")[0].children.map((shape) => shape.attributes)),
  );
  assert.equal(new Set(shapes).size, 4);
});

test("an unknown level is drawn as a note", () => {
  assert.equal(ofClass(draw({ level: "fatal" }).element, "hd")[0].getAttribute("data-level"), "info");
});

test("machine words are in mono, everything else is text", () => {
  const { element } = draw({ title: "`--cpu` <b>x</b>", blocks: [text("Try `<i>`.", { lead: "Likely", muted: true })] });
  assert.deepEqual(
    element.tags("code").map((code) => code.textContent),
    ["--cpu", "<i>"],
  );
  const [paragraph] = element.tags("p");
  assert.equal(paragraph.textContent, "Likely: Try <i>.");
  assert.equal(paragraph.className, "mut");
  assert.equal(element.tags("i").length, 0);
});

test("bad cells are marked for the eye and for the ear", () => {
  const { element } = draw({ blocks: [{ kind: "cells", count: 4, bad: [1, 3] }] });
  const cells = element.tags("li");
  assert.deepEqual(
    cells.map((cell) => cell.textContent),
    ["0", "1 bad", "2", "3 bad"],
  );
  assert.deepEqual(
    cells.map((cell) => cell.className),
    ["", "bad", "", "bad"],
  );
});

test("a numbered table counts its rows and puts a note under them", () => {
  const rows = [row(["bf16", "0.8", "n/a"], "out of memory"), row(["fp32", "1.7", "8.6"], "finished", true), row(["a", "b", "c"])];
  const { element } = draw({ blocks: [{ kind: "table", columns: ["Attempt", "Time, s", "Peak, GiB"], rows, numbered: true }] });
  const lines = element.tags("tbody")[0].children;
  assert.deepEqual(
    lines.map((line) => line.textContent),
    ["1bf160.8n/a", "out of memory", "2fp321.78.6", "finished", "3abc"],
  );
  const note = lines[3].children[1];
  assert.equal(note.className, "lv-ok");
  assert.equal(note.getAttribute("colspan"), "3");
  assert.deepEqual(
    lines[0].children.map((cell) => cell.className),
    ["no mut", "name", "num", "num mut"],
  );
  assert.ok(element.tags("th").every((cell) => cell.getAttribute("scope") === "col"));
});

test("a table without numbers has no column for them", () => {
  const { element } = draw({ blocks: [{ kind: "table", columns: ["Item", "NaN"], rows: [row(["1", "8"], "why")], numbered: false }] });
  assert.deepEqual(
    element.tags("tr").map((line) => line.children.length),
    [2, 2, 1],
  );
});

test("a kind of block from a newer version is left out", () => {
  const { element } = draw({ blocks: [{ kind: "chart" }, null, text("after")] });
  assert.equal(element.textContent, "Fine: Cleanafter");
});

test("a report from the cache says from when", () => {
  const made_at = new Date(2020, 0, 2, 14, 2, 31).getTime() / 1000;
  const { element } = draw({ made_at }, { earlier: true });
  assert.equal(element.tags("p").at(-1).textContent, "ran at 2020-01-02 14:02");
  assert.equal(ofClass(element, "hd")[0].getAttribute("title"), "2020-01-02 14:02:31");
  assert.equal(draw({ made_at }).element.tags("p").length, 0);
});

test("while the node runs the last report says so in place of the figure", () => {
  const made_at = new Date(2020, 0, 2, 14, 2).getTime() / 1000;
  const shown = draw({ level: "error", figure: "2 s", made_at }, { pending: true, earlier: true });
  assert.equal(shown.element.textContent, "Before this run: Cleanran at 2020-01-02 14:02");
  assert.equal(shown.element.getAttribute("data-pending"), "");
  shown.update({ report: null, pending: false, earlier: false });
  assert.equal(shown.element.getAttribute("data-pending"), null);
});

test("the same report again leaves the DOM alone", () => {
  const shown = draw({});
  const before = shown.body.childNodes[0];
  const view = { report: { level: "ok", title: "Clean", figure: "", blocks: [], facts: {}, made_at: 0 }, pending: false, earlier: false };
  assert.equal(shown.update(view), false);
  assert.equal(shown.body.childNodes[0], before);
  assert.equal(shown.update({ ...view, report: { ...view.report, title: "Done" } }), true);
});
