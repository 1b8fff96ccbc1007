// @ts-check
/** Parameters as words by their names, as headroom/core/flags/wording.py writes them. */

import { GIB, MIB, duration, gib, number, withUnit } from "../format.mjs";

/** @type {Record<string, { yes: string, no: string, comma: string, and: string }>} */
const WORDS = {
  en: { yes: "yes", no: "no", comma: ", ", and: " and " },
  zh: { yes: "是", no: "否", comma: "、", and: "和" },
};

/**
 * A text with its parameters in place; a name without a value is an error.
 * @param {string} template
 * @param {Record<string, unknown>} params
 * @param {string} [language]
 */
export const fill = (template, params, language = "en") => fillParts(partsOf(template), params, language);

/** A template taken apart: words, name, words, name, words. @param {string} template */
export const partsOf = (template) => template.split(/\{(\w+)\}/);

/** As `fill`, of a template that was taken apart before. @param {string[]} parts @param {Record<string, unknown>} params @param {string} language */
export function fillParts(parts, params, language) {
  let text = parts[0];
  for (let place = 1; place < parts.length; place += 2) {
    const name = parts[place];
    if (!(name in params)) throw new Error(`no value for {${name}} in "${parts.join("")}"`);
    text += word(name, params[name], language) + parts[place + 1];
  }
  return text;
}

/**
 * One parameter in running text.
 * @param {string} name
 * @param {unknown} value
 * @param {string} [language]
 * @returns {string}
 */
export function word(name, value, language = "en") {
  const words = WORDS[language] ?? WORDS.en;
  if (typeof value === "number") {
    if (name.endsWith("_bytes")) {
      const large = Math.abs(value) >= Math.floor(GIB / 10) || value === 0;
      return large ? withUnit(gib(value), "GiB") : withUnit(number(value / MIB, 0), "MiB");
    }
    if (name.endsWith("_seconds")) return duration(value);
    return name === "value" ? String(value) : short(value);
  }
  if (typeof value === "boolean") return value ? words.yes : words.no;
  if (typeof value === "string") return value.startsWith("--") ? `\`${value}\`` : value;
  if (Array.isArray(value)) {
    const parts = value.map((part) => word("", part, language));
    const last = parts.pop() ?? "";
    return parts.length ? parts.join(words.comma) + words.and + last : last;
  }
  return String(value);
}

/** A number with as few decimals as it needs, two at most. @param {number} value */
function short(value) {
  const text = number(value, 2);
  return text.includes(".") ? text.replace(/0+$/, "").replace(/\.$/, "") : text;
}
