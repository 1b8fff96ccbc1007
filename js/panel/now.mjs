// @ts-check
/** The section "Now": every GPU that ComfyUI uses, those that it does not, and the RAM. */

import { clockSeconds } from "../format.mjs";
import { t } from "../strings/index.mjs";
import { deviceBlock, ramBlock } from "./blocks.mjs";
import { createBlock } from "./block_view.mjs";
import { keyed, make, setInline, show } from "./dom.mjs";

export const id = "now";
const OPEN = "now.open";

/** @param {import("./sections.mjs").Context} context @returns {import("./sections.mjs").Section} */
export function create({ document, get, set, resetPeak }) {
  const none = make(document, "p", "hr-none");
  const list = make(document, "div");
  const waiting = make(document, "div", "hr-wait");
  const element = make(document, "div", "", none, waiting, list);
  waiting.append(...[0, 1].map(() => make(document, "div", "hr-dev hr-ghost")));
  /** @type {Map<string, any>} */
  const known = new Map();

  /** What the user opened or closed, by the key of the block. @returns {Record<string, boolean>} */
  const remembered = () => get(OPEN) ?? {};

  /** @param {import("./store.mjs").View} view @returns {boolean} */
  function update(view) {
    const { snapshot, ram } = view;
    show(waiting, !snapshot);
    show(none, Boolean(snapshot) && view.devices.length === 0);
    if (!snapshot || !ram) return true;
    setInline(none, t((snapshot.host.flags ?? []).includes("--cpu") ? "now.cpu" : "now.noGpu"));
    const old = view.connection.state !== "live";
    const blocks = view.devices.map((reading, place) => ({ block: deviceBlock(reading), old, first: place === 0 }));
    if (!ram.shared) blocks.push({ block: ramBlock(snapshot.ram, ram.division, ram.level), old, first: true });
    blocks.push(...view.unused.map((reading) => ({ block: deviceBlock(reading), old, first: false })));
    keyed(
      list,
      blocks,
      ({ block }) => block.key,
      ({ block, first }) => {
        const gpu = block.key !== "ram";
        const part = createBlock(document, block, {
          // The GPU that runs the queue is open, others are compact.
          open: remembered()[block.key] ?? first,
          onToggle: gpu ? (key, open) => set(OPEN, { ...remembered(), [key]: open }) : null,
          onResetPeak: gpu ? resetPeak : null,
        });
        return { element: part.element, update: (item) => part.update(item.block, item.old) };
      },
      known,
    );
    return true;
  }

  /** @param {import("./store.mjs").View} view */
  function fact({ connection }) {
    if (connection.state === "lost" && connection.at !== null) return t("now.fact.old", { time: clockSeconds(connection.at / 1000) });
    return t("now.fact");
  }

  return { element, update, fact };
}
