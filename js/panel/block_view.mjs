// @ts-check
/** Draws one GPU or the RAM: name, bar, the two tables, facts, notes. Its height only changes when it is opened or closed. */

import { icon } from "../icons.mjs";
import { t } from "../strings/index.mjs";
import { button, iconButton, make, setAttribute, setInline, setLabel, setStyle, setText, show, uniqueId } from "./dom.mjs";

/**
 * @typedef {import("./blocks.mjs").Block} Block
 * @typedef {import("./blocks.mjs").Row} Row
 *
 * @typedef {object} Options
 * @property {boolean} [open]  whether its rows are shown at first
 * @property {boolean} [old]  whether its numbers are old at first
 * @property {((key: string, open: boolean) => void) | null} [onToggle]  null: it cannot be closed
 * @property {((key: string) => void) | null} [onResetPeak]
 */

/**
 * @param {Document} document
 * @param {Block} first
 * @param {Options} [options]
 * @returns {{ element: HTMLElement, update: (block: Block, old: boolean) => void }}
 */
export function createBlock(document, first, { open = true, old = false, onToggle = null, onResetPeak = null } = {}) {
  const name = make(document, "b");
  const sub = make(document, "span", "mut");
  const total = make(document, "span", "num");
  const header = make(document, "header");
  const bar = createBar(document);
  const held = createTable(document, t("block.held"), first.split.heldRows);
  const available = createTable(document, t("block.available"), first.split.availableRows);
  const facts = createFacts(document, first, onResetPeak && (() => onResetPeak(first.key)));
  const notes = createNotes(document);
  const details = uniqueId();
  const split = make(document, "div", "hr-split", held.element, available.element);
  split.id = details;
  const element = make(document, "article", "hr-dev", header, bar.element, split, facts.element, notes.element);

  /** @param {boolean} opened */
  function setOpen(opened) {
    element.toggleAttribute("data-closed", !opened);
    toggle?.setAttribute("aria-expanded", String(opened));
  }

  const toggle = onToggle
    ? button(
        document,
        "",
        () => {
          const opened = element.hasAttribute("data-closed");
          setOpen(opened);
          onToggle(first.key, opened);
        },
        name,
        sub,
        icon(document, "chevron"),
      )
    : null;
  toggle?.setAttribute("aria-controls", details);
  header.append(...(toggle ? [toggle, total] : [name, sub, total]));
  setOpen(open || !toggle);

  /** @param {Block} block @param {boolean} isOld */
  function update(block, isOld) {
    setAttribute(element, "aria-label", block.label);
    setAttribute(element, "data-level", block.level);
    if (element.classList.contains("hr-old") !== isOld) element.classList.toggle("hr-old", isOld);
    setText(name, block.name);
    setAttribute(name, "title", block.label === block.name ? null : block.label);
    setText(sub, block.sub);
    setText(total, block.total);
    bar.update(block);
    held.update(block.split.held, block.split.heldRows);
    available.update(block.split.available, block.split.availableRows);
    facts.update(block);
    notes.update(block.notes);
  }

  update(first, old);
  return { element, update };
}

/** @param {Document} document */
function createBar(document) {
  const element = make(document, "div", "hr-bar");
  element.setAttribute("aria-hidden", "true");
  const unknown = make(document, "i", "is-unknown");
  const peak = make(document, "span", "pk");
  element.append(unknown, peak);
  /** @type {Map<string, HTMLElement>} */
  const parts = new Map();

  /** @param {Block} block */
  function update(block) {
    const none = block.bar.length === 0;
    show(unknown, none);
    // All parts are known, or none of them.
    if (none) for (const part of parts.values()) show(part, false);
    for (const [kind, share] of block.bar) {
      let part = parts.get(kind);
      if (!part) {
        part = make(document, "i", `is-${kind}`);
        parts.set(kind, part);
        element.insertBefore(part, peak);
      }
      setStyle(part, "--v", share.toFixed(3));
      show(part, share >= 0.0005);
    }
    show(peak, block.peakAt !== null);
    if (block.peakAt !== null) setStyle(peak, "--at", `${(block.peakAt * 100).toFixed(1)}%`);
  }

  return { element, update };
}

/** @param {Document} document @param {string} title @param {Row[]} first */
function createTable(document, title, first) {
  const sum = make(document, "dd");
  const top = make(document, "div", "top", make(document, "dt", "", title), sum);
  const cells = first.map((row) => make(document, "dd"));
  const lines = first.map((row, place) =>
    make(document, "div", "", make(document, "dt", "", make(document, "i", `sw is-${row.kind}`), row.label), cells[place]),
  );
  const element = make(document, "dl", "", top, ...lines);

  /** @param {string} total @param {Row[]} rows */
  function update(total, rows) {
    setValue(sum, total, total === "n/a");
    rows.forEach((row, place) => setValue(cells[place], row.text, row.na));
  }

  return { element, update };
}

/** @param {HTMLElement} element @param {string} text @param {boolean} na */
function setValue(element, text, na) {
  setText(element, text);
  if (element.classList.contains("na") !== na) element.classList.toggle("na", na);
}

/** @param {Document} document @param {Block} first @param {(() => void) | null} resetPeak */
function createFacts(document, first, resetPeak) {
  const element = make(document, "dl", "hr-facts");
  const values = first.facts.map((fact) => {
    const value = make(document, "span");
    const cell = make(document, "dd", "", value);
    if (fact.id === "peak" && resetPeak) {
      const reset = iconButton(document, "reset", t("fact.peak.reset", { name: first.label }), resetPeak);
      setLabel(reset, t("fact.peak.reset", { name: first.label }), t("fact.peak.reset", { name: first.name }));
      cell.append(reset);
    }
    const title = make(document, "dt", "", fact.label);
    title.title = fact.tip;
    element.append(make(document, "div", "", title, cell));
    return value;
  });

  /** @param {Block} block */
  const update = (block) => block.facts.forEach((fact, place) => setValue(values[place], fact.text, fact.na));

  return { element, update };
}

/** @param {Document} document */
function createNotes(document) {
  const element = make(document, "div", "hr-notes");
  let shown = "";

  /** @param {Block["notes"]} notes */
  function update(notes) {
    const wanted = notes.map(({ lead, text }) => `${lead}\n${text}`).join("\n");
    if (wanted === shown) return;
    shown = wanted;
    element.replaceChildren(
      ...notes.map(({ lead, text }) => {
        const words = make(document, "span");
        setInline(words, text);
        return make(document, "p", "hr-note", ...(lead ? [make(document, "b", "", `${lead}:`), " "] : []), words);
      }),
    );
  }

  return { element, update };
}
