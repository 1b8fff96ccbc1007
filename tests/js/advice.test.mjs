import assert from "node:assert/strict";
import { test } from "node:test";

import { adviceWords, fixText } from "../../js/strings/advice.mjs";

const NBSP = "\u00a0";
const english = { title: "T", why: "W", fix: "F", check: "C" };
const advice = (id, params = {}) => ({ id, severity: "info", rank: 0, ...english, command: "", source: "", link: "", params });
const zh = (id, params, version = "0.30.0") => adviceWords(advice(id, { added: [], removed: [], ...params }), "zh", version);

test("in English the server's own texts are shown", () => {
  const shown = adviceWords(advice("lowvram-noop"), "en", "0.30.0");
  assert.deepEqual([shown.title, shown.why, shown.fix, shown.check], ["T", "W", "F", "C"]);
});

test("in Chinese the template is filled with the parameters and ComfyUI's version", () => {
  const shown = zh("lowvram-noop", { removed: ["--lowvram"], variant: "headroom" });
  assert.equal(shown.title, "`--lowvram` 在这里不起作用");
  assert.equal(shown.why, "动态显存已启用，ComfyUI 0.30.0 此时会忽略该参数。权重本来就会按需移动。");
  assert.equal(shown.fix, "启动时去掉 `--lowvram`。要为其他程序留出显存，ComfyUI 的参数是 `--vram-headroom`。");
  assert.match(zh("lowvram-noop", {}, null).why, /，ComfyUI 此时/);
});

test("sizes and lists are written in Chinese sentences as in English ones", () => {
  const shown = zh("headroom-static", { flags: ["--a", "--b", "--c"] });
  assert.equal(shown.title, "在这里不起作用：`--a`、`--b`和`--c`");
  assert.equal(zh("pinned-high", { pinned_bytes: 2 ** 30, ram_bytes: 2 ** 35 }).title, `32.0${NBSP}GiB 内存中有 1.0${NBSP}GiB 被锁页`);
});

test("the three changes of the start line are told apart", () => {
  const params = { spilled_bytes: 2 ** 30, card_bytes: 2 ** 33 };
  const fix = (added, removed) => zh("sysmem-fallback", { ...params, added, removed }).fix;
  assert.match(fix(["--reserve-vram 2"], []), /^启动时加上 `--reserve-vram 2`。或者在/);
  assert.match(fix(["--vram-headroom 2"], ["--reserve-vram"]), /^启动时用 `--vram-headroom 2` 代替 `--reserve-vram`。或者在/);
  assert.match(fix([], []), /^增大已设置的值/);
});

test("where a rule adds no flag its fix is said, not what to do without the flag", () => {
  assert.match(zh("last-run-unfinished", { variant: "plain" }).fix, /^查看 ComfyUI 日志的最后几行/);
  assert.equal(zh("last-run-unfinished", { variant: "oom" }).fix, "使用更小的模型文件，或增加内存或交换空间。");
  assert.match(zh("fp8-upcast", { variant: "flag", flag: "--x", file_bytes: 1, after_bytes: 2 }).fix, /^显卡能用 fp8 计算/);
});

test("words that the server puts into parameters are translated, names are not", () => {
  const params = { device: 0, used_bytes: 2 ** 31, others_bytes: 2 ** 31, variant: "python" };
  assert.match(zh("other-program", { ...params, program: "Another Python program" }).title, /^另一个 Python 程序 在 GPU 0/);
  assert.match(zh("other-program", { ...params, program: "Ollama" }).title, /^Ollama 在 GPU 0/);
});

test("a rule that this version does not know is shown in English", () => {
  assert.equal(zh("rule-of-next-year", {}).title, "T");
});

test("one missing parameter makes the whole card English: half a card in each language helps nobody", () => {
  const shown = zh("pinned-high", { pinned_bytes: 1 });
  assert.deepEqual([shown.title, shown.why, shown.fix, shown.check], ["T", "W", "F", "C"]);
});

test("a variant that is not known falls back to the rule's own texts", () => {
  assert.equal(zh("lowvram-noop", { removed: ["--lowvram"], variant: "new" }).fix, "启动时去掉 `--lowvram`。");
});

test("a fix of a failure is filled in Chinese, and English where it is not known", () => {
  const fix = { id: "close-program", text: "Close Ollama.", params: { program: "Ollama" } };
  assert.equal(fixText(fix, "en"), "Close Ollama.");
  assert.equal(fixText(fix, "zh"), "关闭 Ollama，或让它释放占用的显存。");
  assert.equal(fixText({ id: "new", text: "Do it.", params: {} }, "zh"), "Do it.");
  assert.equal(fixText({ ...fix, params: {} }, "zh"), "Close Ollama.");
});
