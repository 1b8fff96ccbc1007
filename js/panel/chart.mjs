// @ts-check
/** The chart's shapes from samples: one value per column, paths in a box of `width` by `height`. Pure. */

export const WIDTH = 300;
/** Of the last minutes a column is three seconds: as often the picture is drawn. */
export const COLUMNS = 100;
/** Samples further apart than this many columns, or this long, are not joined: nothing was read between. */
const LEAST_GAP_MS = 12_000;

/**
 * The samples by columns: per column the one that holds most, null where nothing was read.
 * @template {{ at: number }} T
 * @param {T[]} samples
 * @param {number} from ms
 * @param {number} to ms
 * @param {(sample: T) => number} weight
 * @returns {(T | null)[]}
 */
export function columns(samples, from, to, weight) {
  /** @type {(T | null)[]} */
  const found = new Array(COLUMNS).fill(null);
  const width = (to - from) / COLUMNS;
  for (const sample of samples) {
    const place = Math.min(COLUMNS - 1, Math.floor((sample.at - from) / width));
    if (place < 0) continue;
    const before = found[place];
    if (!before || weight(sample) > weight(before)) found[place] = sample;
  }
  const reach = Math.max(1, Math.ceil(LEAST_GAP_MS / width));
  let last = -1;
  for (let place = 0; place < COLUMNS; place++) {
    if (!found[place]) continue;
    if (last >= 0 && place - last > 1 && place - last <= reach) found.fill(found[last], last + 1, place);
    last = place;
  }
  // Up to now the last reading holds, unless it is old.
  if (last >= 0 && last < COLUMNS - 1 && COLUMNS - 1 - last <= reach) found.fill(found[last], last + 1);
  return found;
}

/**
 * A filled area per stretch of columns, between two curves given as shares of the height.
 * @template T
 * @param {(T | null)[]} cells
 * @param {(cell: T) => number} low
 * @param {(cell: T) => number} high
 * @param {number} height
 */
export function area(cells, low, high, height) {
  const step = WIDTH / cells.length;
  /** @param {number} share */
  const y = (share) => round((1 - Math.min(1, Math.max(0, share))) * height);
  let path = "";
  for (const [start, end] of stretches(cells)) {
    const first = /** @type {T} */ (cells[start]);
    let [over, under] = [y(high(first)), y(low(first))];
    let top = `M${round(start * step)} ${over}`;
    let bottom = `H${round(start * step)}Z`;
    // Only where the height changes there is a corner: a quiet hour is one rectangle.
    for (let place = start + 1; place < end; place++) {
      const cell = /** @type {T} */ (cells[place]);
      const [nextOver, nextUnder] = [y(high(cell)), y(low(cell))];
      if (nextOver !== over) top += `H${round(place * step)}V${nextOver}`;
      if (nextUnder !== under) bottom = `H${round(place * step)}V${under}${bottom}`;
      [over, under] = [nextOver, nextUnder];
    }
    path += `${top}H${round(end * step)}V${under}${bottom}`;
  }
  return path;
}

/** @template T @param {(T | null)[]} cells @returns {[number, number][]} */
function stretches(cells) {
  /** @type {[number, number][]} */
  const found = [];
  let start = -1;
  cells.forEach((cell, place) => {
    if (cell && start < 0) start = place;
    if (!cell && start >= 0) {
      found.push([start, place]);
      start = -1;
    }
  });
  if (start >= 0) found.push([start, cells.length]);
  return found;
}

/** @param {number} value */
const round = (value) => Math.round(value * 10) / 10;

/**
 * Where a time lies, as a share of the span. @param {number} at @param {number} from @param {number} to
 */
export const place = (at, from, to) => Math.min(1, Math.max(0, (at - from) / (to - from)));
