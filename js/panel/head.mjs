// @ts-check
/** The panel's head: title, copy, settings, help, and the status line that answers "am I fine?". */

import { t } from "../strings/index.mjs";
import { button, hidden, iconButton, make, setAttribute, setIcon, setInline, setLabel, setText, show } from "./dom.mjs";

const COPIED_MS = 2000;

/**
 * @param {Document} document
 * @param {object} actions
 * @param {() => Promise<boolean>} actions.copyReport
 * @param {() => void} actions.openSettings
 * @param {(open: boolean) => void} actions.showHelp
 * @param {(section: string) => void} actions.reveal
 */
export function createHead(document, { copyReport, openSettings, showHelp, reveal }) {
  const copy = iconButton(document, "copy", t("panel.copy"), copyNow);
  const holder = make(document, "span", "hr-icon");
  copy.replaceChildren(holder);
  setIcon(holder, "copy");
  const settings = iconButton(document, "settings", t("panel.settings"), openSettings);
  setLabel(settings, t("panel.settings"), t("panel.settings.tip"));
  const help = iconButton(document, "help", t("panel.help"), () => {
    const open = help.getAttribute("aria-expanded") !== "true";
    help.setAttribute("aria-expanded", String(open));
    help.classList.toggle("on", open);
    showHelp(open);
  });
  help.setAttribute("aria-expanded", "false");
  const mark = make(document, "span", "hr-icon");
  const [title, detail] = [make(document, "b"), make(document, "span")];
  let section = "";
  const more = button(document, "hr-a", () => reveal(section), t("status.more"));
  const line = make(document, "div", "hr-status", mark, make(document, "p", "", title, detail, " ", more));
  // Only this is spoken, and only when what it says changes: not at each step.
  const spoken = hidden(document, "");
  spoken.setAttribute("role", "status");
  const element = make(
    document,
    "div",
    "hr-head",
    make(document, "div", "hr-title", make(document, "h2", "", t("panel.title")), copy, settings, help),
    line,
    spoken,
  );
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;

  async function copyNow() {
    const done = await copyReport();
    clearTimeout(timer);
    setLabel(copy, t(done ? "panel.copied" : "panel.copyFailed"));
    setIcon(holder, done ? "ok" : "error");
    setAttribute(copy, "data-level", done ? "ok" : "error");
    setText(spoken, t(done ? "panel.copied" : "panel.copyFailed"));
    timer = setTimeout(() => {
      setLabel(copy, t("panel.copy"), t("panel.copy.tip"));
      setIcon(holder, "copy");
      setAttribute(copy, "data-level", null);
    }, COPIED_MS);
  }
  setLabel(copy, t("panel.copy"), t("panel.copy.tip"));

  let announced = "";
  /** @param {import("./status.mjs").Status} status */
  function update(status) {
    setAttribute(line, "data-level", status.level);
    setAttribute(line, "data-status", status.id);
    setIcon(mark, status.icon);
    setInline(title, status.title);
    setAttribute(title, "title", status.id === "running" ? status.title : null);
    setText(detail, status.detail);
    section = status.section ?? "";
    show(more, section !== "");
    const words = status.spoken.replaceAll("`", "");
    if (words !== announced) {
      announced = words;
      setText(spoken, words);
    }
  }

  return { element, update };
}
