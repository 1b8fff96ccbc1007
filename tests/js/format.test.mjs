import assert from "node:assert/strict";
import { test } from "node:test";

import { clock, fullTime, headline, splitCode } from "../../js/format.mjs";

const seconds = (...parts) => new Date(...parts).getTime() / 1000;

test("machine words between backticks are told apart from the text", () => {
  assert.deepEqual(splitCode("Try `--bf16-unet` or `--fp32-vae`."), [
    { text: "Try ", code: false },
    { text: "--bf16-unet", code: true },
    { text: " or ", code: false },
    { text: "--fp32-vae", code: true },
    { text: ".", code: false },
  ]);
});

test("a text without machine words is one part, an empty one is none", () => {
  assert.deepEqual(splitCode("finished"), [{ text: "finished", code: false }]);
  assert.deepEqual(splitCode(""), []);
});

test("a backtick without a partner stays in the text", () => {
  assert.deepEqual(splitCode("it`s"), [{ text: "it`s", code: false }]);
  assert.deepEqual(splitCode("`a` `b"), [
    { text: "a", code: true },
    { text: " `b", code: false },
  ]);
});

test("a time of today is hours and minutes, another day has its date", () => {
  const now = new Date(2026, 2, 9, 18, 30);
  assert.equal(clock(seconds(2026, 2, 9, 4, 2, 31), now), "04:02");
  assert.equal(clock(seconds(2026, 2, 8, 23, 59), now), "2026-03-08 23:59");
  assert.equal(clock(seconds(2025, 2, 9, 4, 2), now), "2025-03-09 04:02");
});

test("the full time has the seconds", () => {
  assert.equal(fullTime(seconds(2026, 2, 9, 4, 2, 31)), "2026-03-09 04:02:31");
});

test("a message's first sentence is its headline", () => {
  assert.deepEqual(headline("samples has 16 channels. Connect the VAE of `ae.safetensors`.\n"), {
    title: "samples has 16 channels",
    rest: "Connect the VAE of `ae.safetensors`.",
  });
});

test("points inside numbers and file names do not end the headline, a line does", () => {
  assert.deepEqual(headline("asked 3.1 for ae.safetensors\nTIPS: use less"), {
    title: "asked 3.1 for ae.safetensors",
    rest: "TIPS: use less",
  });
  assert.deepEqual(headline("Nothing to decode."), { title: "Nothing to decode", rest: "" });
  assert.deepEqual(headline(""), { title: "", rest: "" });
});
