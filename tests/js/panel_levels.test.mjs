import assert from "node:assert/strict";
import { test } from "node:test";

import { Levels, levelOf, worst } from "../../js/panel/levels.mjs";
import { SETTINGS, defaultOf, intervalFrom, limitsFrom } from "../../js/panel/settings.mjs";
import { gib } from "./panel_samples.mjs";

const LIMITS = limitsFrom(defaultOf);
const level = (left, total) => levelOf(gib(left), gib(total), LIMITS);

test("the limits by default: tight under 15 % or 1.5 GiB, critical under 5 % or 0.5 GiB", () => {
  assert.deepEqual([level(15.1, 16), level(2.5, 16), level(2.3, 16)], ["ok", "ok", "warn"]);
  assert.deepEqual([level(0.9, 16), level(0.7, 16)], ["warn", "error"]);
  assert.deepEqual([level(1.6, 8), level(1.4, 8), level(0.45, 8)], ["ok", "warn", "error"]);
});

test("worse at once, better only after five seconds beyond the limit", () => {
  const levels = new Levels();
  const at = (left, second) => levels.update("a", { left: gib(left), total: gib(16) }, LIMITS, second * 1000);
  assert.equal(at(10, 0), "ok");
  assert.equal(at(2, 1), "warn");
  assert.equal(at(0.5, 2), "error");
  // 5 % of 16 are 0.8, and 2 % more are 1.12.
  assert.equal(at(1.0, 3), "error");
  assert.equal(at(1.0, 60), "error");
  assert.equal(at(1.3, 61), "error");
  assert.equal(at(1.3, 65.9), "error");
  assert.equal(at(1.3, 66), "warn");
});

test("a level that is touched again in between starts anew", () => {
  const levels = new Levels();
  const at = (left, second) => levels.update("a", { left: gib(left), total: gib(16) }, LIMITS, second * 1000);
  at(2, 0);
  assert.deepEqual([at(5, 1), at(2, 4), at(5, 5), at(5, 9.9), at(5, 10)], ["warn", "warn", "warn", "warn", "ok"]);
});

test("what is at least left shows that enough is left, and never that little is", () => {
  const levels = new Levels();
  const at = (left, second, atLeast) => levels.update("a", { left: gib(left), total: gib(16), atLeast }, LIMITS, second * 1000);
  assert.deepEqual([at(0.2, 0, true), at(9, 1, true), at(0.2, 2, true)], ["ok", "ok", "ok"]);
  assert.deepEqual([at(0.2, 3, false), at(0.1, 4, true)], ["error", "error"], "one reading without a part of it is no change");
});

test("a clock that was set back does not hold a level for as long", () => {
  const levels = new Levels();
  const at = (left, second) => levels.update("a", { left: gib(left), total: gib(16) }, LIMITS, second * 1000);
  at(2, 7200);
  assert.deepEqual([at(9, 7201), at(9, 3601), at(9, 3607)], ["warn", "warn", "ok"]);
});

test("devices have levels of their own, and an unknown one has none", () => {
  const levels = new Levels();
  const total = gib(16);
  assert.equal(levels.update("a", { left: gib(0.1), total }, LIMITS, 0), "error");
  assert.equal(levels.update("b", { left: gib(9), total }, LIMITS, 0), "ok");
  assert.equal(levels.update("a", { left: null, total }, LIMITS, 1), "ok");
  assert.equal(levels.update("a", { left: gib(9), total }, LIMITS, 2), "ok");
  assert.equal(worst(["ok", "error", "warn"]), "error");
  assert.equal(worst([]), "ok");
});

test("settings that hold no number fall back", () => {
  const broken = { "Headroom.TightPercent": "abc", "Headroom.CriticalGiB": null, "Headroom.RefreshInterval": 0 };
  const get = (id) => (id in broken ? broken[id] : defaultOf(id));
  assert.deepEqual(limitsFrom(get), LIMITS);
  assert.equal(intervalFrom(get), 500);
  assert.equal(intervalFrom(() => "2"), 2000);
  assert.equal(intervalFrom(() => undefined), 1000);
});

test("the ids of the settings are an interface: users have them in their settings file", () => {
  assert.deepEqual(
    SETTINGS.map((setting) => setting.id).sort(),
    [
      ...["Headroom.CriticalGiB", "Headroom.CriticalPercent", "Headroom.IgnoredRules", "Headroom.Meter"],
      ...["Headroom.RefreshInterval", "Headroom.TightGiB", "Headroom.TightPercent"],
    ],
  );
});
