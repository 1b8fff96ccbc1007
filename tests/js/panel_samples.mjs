/** Readings of machines for the tests of the panel's pure modules; sizes in GiB. */

export const GIB = 2 ** 30;
export const gib = (size) => (size === null ? null : Math.round(size * GIB));

const NOTHING = Object.fromEntries(
  [
    ...["uuid", "pci", "total_bytes", "used_bytes", "free_bytes", "driver_bytes", "own_bytes", "others_bytes"],
    ...["torch_allocated_bytes", "torch_reserved_bytes", "evictable_bytes", "spilled_bytes", "programs", "utilisation_percent"],
    ...["temperature_celsius", "driver"],
  ].map((field) => [field, null]),
);

/** A GPU; `sizes` by the fields' names without `_bytes`. */
export function card(sizes = {}, more = {}) {
  const fields = Object.fromEntries(Object.entries(sizes).map(([name, size]) => [`${name}_bytes`, gib(size)]));
  const base = { index: 0, name: "NVIDIA GeForce RTX 4080", kind: "cuda", unified: false, reasons: {}, uuid: "GPU-0" };
  return { ...NOTHING, ...base, ...fields, ...more };
}

export const model = (size, resident, more = {}) => ({
  ...{ id: "1", name: "a.safetensors", kind: "diffusion", class_name: "WAN21", dtype: "fp8", device: "cuda:0" },
  ...{ size_bytes: gib(size), resident_bytes: gib(resident), dynamic: true, lora_patches: 0 },
  ...more,
});

export const ram = (sizes, more = {}) => ({
  ...{ total_bytes: null, machine_bytes: null, available_bytes: null, own_bytes: null, pinned_bytes: null },
  ...{ file_cache_bytes: null, swap_total_bytes: null, swap_used_bytes: null },
  ...Object.fromEntries(Object.entries(sizes).map(([name, size]) => [`${name}_bytes`, gib(size)])),
  ...{ limit_source: null, cpu_percent: null, reasons: {} },
  ...more,
});

/** A 16 GiB card under dynamic VRAM: full, and nearly all of it to be had. */
export const FULL = card({
  ...{ total: 16, free: 1.2, used: 14.8, own: 14.1, torch_allocated: 0.2, torch_reserved: 5.7, evictable: 8.4 },
});
export const ROOMY = ram({ total: 56, machine: 62.6, available: 27.5, own: 27.6, file_cache: 17.8 });

export const snapshot = (more = {}) => ({
  ...{ taken_at: 1000, host: { version: "0.30.0", running: false, flags: [], argv: [], versions: {} }, devices: [FULL] },
  ...{ unused_devices: [], ram: ROOMY, models: [model(13.3, 8.6)], last_run: null, failure: null, advice: [] },
  ...more,
});
