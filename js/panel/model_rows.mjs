// @ts-check
/** Loaded models as rows of words. Pure. */

import { gib } from "../format.mjs";
import { t } from "../strings/index.mjs";

/**
 * @typedef {object} ModelRow
 * @property {string} key
 * @property {string | null} id  what the server calls it; null: it cannot be unloaded alone
 * @property {string} name
 * @property {string} about
 * @property {string} size
 * @property {number} share  of it that is resident
 */

const KINDS = { diffusion: "kind.diffusion", "text encoder": "kind.textEncoder", vae: "kind.vae" };

/** @param {import("./types.mjs").LoadedModel[]} models @returns {ModelRow[]} */
export function modelRows(models) {
  /** @type {Map<string, number>} */
  const seen = new Map();
  return models.map((model) => {
    const name = model.name ?? model.class_name;
    const base = model.id ?? `${name} ${model.class_name} ${model.device}`;
    const count = seen.get(base) ?? 0;
    seen.set(base, count + 1);
    const kind = t(KINDS[/** @type {keyof typeof KINDS} */ (model.kind)] ?? "kind.other");
    const lora = model.lora_patches ? [t("model.lora", { count: model.lora_patches })] : [];
    const { resident_bytes: resident, size_bytes: size } = model;
    return {
      key: `${base} ${count}`,
      id: model.id ?? null,
      name,
      about: [kind, model.dtype, deviceName(model.device), ...lora].filter(Boolean).join(", "),
      size: t("model.size", { resident: gib(resident), size: gib(size) }),
      share: resident === null || !size ? 0 : Math.min(1, resident / size),
    };
  });
}

/** "cuda:0" as "GPU 0", "cpu" as "CPU". @param {string | null} device */
function deviceName(device) {
  if (!device) return "";
  const [kind, index] = device.split(":");
  return kind === "cpu" ? "CPU" : t("block.gpu", { index: index ?? 0 });
}

/** Where models lie: on GPUs, and in RAM those whose device is the CPU. @param {import("./types.mjs").LoadedModel[]} models */
export function residentBytes(models) {
  /** @param {boolean} ram */
  const sum = (ram) =>
    models.filter((model) => (model.device === "cpu") === ram).reduce((all, model) => all + (model.resident_bytes ?? 0), 0);
  return { vram: sum(false), ram: sum(true) };
}

/** A file name in parts that a line may break between: after an underscore, a dot or a dash. @param {string} name */
export const breakable = (name) => name.split(/(?<=[_.-])/);

/**
 * What an action really freed, from the server's answer.
 * @param {{ vram_freed_bytes: number | null, ram_freed_bytes: number | null, models_before: number, models_after: number | null }} answer
 * @param {boolean} gpu  there is a GPU whose memory counts
 */
export function freedText({ vram_freed_bytes, ram_freed_bytes, models_before, models_after }, gpu) {
  if (models_after === null || vram_freed_bytes === null) return t("freed.unmeasured");
  const parts = [];
  if (gpu) parts.push(t("freed.vram", { size: signed(vram_freed_bytes) }));
  if (ram_freed_bytes !== null) parts.push(t("freed.ram", { size: signed(ram_freed_bytes) }));
  const unloaded = models_before - models_after;
  const what = unloaded > 0 ? t("freed.models", { count: unloaded }) : t("freed.noModels");
  return parts.length ? t("freed", { parts: parts.join(", "), what }) : what;
}

/** Memory can also have grown meanwhile: never shown as freed. @param {number} bytes */
const signed = (bytes) => (bytes <= 0 ? "0.0" : gib(bytes));
