// @ts-check
/** Other programs that hold much of a GPU, without flicker: shown after three readings, gone after ten without. Pure. */

const LEAST_BYTES = 2 ** 29;
const SHOWN_AFTER = 3;
const GONE_AFTER = 10;

/** @typedef {{ name: string, used_bytes: number | null, pid: number | null }} Program */

export class SteadyPrograms {
  /** @type {Map<string, { program: Program, seen: number, missed: number }>} */
  #known = new Map();

  /**
   * A device's programs as read now; those to show, the largest first.
   * @param {Program[] | null} programs
   * @returns {Program[]}
   */
  update(programs) {
    const large = new Map(
      (programs ?? []).filter((one) => (one.used_bytes ?? 0) >= LEAST_BYTES).map((one) => [`${one.pid} ${one.name}`, one]),
    );
    for (const [key, program] of large) {
      const known = this.#known.get(key) ?? { program, seen: 0, missed: 0 };
      this.#known.set(key, { program, seen: known.seen + 1, missed: 0 });
    }
    for (const [key, known] of this.#known) {
      if (large.has(key)) continue;
      known.missed += 1;
      if (known.seen < SHOWN_AFTER || known.missed > GONE_AFTER) this.#known.delete(key);
    }
    const shown = [...this.#known.values()].filter((known) => known.seen >= SHOWN_AFTER);
    return shown.map((known) => known.program).sort((a, b) => (b.used_bytes ?? 0) - (a.used_bytes ?? 0));
  }
}
