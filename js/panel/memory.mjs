// @ts-check
/**
 * Whose the memory is: one GPU or the RAM, divided so that the parts add up to the total. Pure; sizes are bytes, null is
 * unknown. Held cannot be had without stopping something; available is what the next allocation can get: free, torch's
 * cache and evictable weights.
 */

/**
 * @typedef {import("./types.mjs").Device} Device
 * @typedef {import("./types.mjs").Ram} Ram
 * @typedef {import("./types.mjs").LoadedModel} LoadedModel
 *
 * @typedef {object} Division
 * @property {number | null} total
 * @property {number | null} held
 * @property {number | null} available  what is known of it, where `atLeast`
 * @property {boolean} atLeast  a part of `available` is unknown
 * @property {Record<string, number | null>} parts
 */

/** @param {number} low @param {number} value @param {number} high */
const clamp = (low, value, high) => Math.min(Math.max(value, low), high);

/** @param {number | null | undefined} value @returns {number | null} */
const known = (value) => (typeof value === "number" ? value : null);

/** Torch's name of a device: rocm devices are "cuda" to it. @param {Device} device */
export const torchName = (device) => `${device.kind === "rocm" ? "cuda" : device.kind}:${device.index}`;

/** A spill smaller than this is the desktop's, and not felt. */
const SPILL_BYTES = 2 ** 28;

/** What lies in RAM although it was meant for the card; null: nothing that shows. @param {Device} device */
export const spilledBytes = ({ spilled_bytes: spilled }) => (spilled !== null && spilled >= SPILL_BYTES ? spilled : null);

/** Loaded models that lie on this device. @param {LoadedModel[]} models @param {Device} device */
function modelsOn(models, device) {
  const name = torchName(device);
  const [kind] = name.split(":");
  return models.filter((model) => model.device === name || model.device === kind);
}

/**
 * One GPU. `parts`: weights, working, other (held); evictable, cache, free (available).
 * @param {Device} device
 * @param {LoadedModel[]} models
 * @returns {Division}
 */
export function divideDevice(device, models) {
  const total = known(device.total_bytes);
  const free = known(device.free_bytes);
  // What this process has not opened it does not hold: that is known although torch cannot be asked.
  const unopened = device.own_bytes === 0;
  const allocated = known(device.torch_allocated_bytes) ?? (unopened ? 0 : null);
  const reserved = known(device.torch_reserved_bytes) ?? (unopened ? 0 : null);
  const evictable = known(device.evictable_bytes) ?? (unopened ? 0 : null);
  const cache = allocated === null || reserved === null ? null : Math.max(0, reserved - allocated);
  const resident = modelsOn(models, device).map((model) => known(model.resident_bytes));
  const weights = resident.some((size) => size === null)
    ? null
    : Math.max(0, Number(resident.reduce((sum, size) => Number(sum) + Number(size), 0)) - (evictable ?? 0));
  const working = workingBytes(device, models, allocated);
  if (total === null || free === null) return withoutTotals(total, { weights, working, evictable, cache, free });
  const atLeast = evictable === null || cache === null;
  const available = clamp(0, (evictable ?? 0) + (cache ?? 0) + free, total);
  const held = total - available;
  const kept = clamp(0, weights ?? 0, held);
  const inWork = clamp(0, working ?? 0, held - kept);
  const room = clamp(0, available - free, available);
  const evicts = clamp(0, evictable ?? 0, room);
  return {
    total,
    held,
    available,
    atLeast,
    parts: {
      weights: weights === null ? null : kept,
      working: working === null ? null : inWork,
      other: weights === null || working === null || atLeast ? null : held - kept - inWork,
      evictable: evictable === null ? null : evicts,
      cache: cache === null ? null : room - evicts,
      free,
    },
  };
}

/**
 * Tensors that are no weights; pages of dynamic VRAM lie outside of what torch counts.
 * @param {Device} device @param {LoadedModel[]} models @param {number | null} allocated
 */
function workingBytes(device, models, allocated) {
  if (allocated === null) return null;
  const counted = modelsOn(models, device).filter((model) => !model.dynamic);
  return Math.max(0, allocated - counted.reduce((sum, model) => sum + (known(model.resident_bytes) ?? 0), 0));
}

/**
 * Where the driver does not tell the free memory the totals are unknown; what torch tells is at least there.
 * @param {number | null} total
 * @param {{ weights: number | null, working: number | null, evictable: number | null, cache: number | null, free: number | null }} found
 * @returns {Division}
 */
function withoutTotals(total, { weights, working, evictable, cache, free }) {
  const some = [evictable, cache, free].filter((size) => size !== null);
  const least = some.reduce((sum, size) => Number(sum) + Number(size), 0);
  // At least nothing says nothing.
  const available = least || null;
  return { total, held: null, available, atLeast: true, parts: { weights, working, other: null, evictable, cache, free } };
}

/**
 * The system's memory under the container's limit. `parts`: own, other (held); fileCache, free (available).
 * @param {Ram} ram
 * @returns {Division}
 */
export function divideRam(ram) {
  const total = known(ram.total_bytes);
  const available = known(ram.available_bytes);
  const own = known(ram.own_bytes);
  const cached = known(ram.file_cache_bytes);
  if (total === null || available === null) {
    return { total, held: null, available, atLeast: false, parts: { own, other: null, fileCache: null, free: null } };
  }
  const left = clamp(0, available, total);
  const held = total - left;
  // Model files that are mapped count as this process's and as the system's cache: what can go is not held.
  const ours = own === null ? null : clamp(0, own, held);
  const fileCache = cached === null ? null : clamp(0, cached, left);
  return {
    total,
    held,
    available: left,
    atLeast: false,
    parts: {
      own: ours,
      other: ours === null ? null : held - ours,
      fileCache,
      free: fileCache === null ? null : left - fileCache,
    },
  };
}

/**
 * Sizes as whole tenths of a unit that add up to the whole as it is shown: 15.4 is never 8.2 and 7.1.
 * @param {number} wholeTenths what the parts must add up to
 * @param {number[]} parts in any unit
 * @returns {number[]}
 */
export function tenths(wholeTenths, parts) {
  const sum = parts.reduce((a, b) => a + b, 0);
  if (sum <= 0) return parts.map(() => 0);
  const exact = parts.map((part) => (part * wholeTenths) / sum);
  const shown = exact.map(Math.floor);
  const order = exact.map((value, index) => ({ index, rest: value - shown[index] }));
  order.sort((a, b) => b.rest - a.rest || a.index - b.index);
  let missing = wholeTenths - shown.reduce((a, b) => a + b, 0);
  for (const { index } of order) {
    if (missing-- <= 0) break;
    shown[index]++;
  }
  return shown;
}
