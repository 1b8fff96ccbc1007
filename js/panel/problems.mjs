// @ts-check
/** What is wrong: the advice and the last failure, what of it was dismissed, and what is new. Pure. */

import { adviceWords } from "../strings/advice.mjs";
import { language } from "../strings/index.mjs";
import { failureTitle } from "./failure_facts.mjs";
import { onChange, unchanged } from "./unchanged.mjs";

/**
 * @typedef {import("./types.mjs").Advice} Advice
 * @typedef {import("./store.mjs").View} View
 *
 * One run that went wrong: the error that it ended with, or the end of ComfyUI in the middle of it.
 * @typedef {object} Trouble
 * @property {string} key  of this one occurrence; dismissed by it
 * @property {Record<string, any> | null} failure
 * @property {string | null} node  what the failure's node is called on the canvas
 * @property {Record<string, any> | null} ended  the last run's facts
 * @property {Advice | null} advice  what the server says of the end
 *
 * @typedef {{ problem: number, warning: number, info: number }} Counts
 */

/** Severities, the worst first, and the level that draws them. */
export const LEVELS = { problem: "error", warning: "warn", info: "info" };
export const SEVERITIES = /** @type {(keyof Counts)[]} */ (Object.keys(LEVELS));
/** Told in the section of what just failed, beside the facts of that run. */
const ENDED_RULE = "last-run-unfinished";

/** A severity of a newer server is a note. @param {Advice} advice @returns {keyof Counts} */
export const severityOf = (advice) => (SEVERITIES.includes(advice.severity) ? advice.severity : "info");

/** The advice for the cards, the worst first; the server's order decides among equals. @param {{ advice: Advice[] }} view */
export function ordered(view) {
  const cards = view.advice.filter((advice) => advice.id !== ENDED_RULE);
  return cards.sort((a, b) => SEVERITIES.indexOf(severityOf(a)) - SEVERITIES.indexOf(severityOf(b)));
}

const divided = onChange((/** @type {Advice[]} */ advice, /** @type {string[]} */ ignored) => {
  const all = ordered({ advice });
  return {
    shown: all.filter((one) => !ignored.includes(one.id)),
    hidden: all.filter((one) => ignored.includes(one.id)),
  };
});

/** The advice that is shown; the same list until something changes. @param {View} view */
export const shownAdvice = (view) => divided(view.advice, view.ignored).shown;

/** The advice that fits now and was dismissed; the same list until something changes. @param {View} view */
export const dismissedAdvice = (view) => divided(view.advice, view.ignored).hidden;

/** How many there are of each severity. @param {Advice[]} advice @returns {Counts} */
export function counts(advice) {
  const found = { problem: 0, warning: 0, info: 0 };
  for (const one of advice) found[severityOf(one)] += 1;
  return found;
}

/** What went wrong with the last run, dismissed or not; the failure first. @param {View} view @returns {Trouble[]} */
export function allTroubles(view) {
  const { failure, last_run: run } = view.snapshot ?? {};
  /** @type {Trouble[]} */
  const found = [];
  if (failure) found.push({ key: `failure@${failure.at}`, failure, node: view.failedNode ?? null, ended: null, advice: null });
  if (run?.finished === false) {
    const advice = view.advice.find((one) => one.id === ENDED_RULE) ?? null;
    found.push({ key: `ended@${run.ended_at ?? 0}`, failure: null, node: null, ended: run, advice });
  }
  return found;
}

/** @type {Trouble[]} */
const NONE = [];
/** @type {Trouble[]} */
let troubles = NONE;

/** What is shown of it; the same list until something changes. @param {View} view */
export function shownTroubles(view) {
  const { failure, last_run: run } = view.snapshot ?? {};
  if (!failure && run?.finished !== false) return NONE;
  const found = allTroubles(view).filter((trouble) => !view.ignored.includes(trouble.key));
  return (troubles = unchanged(troubles, found));
}

/**
 * The list of what is dismissed, with one more. Of the keys of single runs only the newest of a kind is kept.
 * @param {string[]} ignored
 * @param {string} id of a rule or the key of a trouble
 */
export function dismissed(ignored, id) {
  const kind = id.includes("@") ? `${id.split("@")[0]}@` : null;
  return [...ignored.filter((one) => one !== id && !(kind && one.startsWith(kind))), id];
}

/** The list without one. @param {string[]} ignored @param {string} id */
export const broughtBack = (ignored, id) => ignored.filter((one) => one !== id);

/**
 * What the badge says: everything but notes that was not dismissed.
 * @param {View} view
 */
export function problemCount(view) {
  const { problem, warning } = counts(shownAdvice(view));
  return shownTroubles(view).length + problem + warning;
}

/**
 * The serious ones, the worst first: troubles and advice whose severity is a problem.
 * @param {View} view
 * @returns {{ key: string, title: string, section: string }[]}
 */
export function serious(view) {
  const troubles = shownTroubles(view).map((one) => ({ key: one.key, title: troubleTitle(one, view), section: "failure" }));
  const problems = shownAdvice(view).filter((advice) => severityOf(advice) === "problem");
  return [...troubles, ...problems.map((one) => ({ key: one.id, title: wordsOf(one, view).title, section: "warnings" }))];
}

/** The worst of the serious ones. @param {View} view */
export const worstProblem = (view) => serious(view)[0] ?? null;

/**
 * The serious ones that are not among those already told; the caller remembers their keys.
 * @param {Iterable<string>} told keys
 * @param {View} view
 */
export function newProblems(told, view) {
  const known = new Set(told);
  return serious(view).filter((one) => !known.has(one.key));
}

/** An advice in the panel's language. @param {Advice} advice @param {View} view */
export const wordsOf = (advice, view) => adviceWords(advice, language(), view.snapshot?.host.version);

/** @param {Trouble} trouble @param {View} view */
export function troubleTitle(trouble, view) {
  if (trouble.advice) return wordsOf(trouble.advice, view).title;
  return failureTitle(trouble.failure, trouble.ended, trouble.node);
}
