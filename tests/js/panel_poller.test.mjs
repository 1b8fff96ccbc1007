import assert from "node:assert/strict";
import { test } from "node:test";

import { Poller } from "../../js/panel/poller.mjs";

/** A world with a clock that only goes on when told, and a server that answers after `took` ms. */
function world(onAnswer = () => {}) {
  const state = { now: 0, took: 10, fails: false, asked: [], faults: [], failures: [] };
  let timers = [];
  const setTimer = (run, ms) => {
    const timer = { at: state.now + ms, run };
    timers.push(timer);
    return timer;
  };
  const poller = new Poller({
    now: () => state.now,
    setTimer,
    clearTimer: (timer) => (timers = timers.filter((one) => one !== timer)),
    ask() {
      state.asked.push(state.now);
      const { fails } = state;
      return new Promise((done, fail) => setTimer(() => (fails ? fail(new Error("no")) : done(state.asked.length)), state.took));
    },
    onAnswer,
    onFault: (fault) => state.faults.push(fault.message),
    onFailure: (error, nextAt) => state.failures.push(nextAt - state.now),
  });
  /** Lets this many ms pass. */
  async function pass(ms) {
    const end = state.now + ms;
    for (;;) {
      const next = timers.filter((timer) => timer.at <= end).sort((a, b) => a.at - b.at)[0];
      if (!next) break;
      timers = timers.filter((timer) => timer !== next);
      state.now = next.at;
      next.run();
      for (let turn = 0; turn < 5; turn++) await null;
    }
    state.now = end;
  }
  return { state, poller, pass };
}

test("nobody looks: nothing is asked", async () => {
  const { state, poller, pass } = world();
  poller.interval = 500;
  poller.askNow();
  await pass(60_000);
  assert.deepEqual(state.asked, []);
});

test("once per interval while somebody looks, and not once more after", async () => {
  const { state, poller, pass } = world();
  poller.wanted = true;
  await pass(3500);
  assert.deepEqual(state.asked, [0, 1000, 2000, 3000]);
  poller.wanted = false;
  await pass(60_000);
  assert.equal(state.asked.length, 4);
  poller.wanted = true;
  assert.equal(state.asked.length, 5, "the next look is fresh at once");
});

test("a slow server is asked less often, and never twice at a time", async () => {
  const { state, poller, pass } = world();
  state.took = 800;
  poller.wanted = true;
  poller.askNow();
  await pass(9000);
  // An answer takes 800 ms: at most a fifth of the server's time is ours. The first has one more right behind it.
  assert.deepEqual(state.asked, [0, 800, 4800, 8800]);
});

test("a failing server is asked ever less, at last every half minute, and as before when it is back", async () => {
  const { state, poller, pass } = world();
  state.fails = true;
  poller.wanted = true;
  await pass(120_000);
  assert.deepEqual(state.failures.slice(0, 6), [2000, 4000, 8000, 16_000, 30_000, 30_000]);
  assert.equal(state.asked.length, 7);
  state.fails = false;
  poller.askNow();
  await pass(100);
  const before = state.asked.length;
  await pass(2000);
  assert.equal(state.asked.length - before, 2);
});

test("a shorter interval counts at once", async () => {
  const { state, poller, pass } = world();
  poller.interval = 10_000;
  poller.wanted = true;
  await pass(100);
  poller.interval = 500;
  await pass(600);
  assert.equal(state.asked.length, 2);
});

test("a fault in drawing does not end the asking", async () => {
  const { state, poller, pass } = world((answer) => {
    throw new Error(`drawing ${answer}`);
  });
  poller.wanted = true;
  await pass(1500);
  assert.deepEqual(state.faults, ["drawing 1", "drawing 2"]);
});
