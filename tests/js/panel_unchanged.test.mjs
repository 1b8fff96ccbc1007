import assert from "node:assert/strict";
import { test } from "node:test";

import { onChange, unchanged } from "../../js/panel/unchanged.mjs";

const answer = () => ({ at: 1, host: { flags: ["--listen"], args: { a: 1, b: null } }, devices: [{ free: 5 }, { free: 7 }] });

test("an equal answer is the one before, whole", () => {
  const before = answer();
  assert.equal(unchanged(before, answer()), before);
});

test("of a changed answer the parts that are equal are those before", () => {
  const before = answer();
  const now = unchanged(before, { ...answer(), at: 2, devices: [{ free: 5 }, { free: 8 }] });
  assert.deepEqual(now, { ...answer(), at: 2, devices: [{ free: 5 }, { free: 8 }] });
  assert.notEqual(now, before);
  assert.equal(now.host, before.host);
  assert.notEqual(now.devices, before.devices);
  assert.equal(now.devices[0], before.devices[0]);
});

test("what went, what came, and another kind of value are changes", () => {
  for (const [before, now] of [
    [{ a: 1, b: 2 }, { a: 1 }],
    [{ a: 1 }, { a: 1, b: null }],
    [[1, 2], [1]],
    [[], {}],
    [{ a: null }, { a: {} }],
    [{ a: {} }, { a: null }],
    [null, {}],
    [0, null],
  ]) {
    const copy = structuredClone(now);
    assert.deepEqual(unchanged(before, now), copy);
    assert.notEqual(unchanged(before, structuredClone(copy)), before);
  }
});

test("work is done again only for other arguments", () => {
  let calls = 0;
  const sum = onChange((a, b) => ((calls += 1), { sum: a + b }));
  const first = sum(1, 2);
  assert.deepEqual(first, { sum: 3 });
  assert.equal(sum(1, 2), first);
  assert.equal(calls, 1);
  assert.deepEqual(sum(1, 3), { sum: 4 });
  assert.deepEqual(sum(1, 2), { sum: 3 });
  assert.equal(calls, 3, "only the last ones are remembered");
});
