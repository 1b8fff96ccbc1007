import assert from "node:assert/strict";
import { test } from "node:test";

import { divideDevice, divideRam, tenths } from "../../js/panel/memory.mjs";
import { FULL, card, gib, model, ram } from "./panel_samples.mjs";

/** Rounded to hundredths of a GiB. */
const inGib = (parts) =>
  Object.fromEntries(Object.entries(parts).map(([name, size]) => [name, size === null ? null : Math.round((size / 2 ** 30) * 100) / 100]));
const sum = (parts, names) => names.reduce((total, name) => total + parts[name], 0);
const HELD = ["weights", "working", "other"];
const AVAILABLE = ["evictable", "cache", "free"];

test("what ComfyUI can drop counts as available: a full card is normal under dynamic VRAM", () => {
  const found = divideDevice(FULL, [model(13.3, 8.6)]);
  assert.deepEqual(inGib(found.parts), { weights: 0.2, working: 0.2, other: 0.5, evictable: 8.4, cache: 5.5, free: 1.2 });
  assert.equal(inGib(found).available, 15.1);
  assert.equal(found.atLeast, false);
});

test("the parts add up to the total to the byte", () => {
  const odd = card({ total: 11.99, free: 0.37, used: 11.62, own: 9.1, torch_allocated: 3.33, torch_reserved: 7.77, evictable: 2.2 });
  for (const models of [[], [model(9, 5)], [model(9, 3, { dynamic: false })], [model(30, 30)]]) {
    const { total, held, available, parts } = divideDevice(odd, models);
    assert.equal(held + available, total);
    assert.equal(sum(parts, HELD), held);
    assert.equal(sum(parts, AVAILABLE), available);
    for (const size of Object.values(parts)) assert.ok(size >= 0);
  }
});

test("models without dynamic VRAM lie in what torch counts", () => {
  const device = card({ total: 12, free: 2, used: 10, own: 9, torch_allocated: 8, torch_reserved: 8.5, evictable: 0 });
  const { parts } = divideDevice(device, [model(6.5, 6.5, { dynamic: false })]);
  assert.deepEqual(inGib(parts), { weights: 6.5, working: 1.5, other: 1.5, evictable: 0, cache: 0.5, free: 2 });
});

test("only models on this card count, whatever torch calls the card", () => {
  const second = card({ total: 12, free: 5, used: 7, own: 6, torch_allocated: 0, torch_reserved: 0, evictable: 0 }, { index: 1, kind: "rocm" });
  const models = [model(4, 4), model(2, 2, { device: "cuda:1" }), model(1, 1, { device: "cpu" })];
  assert.equal(divideDevice(second, models).parts.weights, gib(2));
});

test("a card that this process has not opened holds nothing of it", () => {
  const { parts, available, atLeast } = divideDevice(card({ total: 24, free: 11.5, used: 12.5, own: 0 }), []);
  assert.deepEqual(inGib(parts), { weights: 0, working: 0, other: 12.5, evictable: 0, cache: 0, free: 11.5 });
  assert.equal(available, gib(11.5));
  assert.equal(atLeast, false);
});

test("an unknown part makes the available memory a least, and leaves the rest unknown", () => {
  const mig = card({ total: 9.5, free: 2.5, used: 7, own: 6, torch_allocated: 6.1, torch_reserved: 7, evictable: null });
  const found = divideDevice(mig, [model(4.6, 4.6, { dynamic: false })]);
  assert.equal(found.atLeast, true);
  assert.equal(inGib(found).available, 3.4);
  assert.equal(found.parts.evictable, null);
  assert.equal(found.parts.other, null);
});

test("where the driver does not tell what is free there are no totals, and no zero", () => {
  const found = divideDevice(card({ total: 16, torch_allocated: 1, torch_reserved: 3, evictable: 4, own: 3 }), []);
  assert.equal(found.held, null);
  assert.equal(found.atLeast, true);
  assert.equal(inGib(found).available, 6);
  assert.equal(found.parts.free, null);
  const nothing = divideDevice(card(), []);
  assert.equal(nothing.available, null);
});

test("torch's count of another moment never makes a part negative or larger than the card", () => {
  const odd = card({ total: 8, free: 1, used: 7, own: 7, torch_allocated: 2, torch_reserved: 9, evictable: 6 });
  const { parts, available, held } = divideDevice(odd, [model(20, 20)]);
  assert.equal(available, gib(8));
  assert.equal(held, 0);
  assert.equal(sum(parts, AVAILABLE), available);
});

test("RAM under a container's limit: file cache counts as available", () => {
  const found = divideRam(ram({ total: 56, available: 27.5, own: 27.6, file_cache: 17.8 }));
  assert.deepEqual(inGib(found.parts), { own: 27.6, other: 0.9, fileCache: 17.8, free: 9.7 });
  assert.equal(found.held + found.available, found.total);
});

test("model files that are mapped count as this process's and as file cache: the parts still add up", () => {
  const { parts, held } = divideRam(ram({ total: 32, available: 20, own: 18, file_cache: 16 }));
  assert.deepEqual(inGib(parts), { own: 12, other: 0, fileCache: 16, free: 4 });
  assert.equal(held, gib(12));
});

test("RAM that cannot be read is unknown", () => {
  assert.deepEqual(divideRam(ram({ total: 32 })).parts, { own: null, other: null, fileCache: null, free: null });
  assert.equal(divideRam(ram({ total: 32, available: 8 })).parts.own, null);
});

test("shown tenths add up where each by itself would be rounded otherwise", () => {
  assert.deepEqual(tenths(10, [1, 1, 1]), [4, 3, 3]);
  assert.deepEqual(tenths(9, [0.24, 0.24, 0.44]), [3, 2, 4], "0.2 and 0.2 and 0.4 would be 0.8");
  assert.deepEqual(tenths(0, [0, 0]), [0, 0]);
  assert.deepEqual(tenths(7, [0, 0.7]), [0, 7]);
  const shown = tenths(151, [8.44, 5.46, 1.24]);
  assert.equal(shown.reduce((a, b) => a + b, 0), 151);
});
