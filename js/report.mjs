// @ts-check
/** Draws a node's report (headroom/core/report.py) into an element. Knows the document it is given and nothing else. */

import { clock, fullTime, splitCode } from "./format.mjs";
import { icon } from "./icons.mjs";

/**
 * @typedef {object} Report
 * @property {"ok" | "info" | "warn" | "error"} level
 * @property {string} title
 * @property {string} figure
 * @property {Block[]} blocks
 * @property {Record<string, unknown>} facts
 * @property {number} made_at  Unix time; 0: unknown
 *
 * @typedef {{ kind: string, [field: string]: any }} Block
 */

/** What a level is called by a screen reader; the icon's shape says the same to the eye. */
const SPOKEN = { ok: "Fine", info: "Note", warn: "Warning", error: "Problem", off: "" };

/**
 * @param {Document} document
 * @param {string} tag
 * @param {string} [className]
 * @param {(Node | string)[]} children
 */
function make(document, tag, className = "", ...children) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  for (const child of children) element.append(child);
  return element;
}

/** Text with its machine words in mono. @param {Document} document @param {unknown} text @returns {(Node | string)[]} */
function inline(document, text) {
  return splitCode(String(text ?? "")).map((part) => (part.code ? make(document, "code", "", part.text) : part.text));
}

/** @param {Document} document @param {Block} block */
function drawText(document, block) {
  const lead = block.lead ? [make(document, "b", "", `${block.lead}:`), " "] : [];
  return make(document, "p", block.muted ? "mut" : "", ...lead, ...inline(document, block.text));
}

/** @param {Document} document @param {Block} block */
function drawCells(document, block) {
  const bad = new Set(block.bad ?? []);
  const list = make(document, "ul", "hr-cells");
  list.setAttribute("aria-label", "Batch items");
  for (let item = 0; item < block.count; item++) {
    const marks = bad.has(item) ? [make(document, "span", "vh", " bad")] : [];
    list.append(make(document, "li", bad.has(item) ? "bad" : "", String(item), ...marks));
  }
  return list;
}

/** @param {Document} document @param {Block} block */
function drawTable(document, block) {
  /** @param {number} column */
  const align = (column) => (column ? "num" : "name");
  const columns = block.columns ?? [];
  const head = make(document, "tr");
  if (block.numbered) head.append(make(document, "th", "no", make(document, "span", "vh", "No.")));
  columns.forEach((/** @type {unknown} */ title, /** @type {number} */ column) => {
    head.append(make(document, "th", align(column), ...inline(document, title)));
  });
  for (const cell of head.children) cell.setAttribute("scope", "col");
  const body = make(document, "tbody");
  (block.rows ?? []).forEach((/** @type {any} */ row, /** @type {number} */ position) => {
    const line = make(document, "tr");
    if (block.numbered) line.append(make(document, "td", "no mut", String(position + 1)));
    row.cells.forEach((/** @type {unknown} */ cell, /** @type {number} */ column) => {
      line.append(make(document, "td", align(column) + (cell === "n/a" ? " mut" : ""), ...inline(document, cell)));
    });
    body.append(line);
    if (!row.note) return;
    const note = make(document, "td", row.done ? "lv-ok" : "mut", ...inline(document, row.note));
    note.setAttribute("colspan", String(columns.length));
    const indent = block.numbered ? [make(document, "td", "no")] : [];
    body.append(make(document, "tr", "note", ...indent, note));
  });
  return make(document, "table", "hr-tab", make(document, "thead", "", head), body);
}

/** @type {Record<string, (document: Document, block: Block) => Element>} */
const BLOCKS = { text: drawText, cells: drawCells, table: drawTable };

/**
 * The element of one node's report and the function that updates it; the DOM changes only when what is shown does.
 * @param {Document} document
 */
export function createReport(document) {
  const body = make(document, "div", "hr-body");
  const element = make(document, "div", "hr hr-report", body);
  element.setAttribute("role", "group");
  element.setAttribute("aria-label", "Headroom report");
  let shown = "";

  /**
   * @param {import("./report_state.mjs").View} view
   * @returns {boolean} whether anything changed
   */
  function update(view) {
    const wanted = JSON.stringify(view);
    if (wanted === shown) return false;
    shown = wanted;
    const { report, pending, earlier } = view;
    body.replaceChildren(drawHead(report, pending));
    for (const block of report?.blocks ?? []) {
      const draw = BLOCKS[block?.kind];
      // A kind that this version does not know is from a newer one: what it does know is still worth showing.
      if (draw) body.append(draw(document, block));
    }
    if (report && earlier && !pending) body.append(make(document, "p", "mut", `ran at ${clock(report.made_at)}`));
    element.toggleAttribute("data-pending", pending);
    return true;
  }

  /** @param {Report | null} report @param {boolean} pending */
  function drawHead(report, pending) {
    const level = report ? (report.level in SPOKEN ? report.level : "info") : "off";
    const spoken = pending ? "Before this run" : SPOKEN[level];
    const title = make(document, "span", "title");
    if (spoken) title.append(make(document, "span", "vh", `${spoken}: `));
    title.append(...inline(document, report ? report.title : "Not run yet"));
    const head = make(document, "div", "hd", icon(document, level), title);
    head.setAttribute("data-level", level);
    // In place of the figure, so that the report keeps its height while the node runs.
    const figure = pending && report?.made_at ? `ran at ${clock(report.made_at)}` : report?.figure;
    if (figure) head.append(make(document, "span", "num", figure));
    if (report?.made_at) head.setAttribute("title", fullTime(report.made_at));
    return head;
  }

  update({ report: null, pending: false, earlier: false });
  return { element, body, update };
}
