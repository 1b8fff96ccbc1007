// @ts-check
/** The panel's sections in their order: a new one is one line here, its module and its texts (`section.<id>`). */

import * as failure from "./failure.mjs";
import * as models from "./models.mjs";
import * as now from "./now.mjs";
import * as timeline from "./timeline.mjs";
import * as warnings from "./warnings.mjs";

/**
 * What a section is given.
 * @typedef {object} Context
 * @property {Document} document
 * @property {(key: string) => any} get  one of the pack's settings, or what this browser remembers
 * @property {(key: string, value: unknown) => void} set
 * @property {(level: "info" | "warn" | "error" | "success", summary: string, detail: string) => void} toast
 * @property {(id: string) => void} command  runs a command of the host
 * @property {(name: string, handle: (detail: any) => void) => void} listen  to an event of the host
 * @property {(executionId: string) => boolean} selectNode  shows a node on the canvas; false: it is not in the open workflow
 * @property {(text: string) => Promise<boolean>} copy  to the clipboard
 * @property {(route: string, body: object) => Promise<{ ok: boolean, status: number, answer: any }>} act  POST /headroom/<route>
 * @property {(key: string) => void} resetPeak  of one GPU
 * @property {() => void} refresh  asks the server now
 * @property {() => void} redraw  draws the panel again with what is known
 *
 * What it makes. The frame around it (heading, folding) is the panel's. `update` returns false when the section has
 * nothing to show: then it is hidden, heading included. `fact` is what stands right in the heading: a text, or parts
 * with a label for screen readers. `foot` stands at the panel's foot, also where the section is hidden.
 * @typedef {object} Section
 * @property {HTMLElement} element
 * @property {HTMLElement} [foot]
 * @property {(view: import("./store.mjs").View) => boolean} update
 * @property {(view: import("./store.mjs").View) => string | { label: string, parts: (string | Node)[] }} [fact]
 *
 * @typedef {{ id: string, create: (context: Context) => Section }} SectionModule
 */

/** @type {SectionModule[]} */
export const SECTIONS = [failure, now, warnings, timeline, models];
