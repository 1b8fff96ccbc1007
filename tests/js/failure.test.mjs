import assert from "node:assert/strict";
import { afterEach, test } from "node:test";

import { endedFacts, failureTime, failureTitle, loadedThen, moment } from "../../js/panel/failure_facts.mjs";
import { useLanguage } from "../../js/strings/index.mjs";

const GIB = 2 ** 30;
const NBSP = "\u00a0";
const CARD = {
  ...{ index: 0, kind: "cuda", name: "NVIDIA GeForce RTX 3060", total_bytes: 12 * GIB, free_bytes: 0.3 * GIB },
  ...{ own_bytes: 9.6 * GIB, torch_allocated_bytes: 8 * GIB, torch_reserved_bytes: 9 * GIB, evictable_bytes: 0 },
  programs: [
    { name: "ollama", used_bytes: 2.1 * GIB, pid: 5 },
    { name: "Xorg", used_bytes: 0.1 * GIB, pid: 6 },
  ],
};
const MODEL = { name: "unet.safetensors", class_name: "SDXL", kind: "diffusion", device: "cuda:0", dynamic: false };
const LOADED = { ...MODEL, size_bytes: 5 * GIB, resident_bytes: 5 * GIB };
const RAM = { total_bytes: 32 * GIB, available_bytes: 8 * GIB, own_bytes: 20 * GIB, file_cache_bytes: 6 * GIB };
const OOM = {
  ...{ kind: "out-of-memory", memory: "vram", at: new Date(2026, 0, 2, 14, 2, 31).getTime() / 1000, node_type: "VAEDecode" },
  ...{ asked_bytes: 3.1 * GIB, free_bytes: 0.3 * GIB, devices: [CARD], models: [LOADED], ram: RAM, running_seconds: 12.34 },
};

afterEach(() => useLanguage("en"));

test("the title says which node, which memory, what was asked and what was there", () => {
  assert.equal(failureTitle(OOM, null), `\`VAEDecode\` ran out of VRAM: asked 3.1${NBSP}GiB, had 0.3${NBSP}GiB`);
  assert.equal(failureTitle({ ...OOM, free_bytes: null }, null), `\`VAEDecode\` ran out of VRAM: asked 3.1${NBSP}GiB`);
  assert.equal(failureTitle({ ...OOM, asked_bytes: null, memory: "ram" }, null), "`VAEDecode` ran out of RAM");
  assert.equal(failureTitle({ ...OOM, asked_bytes: null, memory: null, node_type: null }, null), "A node ran out of memory");
  assert.equal(failureTitle({ ...OOM, kind: "nan" }, null), "`VAEDecode` gave NaN or Inf");
  assert.equal(failureTitle({ ...OOM, kind: "other" }, null), "`VAEDecode` failed");
});

test("an end of ComfyUI in the middle of a run names the node where it is known", () => {
  assert.equal(failureTitle(null, { finished: false, node: "KSampler" }), "The last run ended in `KSampler` without finishing");
  assert.equal(failureTitle(null, { finished: false, node: null }), "The last run ended without finishing");
});

test("a backtick in a node's name does not open a machine word", () => {
  assert.equal(failureTitle({ ...OOM, kind: "other", node_type: "a`b" }, null), "`a'b` failed");
});

test("the time of day and how long the node had run", () => {
  assert.equal(failureTime(OOM), `At 14:02:31, 12.3${NBSP}s after the node began.`);
  assert.equal(failureTime({ ...OOM, running_seconds: null }), "At 14:02:31.");
});

test("the card's parts at that moment add up to its total as shown", () => {
  const [block, ...more] = moment(OOM);
  assert.equal(more.length, 0);
  assert.deepEqual([block.label, block.total], ["RTX 3060", "12.0"]);
  const rows = Object.fromEntries(block.rows.map((row) => [row.id, row.size]));
  assert.deepEqual(rows, { weights: "5.0", working: "3.0", other: "2.7", evictable: "0.0", cache: "1.0", free: "0.3" });
  const sum = block.rows.reduce((tenths, row) => tenths + Math.round(Number(row.size) * 10), 0);
  assert.equal(sum, 120);
});

test("programs that hold much of the card are named with their size", () => {
  const other = moment(OOM)[0].rows.find((row) => row.id === "other");
  assert.equal(other.detail, "ollama 2.1");
});

test("several cards are told apart by their number", () => {
  const labels = moment({ ...OOM, devices: [CARD, { ...CARD, index: 1, programs: null }] }).map((block) => block.label);
  assert.deepEqual(labels, ["RTX 3060, GPU 0", "RTX 3060, GPU 1"]);
});

test("RAM is told where it ran out, and where there is no card", () => {
  assert.deepEqual(moment({ ...OOM, memory: "ram" }).map((block) => block.id), ["ram", "gpu0"]);
  const [ram, ...more] = moment({ ...OOM, devices: [{ ...CARD, kind: "cpu" }] });
  assert.equal(more.length, 0);
  assert.deepEqual(
    ram.rows.map((row) => [row.label, row.size]),
    [["ComfyUI", "20.0"], ["Other", "4.0"], ["File cache", "6.0"], ["Free", "2.0"]],
  );
});

test("what was not read has no row, and never is a zero", () => {
  const [block] = moment({ ...OOM, devices: [{ ...CARD, torch_allocated_bytes: null, torch_reserved_bytes: null }] });
  assert.deepEqual(block.rows.map((row) => row.id), ["weights", "evictable", "free"]);
  assert.deepEqual(moment({ kind: "other", at: 1 }), []);
  assert.deepEqual(moment({ kind: "other", at: 1, devices: [], ram: { total_bytes: null } }), []);
});

test("the models that were loaded come largest in memory first, and many are cut short", () => {
  const model = (name, resident) => ({ ...LOADED, name, resident_bytes: resident * GIB, size_bytes: 8 * GIB });
  assert.deepEqual(loadedThen({ models: [model("a", 1), model("b", 6.4)] }), [
    { name: "b", detail: "6.4 of 8.0" },
    { name: "a", detail: "1.0 of 8.0" },
  ]);
  const five = [1, 2, 3, 4, 5].map((size) => model(`m${size}`, size));
  assert.deepEqual(
    loadedThen({ models: five }).map((line) => [line.name, line.detail]),
    [["m5", "5.0 of 8.0"], ["m4", "4.0 of 8.0"], ["m3", "3.0 of 8.0"], ["2 more", "3.0"]],
  );
  assert.equal(loadedThen({ models: [{ ...LOADED, name: null, resident_bytes: null }] })[0].name, "SDXL");
  assert.equal(loadedThen({ models: [{ ...LOADED, resident_bytes: null }] })[0].detail, "n/a of 5.0");
});

test("of an unclean end only what is known is told", () => {
  const ended_at = new Date(2020, 0, 2, 9, 5, 1).getTime() / 1000;
  assert.deepEqual(endedFacts({ ended_at, ram_bytes: 20 * GIB, vram_bytes: 0 }), [
    "Last sign of it at 2020-01-02 09:05.",
    `ComfyUI held 20.0${NBSP}GiB of RAM when the node began.`,
  ]);
  assert.deepEqual(endedFacts({}), []);
  const advice = { params: { ram_bytes: 20 * GIB } };
  assert.deepEqual(endedFacts({ ram_bytes: 20 * GIB, vram_bytes: GIB }, advice), [`torch held 1.0${NBSP}GiB of VRAM then.`]);
});

test("in Chinese", () => {
  useLanguage("zh");
  assert.equal(failureTitle(OOM, null), `\`VAEDecode\` 显存不足：需要 3.1${NBSP}GiB，只有 0.3${NBSP}GiB`);
  assert.equal(failureTime(OOM), `时间 14:02:31，节点已运行 12.3${NBSP}s。`);
  assert.equal(moment(OOM)[0].rows[0].label, "权重");
});
