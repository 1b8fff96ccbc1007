// @ts-check
/** When little is left: by what is left, never by what is used. Pure. */

/**
 * @typedef {{ share: number, bytes: number }} Limit  under this share of the total, or under this many bytes
 * @typedef {{ tight: Limit, critical: Limit }} Limits
 * @typedef {"ok" | "warn" | "error"} Level
 *
 * One device, in bytes; null: unknown.
 * @typedef {object} Room
 * @property {number | null} left
 * @property {number | null} total
 * @property {boolean} [atLeast]  more than `left` may be left
 * @property {boolean} [spilled]  part of what it should hold lies elsewhere already
 */

/** A level is left only after this long beyond its limit, by this share of the total: no flicker around a limit. */
const LEAVE_MS = 5000;
const LEAVE_SHARE = 0.02;
/** @type {Level[]} */
const ORDER = ["ok", "warn", "error"];

/**
 * The level of one figure by itself.
 * @param {number} left bytes
 * @param {number} total bytes
 * @param {Limits} limits
 * @param {number} [margin] bytes that must be left beyond the limits
 * @returns {Level}
 */
export function levelOf(left, total, limits, margin = 0) {
  /** @param {Limit} limit */
  const under = (limit) => left - margin < Math.max(limit.share * total, limit.bytes);
  if (under(limits.critical)) return "error";
  return under(limits.tight) ? "warn" : "ok";
}

/** The levels of several devices over time: worse at once, better only after a while. */
export class Levels {
  /** @type {Map<string, { level: Level, beyondSince: number | null }>} */
  #known = new Map();

  /**
   * @param {string} key the device
   * @param {Room} room
   * @param {Limits} limits
   * @param {number} now ms
   * @returns {Level}
   */
  update(key, { left, total, atLeast = false, spilled = false }, limits, now) {
    if (left === null || !total) {
      this.#known.delete(key);
      return "ok";
    }
    const raw = spilled ? "error" : levelOf(left, total, limits);
    const known = this.#known.get(key);
    // A lower bound can show that enough is left, and never that it is not.
    if (atLeast && !spilled && raw !== "ok") return known?.level ?? "ok";
    if (!known || rank(raw) >= rank(known.level)) {
      this.#known.set(key, { level: raw, beyondSince: null });
      return raw;
    }
    if (rank(levelOf(left, total, limits, LEAVE_SHARE * total)) >= rank(known.level)) {
      known.beyondSince = null;
      return known.level;
    }
    // A clock that was set back must not hold the level for as long.
    known.beyondSince = Math.min(known.beyondSince ?? now, now);
    if (now - known.beyondSince < LEAVE_MS) return known.level;
    this.#known.set(key, { level: raw, beyondSince: null });
    return raw;
  }
}

/** @param {Level} level */
const rank = (level) => ORDER.indexOf(level);

/** The worst of some levels. @param {Level[]} levels @returns {Level} */
export const worst = (levels) => levels.reduce((a, b) => (rank(b) > rank(a) ? b : a), /** @type {Level} */ ("ok"));
