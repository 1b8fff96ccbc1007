// @ts-check
/** The one door to ComfyUI's frontend: no other module here names its app, its api or its nodes' methods. */

// @ts-ignore served by the host beside this folder
import { app as hostApp } from "../../scripts/app.js";
// @ts-ignore
import { api as hostApi } from "../../scripts/api.js";

/** @type {import("@comfyorg/comfyui-frontend-types").ComfyApp} */
const app = hostApp;
/** @type {import("@comfyorg/comfyui-frontend-types").ComfyApi} */
const api = hostApi;

/**
 * Registers the pack's extension; its name must be unique among all packs. Its settings have ids of their own, which
 * the frontend's types do not know.
 * @param {Omit<import("@comfyorg/comfyui-frontend-types").ComfyExtension, "settings"> & { settings: unknown[] }} extension
 */
export const registerExtension = (extension) => app.registerExtension(/** @type {any} */ (extension));

/**
 * Listens to an event of the host or of our server side.
 * @param {string} name
 * @param {(detail: any) => void} handle
 */
export function listen(name, handle) {
  const target = /** @type {EventTarget} */ (api);
  target.addEventListener(name, (event) => handle(/** @type {CustomEvent} */ (event).detail));
}

/**
 * Listens to the end of every run of this browser, well or not. A blocked node is an error event too, and the run goes
 * on (execution.py 0.30.0).
 * @param {(detail: any) => void} handle
 */
export function listenToEnds(handle) {
  for (const end of ["execution_success", "execution_error", "execution_interrupted"]) {
    listen(end, (detail) => detail?.exception_type === "ExecutionBlocked" || handle(detail));
  }
}

/** @param {any} node */
export const isOurs = (node) => typeof node?.comfyClass === "string" && node.comfyClass.startsWith("Headroom");

/** The open workflow's graph; null before the host has made one (asking then is an error in its console). */
const rootGraph = () => (app.isGraphReady === false ? null : (app.rootGraph ?? app.graph));

/**
 * Our node with this execution id, null if it is not in the open workflow. The id of a node inside subgraphs is the
 * path to it: "5:12" is node 12 in the subgraph that is node 5.
 * @param {unknown} executionId
 * @param {unknown} [type] its class where that is known: another workflow can be open than the one that runs, and ids are small
 */
export function ourNode(executionId, type) {
  const node = anyNode(executionId);
  return isOurs(node) && (type == null || node.comfyClass === type) ? node : null;
}

/** All our nodes in the open workflow, inside subgraphs too. @returns {any[]} */
export function ourNodes() {
  const found = [];
  const graphs = [rootGraph()];
  // The same subgraph can be used by many nodes; its own nodes exist once.
  const seen = new Set();
  for (const graph of graphs) {
    if (!graph || seen.has(graph)) continue;
    seen.add(graph);
    for (const node of /** @type {any[]} */ (graph.nodes ?? [])) {
      if (isOurs(node)) found.push(node);
      if (node.subgraph) graphs.push(node.subgraph);
    }
  }
  return found;
}

/** The key of a node in the host's outputs: its id, with the subgraph's in front. @param {any} node */
function outputKey(node) {
  const inSubgraph = node.graph && node.graph !== rootGraph();
  return inSubgraph ? `${node.graph.id}:${node.id}` : String(node.id);
}

/** The report that the host keeps for this node, if any. @param {any} node @param {Record<string, any>} [outputs] */
export const storedReport = (node, outputs = app.nodeOutputs) => outputs?.[outputKey(node)]?.headroom?.[0];

/**
 * Puts a report that came outside the node's outputs beside them, so that it too survives an undo and a change of tabs.
 * @param {any} node
 * @param {import("./report.mjs").Report} report
 */
export function storeReport(node, report) {
  if (!app.nodeOutputs) return;
  const key = outputKey(node);
  app.nodeOutputs[key] = { ...app.nodeOutputs[key], headroom: [report] };
}

/**
 * Calls a function after the node's own method of that name.
 * @param {any} node
 * @param {string} method
 * @param {(...args: any[]) => void} after
 */
export function chain(node, method, after) {
  const before = node[method];
  node[method] = function (/** @type {any[]} */ ...args) {
    const result = before?.apply(this, args);
    after.apply(this, args);
    return result;
  };
}

/**
 * Adds an element to a node, in canvas and in Nodes 2.0. It has no value: nothing of it reaches the saved workflow or
 * the prompt.
 * @param {any} node
 * @param {string} name
 * @param {HTMLElement} element
 * @param {{ width: number, height: () => number }} least  the node's least width, the element's least height
 */
export function addElement(node, name, element, least) {
  const widget = node.addDOMWidget(name, name, element, {
    serialize: false,
    // The panel at the right would take the element away from the node.
    hideInPanel: true,
    getMinHeight: () => least.height() + 2 * (widget?.margin ?? 10),
  });
  widget.serialize = false;
  const [width, height] = node.computeSize();
  node.setSize([Math.max(node.size[0], width, least.width), Math.max(node.size[1], height)]);
  return widget;
}

/** Lays a node out again at the next frame; it grows where its widgets need it and never shrinks. @param {any} node */
export const redraw = (node) => node.setDirtyCanvas(true, true);

/**
 * Lets the canvas behind an element zoom and pan: the wheel where the element does not scroll, the middle button always.
 * @param {HTMLElement} element
 */
export function shareWithCanvas(element) {
  element.addEventListener("wheel", (event) => {
    // In Nodes 2.0 the node around the element does this itself.
    if (!element.closest(".dom-widget")) return;
    event.stopPropagation();
    if (!event.ctrlKey && element.scrollHeight > element.clientHeight) return;
    event.preventDefault();
    app.canvas.processMouseWheel(event);
  });
  element.addEventListener("pointerdown", (event) => {
    if (event.button === 1) app.canvas.processMouseDown(event);
  });
  element.addEventListener("pointermove", (event) => {
    if (event.buttons & 4) app.canvas.processMouseMove(event);
  });
  element.addEventListener("pointerup", (event) => {
    if (event.button === 1) app.canvas.processMouseUp(event);
  });
}

/** The value of a setting; undefined where the host knows none. @param {string} id @returns {any} */
export const setting = (id) => app.extensionManager?.setting?.get(id);

/** @param {string} id @param {unknown} value */
export const setSetting = (id, value) => app.extensionManager?.setting?.set(id, value);

/** The language of the host's interface: "en", "zh", "zh-TW". */
export const locale = () => String(setting("Comfy.Locale") ?? "en");

/** Tells of a change of the language; a frontend that has no such event tells nothing. @param {() => void} handle */
export const listenToLanguage = (handle) => app.ui?.settings?.addEventListener?.("Comfy.Locale.change", handle);

/** Runs one of the host's commands. @param {string} id */
export const command = (id) => app.extensionManager?.command?.execute(id);

/** The host's settings page. */
export const openSettings = () => command("Comfy.ShowSettingsDialog");

/** @param {"info" | "warn" | "error" | "success"} severity @param {string} summary @param {string} detail */
export const toast = (severity, summary, detail) => app.extensionManager?.toast?.add({ severity, summary, detail, life: 8000 });

/**
 * A tab in the sidebar.
 * @param {{ id: string, title: string, tooltip: string, render: (place: HTMLElement) => void, destroy: () => void }} tab
 */
export function addTab(tab) {
  app.extensionManager?.registerSidebarTab?.({ ...tab, type: "custom", icon: "pi pi-gauge" });
}

/** The number on a tab's icon, and its tooltip. @param {string} id @param {{ badge: string | null, tooltip: string }} change */
export function setTab(id, { badge, tooltip }) {
  // The host's own copy of the tab: what is set there is shown at once.
  const tab = app.extensionManager?.getSidebarTabs?.().find((one) => one.id === id);
  if (!tab) return;
  const shown = badge ?? undefined;
  if (tab.iconBadge !== shown) tab.iconBadge = shown;
  if (tab.tooltip !== tooltip) tab.tooltip = tooltip;
}

/** Opens a tab, or closes it. @param {string} id */
export const toggleTab = (id) => command(`Workspace.ToggleSidebarTab.${id}`);

/**
 * Puts an element into the top bar, left of the Run button: the place that the host keeps for it.
 * @param {HTMLElement} element
 * @returns {boolean} whether there is such a place
 */
export function mountInTopBar(element) {
  const group = app.menu?.settingsGroup?.element;
  if (!group?.before) return false;
  group.before(element);
  return true;
}

/** Any node of the open workflow by its execution id. @param {unknown} executionId @returns {any} */
function anyNode(executionId) {
  const path = String(executionId ?? "").split(":");
  /** @type {any} */
  let graph = rootGraph();
  for (const step of path.slice(0, -1)) graph = graph?.getNodeById(step)?.subgraph;
  return graph?.getNodeById(path[path.length - 1]) ?? null;
}

/** What a node is called on the canvas; null: it is not in the open workflow. @param {unknown} executionId @returns {string | null} */
export const nodeTitle = (executionId) => anyNode(executionId)?.title ?? null;

/**
 * What a node of this class is called on the canvas; null where the open workflow has another node by that id, or none.
 * @param {unknown} executionId @param {unknown} type @returns {string | null}
 */
export function titleOfClass(executionId, type) {
  const node = anyNode(executionId);
  return node && (node.comfyClass ?? node.type) === type ? (node.title ?? null) : null;
}

/** Shows a node on the canvas and selects it. @param {unknown} executionId @returns {boolean} whether it is in the open workflow */
export function selectNode(executionId) {
  const node = anyNode(executionId);
  if (!node) return false;
  if (app.canvas.graph !== node.graph) app.canvas.setGraph?.(node.graph);
  app.canvas.deselectAll?.();
  app.canvas.selectNode?.(node);
  app.canvas.centerOnNode?.(node);
  return true;
}

/**
 * A GET route's JSON.
 * @param {string} route
 * @param {number} most  milliseconds
 * @returns {Promise<any>} rejects with the HTTP status where the server answers with an error
 */
export async function getJson(route, most) {
  const answer = await api.fetchApi(route, { signal: AbortSignal.timeout(most) });
  if (!answer.ok) throw Object.assign(new Error(`${route}: ${answer.status}`), { status: answer.status });
  return answer.json();
}

/**
 * A POST route's JSON; an error of the server is an answer too.
 * @param {string} route
 * @param {object} body
 * @returns {Promise<{ ok: boolean, status: number, answer: any }>}
 */
export async function postJson(route, body) {
  const headers = { "Content-Type": "application/json", "X-Headroom": "1" };
  const answer = await api.fetchApi(route, { method: "POST", headers, body: JSON.stringify(body) });
  const text = await answer.json().catch(() => ({ error: `HTTP ${answer.status}` }));
  return { ok: answer.ok, status: answer.status, answer: text };
}
