import assert from "node:assert/strict";
import { test } from "node:test";

import { clockSeconds } from "../../js/format.mjs";
import { SteadyPrograms } from "../../js/panel/steady.mjs";
import { statusOf } from "../../js/panel/status.mjs";
import { Store } from "../../js/panel/store.mjs";
import { defaultOf } from "../../js/panel/settings.mjs";
import { FULL, ROOMY, card, gib, model, ram, snapshot } from "./panel_samples.mjs";

const plain = (text) => text.replaceAll("\u00a0", " ");
const make = (settings = {}) => new Store((key) => settings[key] ?? defaultOf(key), 0);
function after(...answers) {
  const store = make();
  answers.forEach((answer, second) => store.received(answer, second * 1000));
  return store;
}
function said(store, problem = null) {
  const { id, level, title, detail } = statusOf(store.view, problem);
  return [id, level, plain(title), plain(detail)];
}
const second = card(
  { total: 12, free: 5.1, used: 6.9, own: 6.5, torch_allocated: 0, torch_reserved: 0.1, evictable: 6.3 },
  { index: 1, uuid: "GPU-1" },
);
const short = (free) => card({ total: 16, free, used: 16 - free, own: 12, torch_allocated: 12, torch_reserved: 12, evictable: 0 });

test("fine says what is left; a card that is nearly full of evictable weights is fine", () => {
  assert.deepEqual(said(after(snapshot())), ["fine", "ok", "Fine", "15.1 GiB VRAM, 27.5 GiB RAM left"]);
});

test("with several GPUs fine speaks of the one that runs the queue", () => {
  assert.deepEqual(said(after(snapshot({ devices: [FULL, second] })))[3], "15.1 GiB VRAM, 27.5 GiB RAM left");
});

test("without a GPU there is RAM alone, and shared memory is told once", () => {
  const cpu = card({ total: 56, free: 27.5, own: 27.6 }, { kind: "cpu", unified: true, name: "CPU" });
  assert.deepEqual(said(after(snapshot({ devices: [cpu] })))[3], "27.5 GiB RAM left");
  const apple = card({ total: 36, free: 14.2, used: 21.8, own: 14, torch_allocated: 14, torch_reserved: 14, evictable: 0 }, { kind: "mps", unified: true });
  assert.deepEqual(said(after(snapshot({ devices: [apple] })))[3], "14.2 GiB VRAM left");
});

test("the first reading, no answer, and a server without the route are one calm line each", () => {
  const store = make();
  assert.deepEqual(said(store), ["first", "off", "Reading the machine", ""]);
  store.failed(404, 1000, 3000);
  assert.deepEqual(said(store).slice(0, 3), ["absent", "off", "This server has no Headroom routes"]);
  const lost = after(snapshot());
  lost.failed(null, 5000, 13_000);
  assert.deepEqual(said(lost), ["noAnswer", "off", "No answer from ComfyUI", `since ${clockSeconds(0)}, next try in 8 s`]);
  lost.tick(9500);
  assert.equal(plain(statusOf(lost.view).detail).endsWith("next try in 4 s"), true);
  lost.received(snapshot(), 14_000);
  assert.equal(said(lost)[0], "fine");
});

test("critical comes before everything that could still be read, and names the card among several", () => {
  const store = after(snapshot({ devices: [short(0.3), second] }));
  assert.deepEqual(said(store, { title: "x", section: "warnings" }), [
    "critical",
    "error",
    "0.3 GiB VRAM left",
    "GPU 0, 27.5 GiB RAM left",
  ]);
});

/** ComfyUI #5737, #4693: the driver for Windows gives no error, and a step takes minutes. */
const spilling = (size, more = {}) => card(
  { total: 16, free: 0.6, used: 15.4, own: 15, torch_allocated: 19, torch_reserved: 19, evictable: 0, spilled: size },
  more,
);

test("what a full card puts into RAM is told before the little that is left", () => {
  const store = after(snapshot({ devices: [spilling(3)] }));
  assert.deepEqual(said(store), ["spilled", "error", "3.0 GiB meant for VRAM lie in RAM", "Windows gives no error, steps crawl"]);
  assert.equal(store.view.devices[0].level, "error");
  const other = after(snapshot({ devices: [FULL, spilling(3, { index: 1, uuid: "GPU-1" })] }));
  assert.equal(said(other)[3], "GPU 1, Windows gives no error, steps crawl");
});

test("a spill that is over leaves its sign for five seconds, and the desktop's few MiB are none", () => {
  const roomy = card({ total: 16, free: 10, used: 6, own: 5, torch_allocated: 5, torch_reserved: 5, evictable: 0 });
  const store = after(snapshot({ devices: [spilling(3)] }));
  const levels = [1, 5.9, 6].map((second) => {
    store.received(snapshot({ devices: [roomy] }), second * 1000);
    return store.view.devices[0].level;
  });
  assert.deepEqual(levels, ["error", "error", "ok"]);
  assert.equal(said(after(snapshot({ devices: [{ ...FULL, spilled_bytes: gib(0.2) }] })))[0], "fine");
});

test("a shortage of RAM is one of RAM", () => {
  const little = ram({ total: 32, available: 2, own: 20, file_cache: 1 });
  assert.deepEqual(said(after(snapshot({ ram: little }))), ["tight", "warn", "2.0 GiB RAM left", "15.1 GiB VRAM left"]);
});

test("a problem of what runs comes before the running node, a tight card after it", () => {
  const store = after(snapshot({ devices: [short(2)], host: { running: true, flags: [], argv: [] } }));
  store.runStarted("p", 0);
  store.nodeStarted("3", "KSampler", 0);
  store.progressed(11, 20);
  assert.deepEqual(said(store), ["running", "off", "Step 11 of 20, KSampler", "2.0 GiB VRAM, 27.5 GiB RAM left"]);
  const status = statusOf(store.view, { title: "`--x` is wrong", section: "warnings" });
  assert.deepEqual([status.id, status.title, status.section], ["problem", "`--x` is wrong", "warnings"]);
  store.runEnded(1000);
  store.received(snapshot({ devices: [short(2)] }), 2000);
  assert.deepEqual(said(store), ["tight", "warn", "2.0 GiB VRAM left", "27.5 GiB RAM left"]);
});

test("steps are seen and not spoken", () => {
  const store = after(snapshot());
  store.runStarted("p", 0);
  store.nodeStarted("3", "KSampler", 0);
  const spoken = [1, 2, 3].map((step) => {
    store.progressed(step, 20);
    return statusOf(store.view).spoken;
  });
  assert.deepEqual(spoken, ["Running KSampler", "Running KSampler", "Running KSampler"]);
});

const busy = (more = {}) => snapshot({ host: { running: true, flags: [], argv: [] }, ...more });

test("another browser's prompt runs too, with the class of its node", () => {
  assert.deepEqual(said(after(busy())).slice(0, 3), ["running", "off", "A prompt is running"]);
  const store = after(busy({ running_node: { id: "3", type: "KSampler" } }), busy({ running_node: { id: "3", type: "KSampler" } }));
  assert.equal(said(store)[2], "Running KSampler");
  assert.deepEqual(store.view.history.view("minutes", 1000).nodes, [{ id: "3", title: "KSampler", from: 1000, to: null }]);
  store.received(snapshot(), 5000);
  assert.equal(said(store)[0], "fine");
  assert.equal(store.view.history.view("minutes", 5000).nodes[0].to, 5000);
});

test("an answer from before the end of a run does not begin its node again", () => {
  const store = make();
  store.runStarted("p", 0);
  store.nodeStarted("3", "KSampler", 0);
  store.runEnded(1000);
  store.received(busy({ running_node: { id: "3", type: "KSampler" } }), 1100);
  assert.deepEqual(store.view.history.view("minutes", 1100).nodes.map(({ from, to }) => [from, to]), [[0, 1000]]);
});

test("a run whose end was missed is over at the second answer that knows of none", () => {
  const store = make();
  store.runStarted("p", 0);
  store.nodeStarted("3", "KSampler", 0);
  store.progressed(5, 20);
  store.received(busy(), 1000);
  store.received(snapshot(), 60_000);
  assert.equal(said(store)[0], "running", "the first answer may be older than the run");
  store.received(snapshot(), 61_000);
  assert.equal(said(store)[0], "fine");
  assert.deepEqual(store.view.history.run, { id: "p", from: 0, to: 1000 }, "it ended when it was last known to go on");
  assert.equal(store.view.history.nodeAt(30_000), null);
});

test("one question without an answer does not end the run that goes on", () => {
  const store = make();
  store.runStarted("p", 0);
  store.nodeStarted("3", "KSampler", 0);
  store.received(busy(), 1000);
  store.failed(null, 30_000, 32_000);
  store.received(busy(), 32_000);
  store.progressed(7, 20);
  assert.equal(said(store)[2], "Step 7 of 20, KSampler");
  assert.deepEqual(store.view.history.view("run", 40_000).to, 40_000);
});

test("a node is not called by what another open workflow has under its id", () => {
  const store = new Store((key) => defaultOf(key), 0, (id, type) => (type === "LoadImage" ? "My picture" : null));
  store.runStarted("p", 0);
  store.nodeStarted("3", "My picture", 0);
  store.received(busy({ running_node: { id: "3", type: "KSampler" } }), 1000);
  assert.equal(said(store)[2], "Running KSampler");
  assert.equal(store.view.history.nodeAt(500).title, "KSampler");
});

/** Intel Arc, ROCm on Windows: free memory is not told, and what torch keeps is a lower bound. */
test("where free memory is not told nothing is critical, and one failed reading flashes nothing", () => {
  const arc = card({ total: 16, torch_allocated: 5, torch_reserved: 5.2, evictable: 0 }, { kind: "xpu" });
  const store = after(snapshot({ devices: [arc], models: [] }));
  assert.deepEqual(said(store).slice(0, 2), ["fine", "ok"]);
  assert.equal(store.view.devices[0].level, "ok");
  const full = { ...FULL, free_bytes: gib(0.6), used_bytes: gib(15.4) };
  const blink = after(snapshot({ devices: [full] }), snapshot({ devices: [{ ...full, evictable_bytes: null, torch_reserved_bytes: gib(0.4) }] }));
  assert.equal(said(blink)[0], "fine");
});

test("a card that was read and is not any more is lost; the rest goes on, and it comes back", () => {
  const gone = card({ total: 16 }, { reasons: { device: "the NVIDIA driver does not answer; it is asked again" } });
  const store = after(snapshot(), snapshot({ devices: [gone] }));
  assert.deepEqual(said(store), ["lost", "warn", "GPU 0 stopped answering", `at ${clockSeconds(1)}; RAM is still read`]);
  store.received(snapshot({ devices: [gone] }), 60_000);
  assert.equal(store.view.devices[0].lostSince, 1000, "since when it is lost, not since when it was last asked");
  store.received(snapshot(), 61_000);
  assert.deepEqual([said(store)[0], store.view.devices[0].lost], ["fine", false]);
});

test("a card without a driver to ask was never there to be lost", () => {
  const never = card({ total: 16 }, { reasons: { device: "the Python package nvidia-ml-py is not installed" } });
  assert.equal(said(after(snapshot({ devices: [never] })))[0], "fine");
  const off = card({ total: 16 }, { reasons: { device: "the driver has lost the card" } });
  assert.equal(said(after(snapshot({ devices: [off] })))[0], "lost");
});

test("the peak is kept until it is reset", () => {
  const store = after(snapshot({ devices: [short(1)] }), snapshot({ devices: [short(9)] }));
  assert.equal(store.view.devices[0].peak, gib(15));
  store.resetPeak("GPU-0");
  assert.equal(store.view.devices[0].peak, gib(7));
  store.received(snapshot({ devices: [short(8)] }), 5000);
  assert.equal(store.view.devices[0].peak, gib(8));
});

test("dismissed warnings come from the setting, whatever is in it", () => {
  assert.deepEqual(make({ "Headroom.IgnoredRules": ["a", "b"] }).view.ignored, ["a", "b"]);
  assert.deepEqual(make({ "Headroom.IgnoredRules": "a" }).view.ignored, []);
});

test("a sample of the history adds up to what is held", () => {
  const store = after(snapshot());
  const [sample] = store.view.history.view("minutes", 0).samples;
  const { held, weights, working, other } = sample.devices["GPU-0"];
  assert.equal(weights + working + other, held);
  assert.equal(sample.ram.own, ROOMY.own_bytes);
});

test("a program that comes and goes does not flicker", () => {
  const steady = new SteadyPrograms();
  const ollama = { name: "ollama", used_bytes: gib(2.1), pid: 7 };
  const small = { name: "Xorg", used_bytes: gib(0.3), pid: 8 };
  const seen = (programs) => steady.update(programs).map((one) => one.name);
  assert.deepEqual([seen([ollama, small]), seen([ollama]), seen([ollama])], [[], [], ["ollama"]]);
  for (let reading = 0; reading < 10; reading++) assert.deepEqual(seen([]), ["ollama"]);
  assert.deepEqual(seen(null), []);
  assert.deepEqual(seen([ollama]), [], "as new");
});

test("models of another card do not change what this one holds", () => {
  const store = after(snapshot({ devices: [FULL, second], models: [model(13.3, 8.6), model(6.3, 6.3, { device: "cuda:1", id: "2" })] }));
  assert.equal(plain(statusOf(store.view).detail), "15.1 GiB VRAM, 27.5 GiB RAM left");
});
