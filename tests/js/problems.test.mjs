import assert from "node:assert/strict";
import { afterEach, test } from "node:test";

import {
  allTroubles,
  broughtBack,
  counts,
  dismissed,
  dismissedAdvice,
  newProblems,
  ordered,
  problemCount,
  serious,
  severityOf,
  shownAdvice,
  worstProblem,
} from "../../js/panel/problems.mjs";
import { useLanguage } from "../../js/strings/index.mjs";

const advice = (id, severity, more = {}) => ({
  ...{ id, severity, rank: 0, title: `title of ${id}`, why: "", fix: "", command: "", check: "", source: "", link: "" },
  ...{ params: {}, ...more },
});
const view = ({ advice = [], ignored = [], failure = null, last_run = null } = {}) => ({
  ...{ advice, ignored },
  snapshot: { host: { version: "0.30.0" }, failure, last_run },
});
const ids = (list) => list.map((one) => one.id);
const OOM = { kind: "out-of-memory", memory: "vram", at: 1000, node_type: "VAEDecode", asked_bytes: null, free_bytes: null };
const ENDED = { finished: false, ended_at: 500, node: "KSampler" };

afterEach(() => useLanguage("en"));

test("the worst comes first, equals stay in the server's order", () => {
  const all = [advice("a", "info"), advice("b", "warning"), advice("c", "problem"), advice("d", "problem")];
  assert.deepEqual(ids(ordered(view({ advice: all }))), ["c", "d", "b", "a"]);
});

test("a severity of a newer server is a note, not an error", () => {
  assert.equal(severityOf(advice("a", "catastrophe")), "info");
  assert.equal(problemCount(view({ advice: [advice("a", "catastrophe")] })), 0);
});

test("what is dismissed is neither shown nor counted, and is still known", () => {
  const now = view({ advice: [advice("a", "problem"), advice("b", "warning")], ignored: ["a", "gone"] });
  assert.deepEqual([ids(shownAdvice(now)), ids(dismissedAdvice(now)), problemCount(now)], [["b"], ["a"], 1]);
});

test("the badge counts problems and warnings, and no notes", () => {
  const all = [advice("a", "problem"), advice("b", "warning"), advice("c", "warning"), advice("d", "info")];
  assert.equal(problemCount(view({ advice: all })), 3);
  assert.deepEqual(counts(all), { problem: 1, warning: 2, info: 1 });
  assert.equal(problemCount(view({ advice: all, failure: OOM })), 4);
  assert.equal(problemCount(view()), 0);
});

test("before the first answer there is nothing", () => {
  const empty = { advice: [], ignored: [], snapshot: null };
  assert.deepEqual([problemCount(empty), worstProblem(empty), allTroubles(empty)], [0, null, []]);
});

test("an unclean end is told once: with the run's facts, not as a card too", () => {
  const now = view({ advice: [advice("last-run-unfinished", "problem")], last_run: ENDED });
  assert.deepEqual(shownAdvice(now), []);
  assert.deepEqual(
    allTroubles(now).map(({ key, advice: said }) => [key, said.id]),
    [["ended@500", "last-run-unfinished"]],
  );
  assert.equal(problemCount(now), 1);
});

test("a finished run, or one of which nothing is known, is no trouble", () => {
  for (const finished of [true, null, undefined]) assert.deepEqual(allTroubles(view({ last_run: { ...ENDED, finished } })), []);
});

test("dismissing one failure does not hide the next one", () => {
  const first = view({ failure: OOM, ignored: dismissed([], "failure@1000") });
  assert.equal(problemCount(first), 0);
  assert.equal(problemCount({ ...first, ...view({ failure: { ...OOM, at: 2000 }, ignored: first.ignored }) }), 1);
});

test("the list of what is dismissed keeps each rule once and one run of a kind", () => {
  let list = dismissed(["a"], "b");
  list = dismissed(list, "a");
  assert.deepEqual(list, ["b", "a"]);
  list = dismissed(dismissed(dismissed(list, "failure@1"), "ended@1"), "failure@2");
  assert.deepEqual(list, ["b", "a", "ended@1", "failure@2"]);
  assert.deepEqual(broughtBack(list, "a"), ["b", "ended@1", "failure@2"]);
});

test("a failure is worse than any advice, and warnings are not serious", () => {
  const all = [advice("a", "problem"), advice("b", "warning")];
  assert.deepEqual(serious(view({ advice: all, failure: OOM })), [
    { key: "failure@1000", title: "`VAEDecode` ran out of VRAM", section: "failure" },
    { key: "a", title: "title of a", section: "warnings" },
  ]);
  assert.equal(worstProblem(view({ advice: [advice("b", "warning")] })), null);
});

test("each serious one is new once, also after a reload that remembers what was told", () => {
  const now = view({ advice: [advice("a", "problem"), advice("b", "problem")] });
  const first = newProblems([], now);
  assert.deepEqual(first.map((one) => one.key), ["a", "b"]);
  const told = JSON.parse(JSON.stringify(first.map((one) => one.key)));
  assert.deepEqual(newProblems(told, now), []);
  const later = view({ advice: now.advice, failure: OOM });
  assert.deepEqual(newProblems(told, later).map((one) => one.key), ["failure@1000"]);
});

test("a dismissed one raises no toast", () => {
  assert.deepEqual(newProblems([], view({ advice: [advice("a", "problem")], ignored: ["a"] })), []);
});

test("titles are in the panel's language", () => {
  useLanguage("zh");
  const known = advice("cgroup-unread", "problem", { params: { machine_bytes: 64 * 2 ** 30, limit_bytes: 40 * 2 ** 30 } });
  assert.equal(worstProblem(view({ advice: [known] })).title, "ComfyUI 按 64.0\u00a0GiB 内存计算，但只能用 40.0\u00a0GiB");
  assert.equal(worstProblem(view({ failure: OOM })).title, "`VAEDecode` 显存不足");
});
