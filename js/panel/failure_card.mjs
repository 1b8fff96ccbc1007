// @ts-check
/** The card of one run that failed, or that ended with ComfyUI: drawn once, since all of it is frozen. */

import { icon } from "../icons.mjs";
import { fixText } from "../strings/advice.mjs";
import { language, t } from "../strings/index.mjs";
import { button, make, setInline } from "./dom.mjs";
import { endedFacts, failureTime, loadedThen, moment } from "./failure_facts.mjs";
import { breakable } from "./model_rows.mjs";
import { troubleTitle, wordsOf } from "./problems.mjs";
import { createBody } from "./warnings_body.mjs";

/** A row of the table is drawn with the colour and texture of the same part in the section Now. @type {Record<string, string>} */
const SWATCHES = {
  ...{ weights: "weights", working: "working", other: "other", evictable: "evictable", cache: "cache", free: "free" },
  ...{ "ram.own": "weights", "ram.other": "other", "ram.fileCache": "evictable", "ram.free": "free" },
};

/**
 * @param {import("./sections.mjs").Context} context
 * @param {import("./problems.mjs").Trouble} trouble
 * @param {import("./store.mjs").View} view
 * @param {(text: string) => void} say
 * @param {() => void} dismiss
 */
export function drawTrouble(context, trouble, view, say, dismiss) {
  const { document } = context;
  const title = make(document, "span");
  title.id = `hr-failure-${trouble.failure ? "run" : "end"}`;
  setInline(title, troubleTitle(trouble, view));
  const mark = make(document, "span", "mark", icon(document, "error"));
  mark.setAttribute("data-level", "error");
  const text = make(document, "span", "t", make(document, "span", "vh", t("cards.problem")), title);
  const head = make(document, "h4", "", make(document, "div", "hd", mark, text));
  const body = trouble.failure
    ? drawFailure(context, trouble.failure, say, dismiss)
    : drawEnd(context, trouble, view, say, dismiss);
  for (const one of body.querySelectorAll("footer button")) one.setAttribute("aria-describedby", title.id);
  return make(document, "article", "hr-card", head, body);
}

/**
 * @param {import("./sections.mjs").Context} context
 * @param {Record<string, any>} failure
 * @param {(text: string) => void} say
 * @param {() => void} dismiss
 */
function drawFailure(context, failure, say, dismiss) {
  const { document } = context;
  /** @type {HTMLElement[]} */
  const parts = [make(document, "p", "mut", failureTime(failure)), ...drawFixes(document, failure)];
  const blocks = moment(failure);
  parts.push(label(document, t("failure.moment")));
  if (!blocks.length) parts.push(make(document, "p", "mut", t("failure.moment.none")));
  parts.push(...blocks.map((block) => drawBlock(document, block)));
  parts.push(...drawModels(document, failure), ...drawWords(document, failure));
  const buttons = [button(document, "b q", dismiss, t("cards.dismiss"))];
  if (failure.node_id) buttons.unshift(nodeButton(context, String(failure.node_id), say));
  return make(document, "div", "", ...parts, make(document, "footer", "", ...buttons));
}

/** @param {import("./sections.mjs").Context} context @param {string} node @param {(text: string) => void} say */
function nodeButton(context, node, say) {
  const shown = button(context.document, "b q", press, t("failure.showNode"));
  function press() {
    if (context.selectNode(node)) return;
    shown.textContent = t("failure.showNode.absent");
    say(t("failure.showNode.absent"));
  }
  return shown;
}

/** @param {Document} document @param {Record<string, any>} failure */
function drawFixes(document, failure) {
  const fixes = failure.fixes ?? [];
  if (!fixes.length) return [];
  const list = make(document, "ol", "hr-fixes");
  for (const fix of fixes) {
    const text = make(document, "p");
    setInline(text, fixText(fix, language()));
    const effect = t("failure.effect", { effect_bytes: fix.expected_bytes ?? 0 });
    const parts = fix.expected_bytes > 0 ? [text, make(document, "p", "mut", effect)] : [text];
    list.append(make(document, "li", "", make(document, "div", "t", ...parts)));
  }
  return [label(document, t("failure.fixes")), list];
}

/** @param {Document} document @param {string} text */
const label = (document, text) => make(document, "p", "lab", text);

/** @param {Document} document @param {import("./failure_facts.mjs").Block} block */
function drawBlock(document, block) {
  const body = make(document, "tbody");
  for (const row of block.rows) {
    const swatch = make(document, "span", `sw is-${SWATCHES[row.id]}`);
    const name = make(document, "th", "name", swatch, " ", row.label);
    if (row.detail) name.append(make(document, "span", "sub", row.detail));
    name.setAttribute("scope", "row");
    body.append(make(document, "tr", "", name, make(document, "td", "num", row.size)));
  }
  const heading = make(document, "th", "name", block.label);
  heading.setAttribute("scope", "col");
  const total = make(document, "th", "num", block.total);
  return make(document, "table", "hr-tab hr-moment", make(document, "thead", "", make(document, "tr", "", heading, total)), body);
}

/** @param {Document} document @param {Record<string, any>} failure */
function drawModels(document, failure) {
  const models = loadedThen(failure);
  if (!models.length) return [];
  const lines = models.map(({ name, detail }) => {
    const parts = breakable(name).flatMap((part, index) => (index ? [make(document, "wbr"), part] : [part]));
    return make(document, "li", "", make(document, "span", "n", ...parts), make(document, "span", "num", detail));
  });
  return [label(document, t("failure.models")), make(document, "ul", "hr-then", ...lines)];
}

/** @param {Document} document @param {Record<string, any>} failure */
function drawWords(document, failure) {
  if (!failure.message) return [];
  const words = make(document, "p", "words", failure.message);
  return [make(document, "details", "", make(document, "summary", "", t("failure.words")), words)];
}

/**
 * @param {import("./sections.mjs").Context} context
 * @param {import("./problems.mjs").Trouble} trouble
 * @param {import("./store.mjs").View} view
 * @param {(text: string) => void} say
 * @param {() => void} dismiss
 */
function drawEnd(context, trouble, view, say, dismiss) {
  const { document } = context;
  const facts = make(document, "p", "mut", endedFacts(trouble.ended ?? {}, trouble.advice).join(" "));
  if (trouble.advice) {
    const body = createBody(context, say, dismiss);
    body.update(wordsOf(trouble.advice, view), trouble.advice);
    body.element.prepend(facts);
    return body.element;
  }
  const footer = make(document, "footer", "", button(document, "b q", dismiss, t("cards.dismiss")));
  return make(document, "div", "", facts, footer);
}
