// @ts-check
/** What is as before stays the same object: nothing is made or drawn from it again. Pure. */

/**
 * A new value in which every part that equals the one before is the one before: the whole of it where all is equal.
 * For values as JSON has them; `now` is changed.
 * @template T
 * @param {unknown} before
 * @param {T} now
 * @returns {T}
 */
export function unchanged(before, now) {
  if (before === now || !isObject(before) || !isObject(now) || Array.isArray(before) !== Array.isArray(now)) return now;
  /** @type {Record<string, unknown>} */
  const parts = now;
  let same = true;
  let more = 0;
  for (const key in parts) {
    more++;
    const old = before[key];
    const part = parts[key];
    if (old === part) continue;
    const kept = unchanged(old, part);
    if (kept === old) parts[key] = kept;
    else same = false;
  }
  // A part that went leaves all others equal.
  for (const _ in before) more--;
  return same && more === 0 ? /** @type {T} */ (before) : now;
}

/** @param {unknown} value @returns {value is Record<string, unknown>} */
const isObject = (value) => typeof value === "object" && value !== null;

/**
 * A function that works again only when an argument is another one than at the call before.
 * @template {unknown[]} A
 * @template R
 * @param {(...values: A) => R} work
 * @returns {(...values: A) => R}
 */
export function onChange(work) {
  /** @type {A | null} */
  let before = null;
  /** @type {R} */
  let result;
  return (...now) => {
    const known = before;
    if (known === null || now.some((one, place) => one !== known[place])) {
      result = work(...now);
      before = now;
    }
    return result;
  };
}
