// @ts-check
/** What an advice or a failure's fix says in the browser's language: the server's English, or a template over its parameters. */

import { ADVICE_ZH, CHANGE_ZH, PHRASES_ZH } from "./advice.zh.mjs";
import { FIXES_ZH } from "./advice_failure.zh.mjs";
import { fill } from "./words.mjs";

/**
 * @typedef {import("../panel/types.mjs").Advice} Advice  as the server sends it (headroom/core/flags/advice.py, as_json)
 * @typedef {{ title: string, why: string, fix: string, check: string }} Words
 */

/**
 * Every language but English, which the server writes.
 * @type {Record<string, { advice: typeof ADVICE_ZH, change: Record<string, string>, fixes: Record<string, string>,
 *   phrases: Record<string, string>, space: string }>}
 */
const TABLES = { zh: { advice: ADVICE_ZH, change: CHANGE_ZH, fixes: FIXES_ZH, phrases: PHRASES_ZH, space: "" } };

/**
 * The texts of an advice. All of them are English where one of them cannot be filled: a rule from a newer server.
 * @param {Advice} advice
 * @param {string} language
 * @param {string | null} [version] of ComfyUI
 * @returns {Words}
 */
export function adviceWords(advice, language, version) {
  const table = TABLES[language];
  const rule = table?.advice[advice.id];
  if (!rule) return advice;
  const texts = { ...rule, ...rule.variants?.[advice.params?.variant] };
  const params = translated({ ...advice.params, comfyui: version ? `ComfyUI ${version}` : "ComfyUI" }, table.phrases);
  const change = changeOf(params);
  const about = !change && typeof texts.otherwise === "string" ? texts.otherwise : texts.fix;
  const fix = [change && table.change[change], about].filter(Boolean);
  return filled(advice, { title: texts.title, why: texts.why, fix: fix.join(table.space), check: texts.check }, params, language);
}

/**
 * The text of one of a failure's fixes.
 * @param {{ id: string, text: string, params?: Record<string, any> }} fix
 * @param {string} language
 */
export function fixText(fix, language) {
  const table = TABLES[language];
  const text = table?.fixes[fix.id];
  if (!text) return fix.text;
  return filled({ text: fix.text }, { text }, translated(fix.params ?? {}, table.phrases), language).text;
}

/** Which sentence says the change of the start line. @param {Record<string, any>} params */
function changeOf({ added, removed }) {
  if (added?.length) return removed?.length ? "both" : "added";
  return removed?.length ? "removed" : "";
}

/**
 * @param {Record<string, any>} params
 * @param {Record<string, string>} phrases
 */
function translated(params, phrases) {
  return Object.fromEntries(
    Object.entries(params).map(([name, value]) => [name, typeof value === "string" ? (phrases[value] ?? value) : value]),
  );
}

/**
 * @template {Record<string, any>} T
 * @param {T} english
 * @param {Record<string, string | undefined>} templates
 * @param {Record<string, any>} params
 * @param {string} language
 * @returns {T}
 */
function filled(english, templates, params, language) {
  const found = { ...english };
  for (const [name, template] of Object.entries(templates)) {
    if (template === undefined || !names(template).every((one) => one in params)) return english;
    Object.assign(found, { [name]: fill(template, params, language) });
  }
  return found;
}

/** The parameters that a template names. @param {string} template */
const names = (template) => [...template.matchAll(/\{(\w+)\}/g)].map((match) => match[1]);
