// @ts-check
/** The section "Loaded models": what is loaded, and unloading it. Off while a prompt runs; says what was really freed. */

import { t } from "../strings/index.mjs";
import { button, iconButton, keyed, make, setLabel, setOff, setStyle, setText, show, uniqueId } from "./dom.mjs";
import { breakable, freedText, modelRows, residentBytes } from "./model_rows.mjs";
import { onChange } from "./unchanged.mjs";

export const id = "models";

/** @param {import("./sections.mjs").Context} context @returns {import("./sections.mjs").Section} */
export function create({ document, act, refresh, redraw }) {
  const why = make(document, "p", "hr-why");
  why.id = uniqueId();
  why.setAttribute("role", "status");
  const none = make(document, "p", "hr-none", t("models.empty"));
  const list = make(document, "ul", "hr-models");
  const all = button(document, "b", () => run("unload", {}, "models.working"), t("models.unloadAll"));
  const cache = button(document, "b", () => run("free", {}, "models.freeing"), t("models.free"));
  cache.title = t("models.free.tip");
  const element = make(document, "div", "", none, list, make(document, "div", "hr-acts", all, cache), why);
  /** @type {Map<string, any>} */
  const known = new Map();
  let pending = "";
  /** What the last action came to; until the next one, or a run. */
  let result = "";
  /** @type {import("./store.mjs").View | null} */
  let last = null;

  /** @param {string} route @param {object} body @param {string} words */
  async function run(route, body, words) {
    if (pending) return;
    pending = t(words);
    result = "";
    redraw();
    const { ok, answer } = await act(route, body);
    pending = "";
    result = ok ? freedText(answer, (last?.devices.length ?? 0) > 0) : t("models.failed", { error: answer.error });
    redraw();
    refresh();
  }

  /** @param {import("./store.mjs").View} view @returns {boolean} */
  function update(view) {
    last = view;
    if (!view.snapshot) return false;
    const running = view.run.running || Boolean(view.snapshot.host.running);
    const answers = view.connection.state === "live";
    if (running) result = "";
    const off = running || !answers || Boolean(pending);
    drawRows(view.snapshot.models, off);
    setText(why, !answers ? t("models.noAnswer") : pending || (running ? t("models.running") : result || would(view)));
    return true;
  }

  const drawRows = onChange((/** @type {import("./types.mjs").LoadedModel[]} */ models, /** @type {boolean} */ off) => {
    const rows = modelRows(models);
    show(none, rows.length === 0);
    keyed(list, rows, (row) => row.key, (row) => createRow(row), known);
    for (const { setOff: turn } of known.values()) turn(off);
    setOff(all, off || rows.length === 0, why.id);
    setOff(cache, off, why.id);
  });

  /** @param {import("./model_rows.mjs").ModelRow} first */
  function createRow(first) {
    const name = make(document, "div", "n");
    breakable(first.name).forEach((part, place) => name.append(...(place ? [document.createElement("wbr")] : []), part));
    const [about, size] = [make(document, "span"), make(document, "b")];
    const share = make(document, "div", "res");
    share.setAttribute("aria-hidden", "true");
    const line = make(document, "div", "m", about, size);
    const row = make(document, "li", "hr-model", name, line, share);
    size.title = t("models.resident.tip");
    const eject = first.id === null ? null : iconButton(document, "eject", "", () => run("unload", { model: first.id }, "models.working"));
    if (eject) {
      setLabel(eject, t("models.unload", { name: first.name }), t("models.unload.tip"));
      row.append(eject);
    }
    return {
      element: row,
      /** @param {import("./model_rows.mjs").ModelRow} now */
      update(now) {
        setText(about, now.about);
        setText(size, now.size);
        setStyle(share, "--v", `${(now.share * 100).toFixed(1)}%`);
      },
      /** @param {boolean} off */
      setOff: (off) => eject && setOff(eject, off, why.id),
    };
  }

  /** @param {import("./store.mjs").View} view */
  function fact({ snapshot, devices }) {
    const models = snapshot?.models ?? [];
    if (!models.length) return t("models.none");
    const { vram, ram } = residentBytes(models);
    const count = models.length;
    if (!devices.length) return t("models.fact.ram", { count, resident_bytes: vram + ram });
    return t(ram ? "models.fact.both" : "models.fact.vram", { count, resident_bytes: vram, ram_bytes: ram });
  }

  return { element, update, fact };
}

/** What the buttons would free. @param {import("./store.mjs").View} view */
function would({ snapshot, devices }) {
  const { vram, ram } = residentBytes(snapshot?.models ?? []);
  const cache_bytes = devices.reduce((sum, { division }) => sum + (division.parts.cache ?? 0), 0);
  // Beside a GPU what lies in RAM stays there for as long as ComfyUI keeps the loaders' outputs.
  const unload_bytes = devices.length ? vram : vram + ram;
  if (!unload_bytes) return cache_bytes ? t("models.would.cacheOnly", { cache_bytes }) : "";
  return cache_bytes ? t("models.would.cache", { unload_bytes, cache_bytes }) : t("models.would", { unload_bytes });
}
