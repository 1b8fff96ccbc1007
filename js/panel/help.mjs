// @ts-check
/** What the words mean, for touch and keyboard; opened by the ? in the head. */

import { t } from "../strings/index.mjs";
import { make } from "./dom.mjs";

/** @type {[word: string, help: string, sign: string][]} */
const WORDS = [
  ["block.held", "help.held", ""],
  ["block.weights", "help.weights", "sw is-weights"],
  ["block.working", "help.working", "sw is-working"],
  ["block.other", "help.other", "sw is-other"],
  ["block.available", "help.available", ""],
  ["block.evictable", "help.evictable", "sw is-evictable"],
  ["block.cache", "help.cache", "sw is-cache"],
  ["block.free", "help.free", "sw is-free"],
  ["fact.inUse", "help.inUse", ""],
  ["fact.peak", "help.peak", "pkm"],
];

/** @param {Document} document */
export function createHelp(document) {
  const element = make(document, "dl", "hr-help");
  for (const [word, help, sign] of WORDS) {
    const mark = sign ? [make(document, "i", sign)] : [];
    element.append(make(document, "dt", "", ...mark, t(word)), make(document, "dd", "", t(help)));
  }
  return element;
}
