// @ts-check
/** All words of the panel in the browser's language: `t(key, params)`. A key lives in one table per language. */

import { fillParts, partsOf } from "./words.mjs";
import panelEn from "./panel.en.mjs";
import panelZh from "./panel.zh.mjs";
import cardsEn from "./cards.en.mjs";
import cardsZh from "./cards.zh.mjs";
import reasonsZh from "./reasons.zh.mjs";

/** @type {Record<string, Record<string, string>>} */
export const TABLES = { en: { ...panelEn, ...cardsEn }, zh: { ...panelZh, ...cardsZh } };

let current = "en";
/** The texts of that language taken apart: some hundred are asked for each second. @type {Map<string, string[]>} */
const known = new Map();

/**
 * Chooses the language by the host's setting ("zh", "zh-TW", "de"); one that has no table is English.
 * @param {unknown} code
 */
export function useLanguage(code) {
  const short = String(code ?? "").toLowerCase().split(/[-_]/)[0];
  const chosen = short in TABLES ? short : "en";
  if (chosen !== current) known.clear();
  current = chosen;
}

/** The language in use, a key of TABLES. */
export const language = () => current;

/** Whether there is a text of this key. @param {string} key */
export const has = (key) => key in TABLES.en;

/**
 * The text of a key with its parameters in place. Names tell how a value is written: `*_bytes` is a size,
 * `*_seconds` a time (words.mjs).
 * @param {string} key
 * @param {Record<string, unknown>} [params]
 */
export function t(key, params = {}) {
  let parts = known.get(key);
  if (!parts) {
    const template = TABLES[current][key] ?? TABLES.en[key];
    if (template === undefined) throw new Error(`no text for ${key}`);
    known.set(key, (parts = partsOf(template)));
  }
  return parts.length === 1 ? parts[0] : fillParts(parts, params, current);
}

/**
 * Why the server has no figure: its own words, or what they are in the language in use.
 * @param {string} text
 * @returns {string}
 */
export function reason(text) {
  if (current !== "zh") return text;
  const table = /** @type {Record<string, string>} */ (reasonsZh);
  const begins = text in table ? text : Object.keys(table).find((words) => words.endsWith(" ") && text.startsWith(words));
  return begins === undefined ? text : table[begins] + text.slice(begins.length);
}
