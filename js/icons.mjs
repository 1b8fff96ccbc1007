// @ts-check
/** The icons as inline SVG. A level is told by its shape as well as by its colour. */

const SVG = "http://www.w3.org/2000/svg";

/**
 * Shapes on a 16 by 16 grid, outlined in the icon's colour; "solid" is filled with it, "cut" is drawn in the surface's.
 * @type {Record<string, [tag: string, attributes: Record<string, string>][]>}
 */
const SHAPES = {
  ok: [
    ["circle", { class: "solid", cx: "8", cy: "8", r: "6.6", stroke: "none" }],
    ["path", { class: "cut", d: "m5 8.3 2.1 2.1L11.2 6" }],
  ],
  info: [
    ["circle", { cx: "8", cy: "8", r: "6.3" }],
    ["path", { d: "M8 7.4v3.8m0-6.2v.01" }],
  ],
  warn: [
    ["path", { class: "solid", d: "M8 2.3 14.3 13.4H1.7z" }],
    ["path", { class: "cut", d: "M8 6.4v3.3m0 2v.01" }],
  ],
  error: [
    ["path", { class: "solid", d: "M5.3 1.7h5.4l3.6 3.6v5.4l-3.6 3.6H5.3l-3.6-3.6V5.3z" }],
    ["path", { class: "cut", d: "m5.8 5.8 4.4 4.4m0-4.4-4.4 4.4" }],
  ],
  off: [
    ["circle", { cx: "8", cy: "8", r: "6.3", "stroke-dasharray": "2.6 2.35" }],
    ["path", { d: "M5.4 8h5.2" }],
  ],
  run: [
    ["circle", { cx: "8", cy: "8", r: "6.3" }],
    ["path", { class: "solid", d: "m6.6 5.6 4 2.4-4 2.4z" }],
  ],
  tick: [["path", { d: "m3.6 8.4 2.9 2.9 5.9-6.4" }]],
  help: [
    ["circle", { cx: "8", cy: "8", r: "6.3" }],
    ["path", { d: "M6.2 6.3a1.9 1.9 0 1 1 2.6 1.8c-.6.3-.8.6-.8 1.2m0 2.1v.01" }],
  ],
  chevron: [["path", { d: "m4.5 6.5 3.5 3.5 3.5-3.5" }]],
  copy: [
    ["rect", { x: "5.5", y: "5.5", width: "8", height: "8", rx: "1.5" }],
    ["path", { d: "M10.5 2.5h-6a2 2 0 0 0-2 2v6" }],
  ],
  settings: [
    ["path", { d: "M2 5h5m4 0h3M2 11h2m4 0h6" }],
    ["circle", { cx: "9", cy: "5", r: "1.7" }],
    ["circle", { cx: "6", cy: "11", r: "1.7" }],
  ],
  eject: [["path", { d: "m8 3 5 6H3zM3.2 12.5h9.6" }]],
  reset: [["path", { d: "M3.6 9a4.6 4.6 0 1 0 1-4.3L3 6.2M3 2.8v3.4h3.4" }]],
};

/** @param {Document} document @param {string} name one of SHAPES */
export function icon(document, name) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("class", "i");
  svg.setAttribute("viewBox", "0 0 16 16");
  svg.setAttribute("aria-hidden", "true");
  for (const [tag, attributes] of SHAPES[name]) {
    const shape = document.createElementNS(SVG, tag);
    for (const [key, value] of Object.entries(attributes)) shape.setAttribute(key, value);
    svg.append(shape);
  }
  return svg;
}
