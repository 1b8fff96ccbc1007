// @ts-check
/** The section "Last minutes": VRAM and RAM over time, the nodes below, and a readout by pointer and arrow keys. */

import { t } from "../strings/index.mjs";
import { WIDTH, area, place } from "./chart.mjs";
import { button, make, setAttribute, setStyle, setText, show, uniqueId } from "./dom.mjs";
import { MINUTES } from "./history.mjs";
import { createLane } from "./lane.mjs";
import { COLUMN_MS, moved, peakLine, pictureOf, readoutAt } from "./timeline_view.mjs";
import { onChange } from "./unchanged.mjs";

export const id = "timeline";
const SPAN = "timeline.span";
const SVG = "http://www.w3.org/2000/svg";
const HEIGHT = 80;
const RAM_HEIGHT = 28;

/** @typedef {import("./history.mjs").Sample} Sample */

/** @param {import("./sections.mjs").Context} context @returns {import("./sections.mjs").Section} */
export function create({ document, get, set, redraw }) {
  const gpus = createChoice(document, t("timeline.gpu"), (key) => choose(() => (gpu = key)));
  const spans = createChoice(document, t("timeline.span"), (key) => choose(() => set(SPAN, (wanted = key))));
  const total = make(document, "span");
  const vramCaption = make(document, "div", "hr-cap", make(document, "span", "", t("timeline.vram"), gpus.element), total);
  const vram = createChart(document, HEIGHT, ["other", "weights", "working", "evictable"]);
  const lane = createLane(document);
  const ramTotal = make(document, "span");
  const ramCaption = make(document, "div", "hr-cap", make(document, "span", "", t("timeline.ram")), ramTotal);
  const ram = createChart(document, RAM_HEIGHT, ["weights"]);
  ram.element.classList.add("ram");
  const [start, end] = [make(document, "span"), make(document, "span")];
  const axis = make(document, "div", "hr-cap hr-axis", start, spans.element, end);
  const line = make(document, "p", "hr-read");
  line.id = uniqueId();
  const plot = make(document, "div", "hr-plot", vram.element, lane.element, ramCaption, ram.element);
  const element = make(document, "div", "", vramCaption, plot, axis, line);
  for (const part of plot.children) part.setAttribute("aria-hidden", "true");
  plot.tabIndex = 0;
  plot.setAttribute("role", "slider");

  /** @type {unknown} */
  let wanted = get(SPAN);
  /** @type {string | null} */
  let gpu = null;
  /** What is pointed at, ms. @type {number | null} */
  let cursor = null;
  /** @type {import("./timeline_view.mjs").Picture | null} */
  let picture = null;
  /** @type {import("./store.mjs").View | null} */
  let last = null;
  let drawn = "";

  /** @param {() => void} change */
  function choose(change) {
    change();
    cursor = null;
    drawn = "";
    redraw();
  }

  plot.addEventListener("pointermove", (event) => {
    if (!picture) return;
    const box = plot.getBoundingClientRect();
    point(picture.from + ((event.clientX - box.left) / box.width) * (picture.to - picture.from));
  });
  plot.addEventListener("pointerleave", () => point(null));
  plot.addEventListener("blur", () => point(null));
  plot.addEventListener("keydown", (event) => {
    if (!picture || event.ctrlKey || event.altKey || event.metaKey) return;
    const to = event.key === "Escape" && cursor !== null ? null : moved(event.key, cursor, picture);
    if (to === null && event.key !== "Escape") return;
    // The host has shortcuts of its own for some of these keys.
    event.preventDefault();
    event.stopPropagation();
    point(to);
  });

  /** @param {number | null} at */
  function point(at) {
    cursor = at;
    drawReadout();
  }

  function drawReadout() {
    if (!picture || !last) return;
    const at = cursor;
    const where = at === null ? null : `${(place(at, picture.from, picture.to) * 100).toFixed(2)}%`;
    for (const chart of [vram, ram]) chart.point(where);
    if (at === null) {
      const peak = peakLine(picture, last.history);
      setText(line, peak);
      line.classList.toggle("pkm", picture.peak !== null);
      setAttribute(plot, "aria-valuetext", peak);
    } else {
      const { time, node, text } = readoutAt(picture, last.history, at);
      const words = `${time} ${node ? `${node}: ` : ""}${text}`;
      setText(line, words);
      line.classList.remove("pkm");
      setAttribute(plot, "aria-valuetext", words);
    }
    const column = at === null ? picture.cells.length : Math.round(place(at, picture.from, picture.to) * picture.cells.length);
    setAttribute(plot, "aria-valuenow", String(column));
  }

  /** @param {import("./store.mjs").View} view @returns {boolean} */
  function update(view) {
    last = view;
    if (!view.snapshot) return false;
    const { run } = view.history;
    const keys = view.devices.map((reading) => reading.key).join(" ");
    // The same columns and nodes again: nothing to draw.
    const state = [Math.ceil(view.now / COLUMN_MS), wanted, gpu, keys, view.run.nodeId, run?.id, run?.to].join("|");
    if (state === drawn) return true;
    drawn = state;
    if (!view.devices.some((reading) => reading.key === gpu)) gpu = view.devices[0]?.key ?? null;
    const span = run && wanted === "run" ? "run" : "minutes";
    gpus.update(view.devices.map(({ key, device }) => [key, t("block.gpu", { index: device.index })]), gpu ?? "", view.devices.length > 1);
    spans.update([["minutes", t("timeline.minutes", { minutes: MINUTES })], ["run", t("timeline.run")]], span, run !== null);
    draw(pictureOf(view, span, gpu), span);
    drawReadout();
    return true;
  }

  /** @param {import("./timeline_view.mjs").Picture} next @param {string} span */
  function draw(next, span) {
    picture = next;
    const { cells, from, to, nodes, peak } = next;
    for (const part of [vramCaption, vram.element]) show(part, gpu !== null);
    plot.classList.toggle("only", gpu === null);
    if (gpu !== null) drawGpu(gpu);
    const limit = next.ramTotal ?? 1;
    const ramCells = cells.map((cell) => (cell && cell.ram.own !== null ? cell : null));
    ram.draw({ weights: area(ramCells, () => 0, (cell) => Number(cell.ram.own) / limit, RAM_HEIGHT) });
    const limited = Boolean(last?.snapshot?.ram.limit_source);
    setText(ramTotal, next.ramTotal === null ? "" : t(limited ? "timeline.limit" : "timeline.total", { total_bytes: next.ramTotal }));
    const peakAt = peak && `${(place(peak.at, from, to) * 100).toFixed(2)}%`;
    vram.mark(gpu === null ? null : peakAt);
    ram.mark(gpu === null ? peakAt : null);
    lane.update(nodes, from, to, peak ? last?.history.nodeAt(peak.at) ?? null : null);
    setText(start, span === "run" ? t("timeline.start") : t("timeline.ago", { minutes: MINUTES }));
    setText(end, span === "run" && last?.history.run?.to !== null ? t("timeline.end") : t("timeline.now"));
    setAttribute(plot, "aria-label", t("timeline.chart"));
    setAttribute(plot, "aria-valuemin", "0");
    setAttribute(plot, "aria-valuemax", String(cells.length));
  }

  /** @param {string} key */
  function drawGpu(key) {
    if (!picture) return;
    const whole = picture.total || 1;
    const cells = picture.cells.map((cell) => (cell && cell.devices[key]?.held !== null && cell.devices[key] ? cell : null));
    /** @param {(point: import("./history.mjs").Point) => number} size */
    const share = (size) => (/** @type {Sample} */ cell) => size(cell.devices[key]) / whole;
    const other = share((point) => point.other);
    const weights = share((point) => point.other + point.weights);
    const held = share((point) => point.other + point.weights + point.working);
    vram.draw({
      other: area(cells, () => 0, other, HEIGHT),
      weights: area(cells, other, weights, HEIGHT),
      working: area(cells, weights, held, HEIGHT),
      evictable: area(cells, held, share((point) => point.used ?? 0), HEIGHT),
    });
    setText(total, picture.total === null ? "" : t("timeline.total", { total_bytes: picture.total }));
  }

  const fact = () => factOf(picture);
  const factOf = onChange((/** @type {import("./timeline_view.mjs").Picture | null} */ shown) => {
    const point = shown?.gpu == null ? null : shown.peak?.devices[shown.gpu];
    const held = point ? point.held : shown?.peak?.ram.own;
    return held ? t("timeline.fact", { held_bytes: held }) : "";
  });

  return { element, update, fact };
}

/** Some buttons of which one is pressed. @param {Document} document @param {string} label @param {(key: string) => void} choose */
function createChoice(document, label, choose) {
  const element = make(document, "span", "seg");
  element.setAttribute("role", "group");
  element.setAttribute("aria-label", label);
  let shown = "";

  /** @param {[key: string, text: string][]} options @param {string} chosen @param {boolean} useful */
  function update(options, chosen, useful) {
    show(element, useful);
    const wanted = options.join("\n");
    if (wanted !== shown) {
      shown = wanted;
      element.replaceChildren(...options.map(([key, text]) => button(document, "", () => choose(key), text)));
    }
    options.forEach(([key], index) => setAttribute(element.children[index], "aria-pressed", String(key === chosen)));
  }

  return { element, update };
}

/** @param {Document} document @param {number} height @param {string[]} layers */
function createChart(document, height, layers) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", `0 0 ${WIDTH} ${height}`);
  svg.setAttribute("preserveAspectRatio", "none");
  /** @type {Record<string, SVGPathElement>} */
  const paths = {};
  for (const layer of layers) {
    const path = document.createElementNS(SVG, "path");
    path.setAttribute("class", `is-${layer}`);
    if (layer === "evictable") path.setAttribute("style", `fill:url(#${addHatch(document, svg)})`);
    svg.append(path);
    paths[layer] = path;
  }
  const [hair, peak] = [make(document, "span", "x"), make(document, "span", "pm")];
  const element = make(document, "div", "hr-chart", svg, hair, peak);

  /** @param {Record<string, string>} shapes */
  function draw(shapes) {
    for (const [layer, shape] of Object.entries(shapes)) setAttribute(paths[layer], "d", shape);
  }

  /** @param {HTMLElement} part */
  const at = (part) => (/** @type {string | null} */ where) => {
    show(part, where !== null);
    if (where !== null) setStyle(part, "--at", where);
  };
  at(hair)(null);
  at(peak)(null);
  return { element, draw, point: at(hair), mark: at(peak) };
}

/** A pattern of slanted lines; its id is unique in the page. @param {Document} document @param {SVGElement} svg */
function addHatch(document, svg) {
  const pattern = document.createElementNS(SVG, "pattern");
  pattern.id = uniqueId();
  const attributes = { width: "6", height: "6", patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" };
  for (const [name, value] of Object.entries(attributes)) pattern.setAttribute(name, value);
  const stroke = document.createElementNS(SVG, "rect");
  for (const [name, value] of Object.entries({ width: "1.5", height: "6", class: "hr-stroke" })) stroke.setAttribute(name, value);
  pattern.append(stroke);
  const definitions = document.createElementNS(SVG, "defs");
  definitions.append(pattern);
  svg.append(definitions);
  return pattern.id;
}
