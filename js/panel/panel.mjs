// @ts-check
/** The panel as one element: head, help, the sections in their order, foot. */

import { t } from "../strings/index.mjs";
import { make, show } from "./dom.mjs";
import { createFoot } from "./foot.mjs";
import { createHead } from "./head.mjs";
import { createHelp } from "./help.mjs";
import { worstProblem } from "./problems.mjs";
import { reportText } from "./report_text.mjs";
import { createFrame } from "./section_frame.mjs";
import { SECTIONS } from "./sections.mjs";
import { statusOf } from "./status.mjs";

/**
 * @param {import("./sections.mjs").Context} context
 * @param {() => import("./store.mjs").View} currentView
 * @param {() => void} openSettings
 */
export function createPanel(context, currentView, openSettings) {
  const { document } = context;
  const help = createHelp(document);
  show(help, false);
  const frames = SECTIONS.map((section) => createFrame(section, context));
  const head = createHead(document, {
    copyReport: () => context.copy(reportText(currentView())),
    openSettings,
    showHelp: (open) => show(help, open),
    reveal: (id) => frames.find((frame) => frame.id === id)?.reveal(),
  });
  const foot = createFoot(document);
  const feet = frames.flatMap((frame) => frame.foot ?? []);
  const parts = [head.element, help, ...frames.map((frame) => frame.element), ...feet, foot.element];
  const element = make(document, "div", "hr hr-panel", ...parts);
  element.setAttribute("role", "region");
  element.setAttribute("aria-label", t("panel.title"));

  /** @param {import("./store.mjs").View} view */
  function update(view) {
    head.update(statusOf(view, worstProblem(view)));
    for (const frame of frames) frame.update(view);
    foot.update(view);
  }

  return { element, update };
}
