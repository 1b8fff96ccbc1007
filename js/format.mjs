// @ts-check
/** Text helpers without a DOM and without the host: machine words, times, messages. */

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
