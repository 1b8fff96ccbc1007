// @ts-check
/** The one door to ComfyUI's frontend: no other module here names its app, its api or its nodes' methods. */

// @ts-ignore served by the host beside this folder
import { app } from "../../scripts/app.js";
// @ts-ignore
import { api } from "../../scripts/api.js";

/** Registers the pack's extension; its name must be unique among all packs. @param {Record<string, unknown>} extension */
export const registerExtension = (extension) => app.registerExtension(extension);

/**
 * Listens to an event of the host or of our server side.
 * @param {string} name
 * @param {(detail: any) => void} handle
 */
export function listen(name, handle) {
  api.addEventListener(name, (/** @type {CustomEvent} */ event) => handle(event.detail));
}

/** @param {any} node */
export const isOurs = (node) => typeof node?.comfyClass === "string" && node.comfyClass.startsWith("Headroom");

/** The open workflow's graph; null before the host has made one (asking then is an error in its console). */
const rootGraph = () => (app.isGraphReady === false ? null : (app.rootGraph ?? app.graph));

/**
 * Our node with this execution id, null if it is not in the open workflow. The id of a node inside subgraphs is the
 * path to it: "5:12" is node 12 in the subgraph that is node 5.
 * @param {unknown} executionId
 */
export function ourNode(executionId) {
  const path = String(executionId ?? "").split(":");
  let graph = rootGraph();
  for (const step of path.slice(0, -1)) graph = graph?.getNodeById(step)?.subgraph;
  const node = graph?.getNodeById(path[path.length - 1]);
  return isOurs(node) ? node : null;
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
    for (const node of graph.nodes ?? []) {
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
