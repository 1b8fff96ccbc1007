// @ts-check
/** Text helpers without a DOM and without the host: sizes, machine words, times, messages. */

export const MIB = 2 ** 20;
export const GIB = 2 ** 30;
export const NO_BREAK_SPACE = "\u00a0";
export const MINUS = "\u2212";

/** A number and its unit, kept on one line. @param {string} text @param {string} unit */
export const withUnit = (text, unit) => text + NO_BREAK_SPACE + unit;

/** A number with a typographic minus. @param {number} value @param {number} [decimals] */
export const number = (value, decimals = 1) => rounded(value, decimals).replace("-", MINUS);

/**
 * Python rounds an exact tie to the even digit, toFixed away from zero: 256 MiB are 0.2 GiB in the server's texts, not 0.3.
 * @param {number} value @param {number} decimals
 */
function rounded(value, decimals) {
  const text = value.toFixed(decimals);
  const scaled = Math.abs(value) * 10 ** decimals;
  // Only a multiple of this power of two can be half way between two decimal numbers.
  const tie = Number.isInteger(value * 2 ** (decimals + 1)) && scaled % 1 === 0.5;
  if (!tie || Math.floor(scaled) % 2) return text;
  return ((Math.sign(value) * Math.floor(scaled)) / 10 ** decimals).toFixed(decimals);
}

/**
 * Bytes as a bare number of GiB, "n/a" where unknown; below the last decimal "<0.1". As headroom/core/units.py.
 * @param {number | null | undefined} bytes
 * @param {number} [decimals]
 */
export function gib(bytes, decimals = 1) {
  if (bytes === null || bytes === undefined) return "n/a";
  const value = bytes / GIB;
  const smallest = 10 ** -decimals;
  if (Math.abs(value) > 0 && Math.abs(value) < smallest / 2) return `<${smallest.toFixed(decimals)}`;
  return number(value, decimals);
}

/** A time with the unit that reads best, as headroom/core/units.py. @param {number} seconds */
export function duration(seconds) {
  if (seconds < 0.00005) return withUnit("<0.1", "ms");
  if (seconds < 1) return withUnit(number(seconds * 1000), "ms");
  if (seconds < 120) return withUnit(number(seconds), "s");
  if (seconds < 7200) return withUnit(number(seconds / 60), "min");
  return withUnit(number(seconds / 3600), "h");
}

/**
 * Splits a text at its machine words, the parts between backticks (flags, file names).
 * A backtick without a partner stays as it is.
 * @param {string} text
 * @returns {{ text: string, code: boolean }[]}
 */
export function splitCode(text) {
  const parts = [];
  let end = 0;
  for (const match of text.matchAll(/`([^`]+)`/g)) {
    if (match.index > end) parts.push({ text: text.slice(end, match.index), code: false });
    parts.push({ text: match[1], code: true });
    end = match.index + match[0].length;
  }
  if (end < text.length) parts.push({ text: text.slice(end), code: false });
  return parts;
}

/** @param {number} value @param {number} digits */
const padded = (value, digits = 2) => String(value).padStart(digits, "0");

/** @param {Date} time */
const dayOf = (time) => `${padded(time.getFullYear(), 4)}-${padded(time.getMonth() + 1)}-${padded(time.getDate())}`;

/**
 * A time of day, with the date in front where it was not today: "14:02", "2026-03-09 14:02".
 * @param {number} seconds Unix time
 * @param {Date} [now]
 */
export function clock(seconds, now = new Date()) {
  const time = new Date(seconds * 1000);
  const short = `${padded(time.getHours())}:${padded(time.getMinutes())}`;
  return dayOf(time) === dayOf(now) ? short : `${dayOf(time)} ${short}`;
}

/**
 * Date and time to the second, for a tooltip: "2026-03-09 14:02:31".
 * @param {number} seconds Unix time
 */
export function fullTime(seconds) {
  const time = new Date(seconds * 1000);
  const parts = [time.getHours(), time.getMinutes(), time.getSeconds()].map((part) => padded(part));
  return `${dayOf(time)} ${parts.join(":")}`;
}

/**
 * An exception's message as a headline of one sentence and the rest.
 * @param {string} message
 * @returns {{ title: string, rest: string }}
 */
export function headline(message) {
  const text = message.trim();
  // A sentence ends at a full stop before a space, or with its line; "0.30" and "model.safetensors" do not end one.
  const end = text.search(/\.(?=\s)|\n/);
  if (end < 0) return { title: text.replace(/\.$/, ""), rest: "" };
  return { title: text.slice(0, end).trim(), rest: text.slice(end + 1).trim() };
}

/** The time of day to the second, without the date: "14:02:31". @param {number} seconds Unix time */
export function clockSeconds(seconds) {
  const time = new Date(seconds * 1000);
  return [time.getHours(), time.getMinutes(), time.getSeconds()].map((part) => padded(part)).join(":");
}
