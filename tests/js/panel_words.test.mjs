import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { test } from "node:test";

import { deviceBlock, ramBlock, shortName } from "../../js/panel/blocks.mjs";
import { meterItems } from "../../js/panel/meter_items.mjs";
import { breakable, freedText, modelRows, residentBytes } from "../../js/panel/model_rows.mjs";
import { reportText } from "../../js/panel/report_text.mjs";
import { SETTINGS, defaultOf } from "../../js/panel/settings.mjs";
import { Store } from "../../js/panel/store.mjs";
import { TABLES, language, reason, t, useLanguage } from "../../js/strings/index.mjs";
import { FULL, ROOMY, card, gib, model, ram, snapshot } from "./panel_samples.mjs";

const plain = (text) => text.replaceAll("\u00a0", " ");
function viewOf(answer) {
  const store = new Store(defaultOf, 0);
  store.received(answer, 0);
  return store.view;
}
const blockOf = (device, models = []) => deviceBlock(viewOf(snapshot({ devices: [device], models })).devices[0]);
const figures = (rows) => Object.fromEntries(rows.map((row) => [row.kind, row.text]));

// ---- texts ----

test("every text is there in both languages, with the same parameters", () => {
  const names = (text) => [...text.matchAll(/\{(\w+)\}/g)].map((match) => match[1]).sort();
  assert.deepEqual(Object.keys(TABLES.zh).sort(), Object.keys(TABLES.en).sort());
  for (const [key, text] of Object.entries(TABLES.en)) {
    assert.deepEqual([...new Set(names(TABLES.zh[key]))], [...new Set(names(text))], key);
    assert.ok(text && TABLES.zh[key], `${key} is empty`);
  }
});

test("every text that the panel asks for is there", () => {
  const folder = new URL("../../js/panel/", import.meta.url);
  const sources = readdirSync(folder).map((name) => readFileSync(new URL(name, folder), "utf-8"));
  const asked = sources.flatMap((source) => [...source.matchAll(/\bt\(\s*"([^"]+)"/g)].map((match) => match[1]));
  assert.ok(asked.length > 50);
  assert.deepEqual(asked.filter((key) => !(key in TABLES.en)), []);
});

test("the language follows the host's, and one without a table is English", () => {
  for (const [code, used] of [["zh", "zh"], ["zh-TW", "zh"], ["ZH_cn", "zh"], ["de", "en"], [undefined, "en"], ["toString", "en"]]) {
    useLanguage(code);
    assert.equal(language(), used, String(code));
  }
  useLanguage("zh");
  assert.equal(t("status.fine"), "正常");
  assert.equal(reason("the driver has lost the card"), "驱动已失去此显卡");
  assert.equal(reason("something new"), "something new");
  assert.equal(reason("it needs PyTorch 2.8 or newer; this is 2.7.1"), "需要 PyTorch 2.8 或更新版本；当前是 2.7.1");
  useLanguage("en");
  assert.equal(reason("the driver has lost the card"), "the driver has lost the card");
});

test("a size is written by its parameter's name, and a missing one is an error", () => {
  assert.equal(plain(t("timeline.limit", { total_bytes: gib(40) })), "limit 40.0 GiB");
  assert.throws(() => t("timeline.limit"), /total_bytes/);
  assert.throws(() => t("no.such.text"), /no text/);
});

// ---- a GPU and the RAM ----

test("the shown figures add up, also where each by itself would be rounded otherwise", () => {
  const block = blockOf(FULL, [model(13.3, 8.6)]);
  assert.equal(plain(block.total), "16.0 GiB");
  assert.deepEqual(figures(block.split.heldRows), { weights: "0.2", working: "0.2", other: "0.5" });
  assert.deepEqual(figures(block.split.availableRows), { evictable: "8.4", cache: "5.5", free: "1.2" });
  for (const [free, cache] of [[1.04, 0.04], [3.333, 3.333], [0.27, 11.84], [0, 0]]) {
    const odd = blockOf(card({ total: 15.99, free, used: 15.99 - free, own: 9, torch_allocated: 1.44, torch_reserved: 1.44 + cache, evictable: 0.55 }));
    const sum = (rows) => rows.reduce((total, row) => total + Math.round(Number(row.text) * 10), 0);
    const [held, available] = [odd.split.held, odd.split.available].map((text) => Math.round(Number(text) * 10));
    assert.equal(sum(odd.split.heldRows), held);
    assert.equal(sum(odd.split.availableRows), available);
    assert.equal(held + available, 160);
  }
});

test("available is the same number in the block, in the meter and in the status line", () => {
  const odd = card({ total: 15.99, free: 1.26, used: 14.73, own: 9, torch_allocated: 1.44, torch_reserved: 1.44, evictable: 0.6 });
  const { items } = meterItems(viewOf(snapshot({ devices: [odd], models: [] })));
  assert.equal(items[0].left, "1.9 left");
  assert.equal(blockOf(odd).split.available, "1.9");
});

test("unknown is n/a with the reason, once, and what is known is at least", () => {
  const why = "this card does not tell";
  const mig = card(
    { total: 9.5, free: 2.5, used: 7, own: 6, torch_allocated: 6.1, torch_reserved: 7 },
    { reasons: { utilisation_percent: why, temperature_celsius: why, evictable_bytes: "this ComfyUI does not tell" } },
  );
  const { split, facts, notes } = blockOf(mig);
  assert.equal(split.available, "≥ 3.4");
  assert.deepEqual(figures(split.availableRows), { evictable: "n/a", cache: "0.9", free: "2.5" });
  assert.deepEqual(facts.map((fact) => [fact.id, plain(fact.text)]), [["inUse", "7.0"], ["peak", "7.0"], ["busy", "n/a"], ["temp", "n/a"]]);
  assert.deepEqual(notes, [
    { lead: "Evictable", text: "this ComfyUI does not tell" },
    { lead: "Busy, Temp", text: why },
  ]);
});

test("a lost card is n/a as a whole with one reason, and its bar is unknown", () => {
  const lost = card({ total: 16 }, { reasons: { device: "the driver has lost the card", free_bytes: "the driver has lost the card" } });
  const { split, bar, notes, level } = blockOf(lost);
  assert.deepEqual([split.held, split.available, bar.length, level], ["n/a", "n/a", 0, "off"]);
  assert.deepEqual(notes, [{ lead: "", text: "The driver has lost the card" }]);
});

test("a block says that a part of it lies in RAM", () => {
  const full = { ...FULL, spilled_bytes: gib(3.04) };
  assert.deepEqual(blockOf(full).notes.map((note) => [note.lead, plain(note.text)]), [
    ["Spilled", "at least 3.0 GiB of ComfyUI's VRAM lie in RAM"],
  ]);
});

test("the bar's parts are those of the tables, in their order", () => {
  const { bar, peakAt } = blockOf(FULL, [model(13.3, 8.6)]);
  assert.deepEqual(bar.map(([kind]) => kind), ["weights", "working", "other", "evictable", "cache", "free"]);
  assert.ok(Math.abs(bar.reduce((sum, [, share]) => sum + share, 0) - 1) < 1e-9);
  assert.ok(Math.abs(peakAt - 14.8 / 16) < 1e-9);
});

test("names without their maker", () => {
  const names = ["NVIDIA GeForce RTX 4080", "NVIDIA A100-SXM4-80GB", "AMD Radeon RX 7900 XTX", "Intel(R) Arc(TM) A770 Graphics", "NVIDIA"];
  assert.deepEqual(names.map(shortName), ["RTX 4080", "A100-SXM4-80GB", "RX 7900 XTX", "Arc(TM) A770 Graphics", "NVIDIA"]);
});

test("the RAM has the same anatomy; the container's limit is its total", () => {
  const memory = ram({ total: 56, machine: 62.6, available: 27.5, own: 27.6, file_cache: 17.8, swap_total: 8, swap_used: 0.4 }, { limit_source: "cgroup v2" });
  const view = viewOf(snapshot({ ram: memory }));
  const block = ramBlock(view.ram);
  assert.deepEqual([block.sub, plain(block.total), block.split.held, block.split.available], ["container limit", "56.0 GiB", "28.5", "27.5"]);
  assert.deepEqual(figures(block.split.heldRows), { weights: "27.6", other: "0.9" });
  assert.deepEqual(figures(block.split.availableRows), { evictable: "17.8", free: "9.7" });
  assert.equal(block.facts.find((fact) => fact.id === "swap").text, "0.4/8.0");
  const none = ram({ total: 8, available: 4, own: 1, file_cache: 1, swap_total: 0, swap_used: 0 });
  assert.equal(ramBlock(viewOf(snapshot({ ram: none })).ram).facts[1].text, "none");
});

// ---- the meter ----

test("the meter has the GPU and the RAM, and of many GPUs the two with least left", () => {
  const one = meterItems(viewOf(snapshot())).items;
  assert.deepEqual(one.map((item) => [item.name, item.left, item.used]), [
    ["VRAM", "15.1 left", "14.8/16.0"],
    ["RAM", "27.5 left", "28.5/56.0"],
  ]);
  const many = [9, 2, 7, 3].map((free, index) =>
    card({ total: 12, free, used: 12 - free, own: 1, torch_allocated: 0, torch_reserved: 0, evictable: 0 }, { index, uuid: `GPU-${index}` }),
  );
  const { items, more } = meterItems(viewOf(snapshot({ devices: many, models: [] })));
  assert.deepEqual(items.map((item) => plain(item.name)), ["GPU 1", "GPU 3", "RAM"]);
  assert.equal(more, 2);
  assert.deepEqual(items.map((item) => item.least), [true, false, false]);
});

test("of a card that is lost the meter shows nothing, as the panel does", () => {
  const store = new Store(defaultOf, 0);
  store.received(snapshot(), 0);
  const gone = card({ total: 16, torch_allocated: 0.2, torch_reserved: 3.6, evictable: 0 }, { reasons: { device: "the driver has lost the card" } });
  store.received(snapshot({ devices: [gone] }), 1000);
  const [gpu] = meterItems(store.view).items;
  assert.deepEqual([gpu.left, gpu.used, gpu.level], ["n/a", "", "off"]);
});

test("before the first reading the meter holds its place", () => {
  const { items } = meterItems(new Store(defaultOf, 0).view);
  assert.deepEqual(items.map((item) => [item.name, item.left]), [["RAM", "–"]]);
});

// ---- models ----

test("a loaded model is told by its file, kind, dtype and device", () => {
  const [row] = modelRows([model(13.3, 6.4, { name: "wan_low.safetensors", lora_patches: 3 })]);
  assert.deepEqual([row.name, plain(row.about), row.size], ["wan_low.safetensors", "Diffusion, fp8, GPU 0, 3 LoRA patches", "6.4 of 13.3"]);
  assert.ok(Math.abs(row.share - 6.4 / 13.3) < 1e-9);
  const [nameless] = modelRows([model(0.2, 0.2, { name: null, kind: "vae", class_name: "AutoencoderKL", dtype: null, device: "cpu", id: null })]);
  assert.deepEqual([nameless.name, nameless.about, nameless.id], ["AutoencoderKL", "VAE, CPU", null]);
});

test("what lies in RAM is not counted as VRAM", () => {
  const models = [model(11, 11), model(9.1, 9.1, { device: "cpu" }), model(1, 0.5, { device: "mps" })];
  assert.deepEqual(residentBytes(models), { vram: gib(11) + gib(0.5), ram: gib(9.1) });
});

test("two models of the same name are two rows", () => {
  const same = model(1, 1, { id: null });
  const keys = modelRows([same, same]).map((row) => row.key);
  assert.equal(new Set(keys).size, 2);
});

test("a long name breaks after an underscore, and stays the same text", () => {
  assert.deepEqual(breakable("wan2.2_t2v-x"), ["wan2.", "2_", "t2v-", "x"]);
  assert.equal(breakable("<b>a_b</b>").join(""), "<b>a_b</b>");
});

test("what was done and could not be measured says so", () => {
  const late = { vram_freed_bytes: null, ram_freed_bytes: null, models_before: 2, models_after: null };
  assert.equal(freedText(late, true), "Done; a prompt began before it could be measured.");
});

test("what was freed is what was measured, and never less than nothing", () => {
  const answer = { vram_freed_bytes: gib(12.7), ram_freed_bytes: gib(-0.4), models_before: 3, models_after: 1 };
  assert.equal(freedText(answer, true), "Freed 12.7 GiB VRAM, 0.0 GiB RAM; models unloaded: 2.");
  assert.equal(freedText({ ...answer, ram_freed_bytes: null, models_after: 3 }, false), "no model unloaded");
});

// ---- the report ----

test("the report is for an issue: English, whole, and cannot be broken by what is in it", () => {
  useLanguage("zh");
  const advice = [{ id: "lowvram", severity: "info", title: "`--lowvram` has no effect here" }];
  const text = reportText(viewOf(snapshot({ advice, models: [model(1, 1, { name: "a```b.safetensors" })] })));
  useLanguage("en");
  assert.match(text, /^### Headroom report\n/);
  assert.match(text, /GPU 0: NVIDIA GeForce RTX 4080 \(cuda\): /);
  assert.match(text, /- info: `--lowvram` has no effect here \(lowvram\)/);
  const [, fence, json] = text.match(/(`{4,})json\n([^]*?)\n\1\n/);
  assert.equal(fence, "````", "a longer fence than any in the text");
  assert.equal(JSON.parse(json).models[0].name, "a```b.safetensors");
  assert.equal(reportText(new Store(defaultOf, 0).view), "");
});

// ---- the host's own tables ----

test("every setting is there in ComfyUI's tables of both languages", () => {
  for (const code of ["en", "zh"]) {
    const table = JSON.parse(readFileSync(new URL(`../../locales/${code}/settings.json`, import.meta.url), "utf-8"));
    const shown = SETTINGS.filter((setting) => setting.type !== "hidden");
    assert.deepEqual(Object.keys(table).sort(), shown.map((setting) => setting.id.replaceAll(".", "_")).sort());
    for (const setting of shown) {
      const entry = table[setting.id.replaceAll(".", "_")];
      if (code === "en") assert.deepEqual([entry.name, entry.tooltip], [setting.name, setting.tooltip]);
      assert.ok(entry.name && entry.tooltip);
      const options = (setting.options ?? []).map((option) => option.text.replaceAll(".", "_"));
      assert.deepEqual(Object.keys(entry.options ?? {}).sort(), options.sort(), setting.id);
    }
    const main = JSON.parse(readFileSync(new URL(`../../locales/${code}/main.json`, import.meta.url), "utf-8"));
    const groups = new Set(shown.flatMap((setting) => setting.category.slice(0, 2)));
    for (const group of groups) assert.ok(main.settingsCategories[group], `${code}: ${group}`);
  }
});
