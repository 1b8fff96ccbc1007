// @ts-check
/** What stands right in the heading of the warnings: the icon of each severity with its count. */

import { icon } from "../icons.mjs";
import { t } from "../strings/index.mjs";
import { make } from "./dom.mjs";
import { LEVELS, SEVERITIES, counts, shownAdvice } from "./problems.mjs";

/** @param {Document} document */
export function createFact(document) {
  /** @type {{ label: string, parts: (string | Node)[] }} */
  let shown = { label: "", parts: [] };
  /** @type {import("./types.mjs").Advice[] | null} */
  let counted = null;
  /** @param {import("./store.mjs").View} view */
  return (view) => {
    const advice = shownAdvice(view);
    if (advice === counted) return shown;
    counted = advice;
    const all = counts(advice);
    const found = SEVERITIES.map((severity) => /** @type {const} */ ([severity, all[severity]])).filter(([, count]) => count > 0);
    const label = found.map(([severity, count]) => t(`cards.count.${severity}${count === 1 ? ".one" : ""}`, { count })).join(", ");
    if (label === shown.label) return shown;
    const parts = found.map(([severity, count]) => {
      const part = make(document, "span", "hr-count", icon(document, LEVELS[severity]), String(count));
      part.setAttribute("data-level", LEVELS[severity]);
      return part;
    });
    shown = { label, parts };
    return shown;
  };
}
