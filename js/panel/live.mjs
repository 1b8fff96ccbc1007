// @ts-check
/** Brings it to life: asks the server while somebody looks, listens to the host, draws the panel and the meter. */

import * as host from "../host.mjs";
import { language, t, useLanguage } from "../strings/index.mjs";
import { copyText } from "./clipboard.mjs";
import { recall, recallSession, remember, rememberSession } from "./memo.mjs";
import { createMeter } from "./meter.mjs";
import { createPanel } from "./panel.mjs";
import { Poller } from "./poller.mjs";
import { newProblems, problemCount, serious } from "./problems.mjs";
import { METER, defaultOf, intervalFrom } from "./settings.mjs";
import { Store } from "./store.mjs";

const TAB = "headroom";
/** The meter alone needs no fresher numbers than this many readings of the panel. */
const METER_SHARE = 2;
const ANSWER_MS = 10_000;
/** Between two drawings for the host's events, which come many times a second. */
const EVENT_DRAW_MS = 250;
const LANGUAGE_MS = 10_000;
const TOLD = "told";

/** @param {string} key */
const get = (key) => (key.startsWith("Headroom.") ? (host.setting(key) ?? defaultOf(key)) : recall(key));

/** @param {string} key @param {unknown} value */
function set(key, value) {
  if (key.startsWith("Headroom.")) host.setSetting(key, value);
  else remember(key, value);
  store.settingsChanged();
  drawSoon();
}

const store = new Store(get, Date.now(), host.titleOfClass);
const poller = new Poller({
  ask: () => host.getJson("/headroom/snapshot?advice=1", ANSWER_MS),
  now: () => Date.now(),
  setTimer: (run, ms) => setTimeout(run, ms),
  clearTimer: (timer) => clearTimeout(timer),
  onAnswer: received,
  onFailure: failed,
  onFault: (fault) => console.error("Headroom:", fault),
});

/** @type {ReturnType<typeof createPanel> | null} */
let panel = null;
/** @type {ReturnType<typeof createMeter> | null} */
let meter = null;
/** Where the host wants the panel; null: it is closed. @type {HTMLElement | null} */
let place = null;
/** What is on the screen. @type {Set<Element>} */
const seen = new Set();
const watcher = new IntersectionObserver((entries) => {
  for (const entry of entries) {
    if (entry.isIntersecting) seen.add(entry.target);
    else seen.delete(entry.target);
  }
  look();
});
/** @type {ReturnType<typeof setTimeout> | undefined} */
let drawTimer;
/** @type {ReturnType<typeof setInterval> | undefined} */
let clock;

/** @type {import("./sections.mjs").Context} */
const context = {
  document,
  get,
  set,
  toast: host.toast,
  command: host.command,
  listen: host.listen,
  selectNode: host.selectNode,
  copy: copyText,
  act,
  resetPeak(key) {
    store.resetPeak(key);
    draw();
  },
  refresh: () => poller.askNow(),
  redraw: draw,
};

/** @param {string} route @param {object} body */
async function act(route, body) {
  try {
    return await host.postJson(`/headroom/${route}`, body);
  } catch (error) {
    return { ok: false, status: 0, answer: { error: String(error) } };
  }
}

/** @param {any} snapshot */
function received(snapshot) {
  clearInterval(clock);
  clock = undefined;
  store.received(snapshot, Date.now());
  look();
  draw();
  tellNews();
}

/** @param {any} error @param {number} nextAt */
function failed(error, nextAt) {
  const status = typeof error?.status === "number" ? error.status : null;
  store.failed(status, Date.now(), nextAt);
  // The seconds until the next try go down without a request.
  if (poller.wanted) {
    clock ??= setInterval(() => {
      store.tick(Date.now());
      draw();
    }, 1000);
  }
  draw();
}

let languageAt = 0;
let interval = intervalFrom(defaultOf);
/** What the tab in the sidebar has now. @type {{ badge: string | null, tooltip: string }} */
let shown = { badge: null, tooltip: "" };

/** The number on the tab's icon. */
function drawBadge() {
  const count = problemCount(store.view);
  const badge = count ? String(count) : null;
  const tooltip = t("panel.tooltip");
  if (badge !== shown.badge || tooltip !== shown.tooltip) {
    shown = { badge, tooltip };
    host.setTab(TAB, shown);
  }
}

/** What was told in this tab of the browser; read when there is something to tell. @type {string[] | undefined} */
let told;

/** One toast for what is new and serious: once, also over a reload of the page. */
function tellNews() {
  if (!serious(store.view).length) return;
  const before = (told ??= /** @type {string[]} */ (recallSession(TOLD) ?? []));
  const news = newProblems(before, store.view);
  if (!news.length) return;
  told = [...before, ...news.map((one) => one.key)].slice(-100);
  rememberSession(TOLD, told);
  host.toast("warn", news[0].title.replaceAll("`", ""), t("toast.new"));
}

/** Asks as often as what is on the screen needs, or not at all. */
function look() {
  const front = document.visibilityState === "visible";
  const open = panel !== null && seen.has(panel.element);
  const metered = meter !== null && seen.has(meter.element);
  poller.interval = interval * (open ? 1 : METER_SHARE);
  poller.wanted = front && (open || metered);
  if (!poller.wanted) {
    clearInterval(clock);
    clock = undefined;
  }
}

function draw() {
  clearTimeout(drawTimer);
  drawTimer = undefined;
  followLanguage();
  if (panel && place) panel.update(store.view);
  meter?.update(store.view);
  drawBadge();
}

/** Where the host does not tell that its language changes it is asked now and then: to ask takes longer than a drawing. */
function followLanguage() {
  if (Math.abs(Date.now() - languageAt) < LANGUAGE_MS) return;
  languageAt = Date.now();
  const before = language();
  useLanguage(host.locale());
  if (language() !== before) rebuild();
}

function drawSoon() {
  drawTimer ??= setTimeout(() => {
    store.tick(Date.now());
    draw();
  }, EVENT_DRAW_MS);
}

/** In another language: all words are made anew. */
function rebuild() {
  if (panel) unwatch(panel.element);
  panel = null;
  if (place) showPanel(place);
  if (meter) {
    hideMeter();
    showMeter();
  }
}

/** Begun anew at each showing: the observer tells only of changes. @param {Element} element */
function unwatch(element) {
  watcher.unobserve(element);
  seen.delete(element);
}

/** @param {HTMLElement} where */
function showPanel(where) {
  place = where;
  panel ??= createPanel(context, () => store.view, host.openSettings);
  where.replaceChildren(panel.element);
  watcher.observe(panel.element);
  store.tick(Date.now());
  panel.update(store.view);
}

function hidePanel() {
  place = null;
  if (panel) unwatch(panel.element);
  panel?.element.remove();
  look();
}

function showMeter() {
  if (meter) return;
  meter = createMeter(document, () => host.toggleTab(TAB));
  // A frontend without this place has no meter, and everything else.
  if (!host.mountInTopBar(meter.element)) {
    meter = null;
    return;
  }
  watcher.observe(meter.element);
  meter.update(store.view);
}

function hideMeter() {
  if (!meter) return;
  unwatch(meter.element);
  meter.element.remove();
  meter = null;
  look();
}

/** A setting of ours was changed in the host's settings page; also called with each one's first value. */
export function settingsChanged() {
  // The host keeps the new value only after it has told of it.
  setTimeout(applySettings);
}

function applySettings() {
  if (!begun) return;
  store.settingsChanged();
  interval = intervalFrom(get);
  if (get(METER)) showMeter();
  else hideMeter();
  look();
  drawSoon();
}

let begun = false;

/** Called once, when the host's frontend is ready. */
export function begin() {
  begun = true;
  useLanguage(host.locale());
  host.addTab({ id: TAB, title: "Headroom", tooltip: t("panel.tooltip"), render: showPanel, destroy: hidePanel });
  followRuns();
  document.addEventListener("visibilitychange", look);
  host.listenToLanguage(() => {
    languageAt = 0;
    drawSoon();
  });
  applySettings();
}

function followRuns() {
  const now = () => Date.now();
  host.listen("execution_start", ({ prompt_id }) => {
    store.runStarted(String(prompt_id), now());
    drawSoon();
  });
  host.listen("executing", (id) => {
    store.nodeStarted(id == null ? null : String(id), id == null ? "" : (host.nodeTitle(id) ?? String(id)), now());
    drawSoon();
  });
  host.listen("progress", ({ value, max }) => {
    store.progressed(Number(value), Number(max));
    drawSoon();
  });
  host.listenToEnds(() => {
    store.runEnded(now());
    poller.askNow();
    drawSoon();
  });
  // Back after a restart of the server: no need to wait for the next try.
  host.listen("reconnected", () => poller.askNow());
}
