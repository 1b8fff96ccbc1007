// @ts-check
/** All that the panel and the meter show, in one state object; made from the server's answers and the host's events. Pure. */

import { History } from "./history.mjs";
import { Levels } from "./levels.mjs";
import { divideDevice, divideRam, spilledBytes } from "./memory.mjs";
import { IDLE, atNode, named, progressed, started } from "./run_state.mjs";
import { IGNORED, limitsFrom } from "./settings.mjs";
import { SteadyPrograms } from "./steady.mjs";
import { unchanged } from "./unchanged.mjs";

/**
 * @typedef {import("./types.mjs").Device} Device
 * @typedef {import("./types.mjs").Snapshot} Snapshot
 * @typedef {import("./types.mjs").Advice} Advice
 *
 * One GPU as it is shown.
 * @typedef {object} Reading
 * @property {string} key  the same for the same card
 * @property {Device} device
 * @property {import("./memory.mjs").Division} division
 * @property {import("./levels.mjs").Level} level
 * @property {number | null} peak  most in use since the last reset
 * @property {boolean} lost  the driver does not answer for it
 * @property {number | null} lostSince  ms
 * @property {boolean} used  ComfyUI uses it
 * @property {{ name: string, used_bytes: number | null }[]} programs  those worth a line
 *
 * `first`: nothing came yet; `live`; `lost`: no answer, what is shown is old; `absent`: this server has no such route.
 * @typedef {object} Connection
 * @property {"first" | "live" | "lost" | "absent"} state
 * @property {number | null} at  ms of the last answer
 * @property {number | null} nextAt  ms of the next try
 *
 * The RAM as it is shown. `shared`: a GPU has no other memory, and shows it already.
 * @typedef {{ ram: import("./types.mjs").Ram, division: import("./memory.mjs").Division,
 *   level: import("./levels.mjs").Level, shared: boolean }} RamReading
 *
 * Devices, models, advice, failure and last run are the same objects as before while they are equal (unchanged.mjs).
 * @typedef {object} View
 * @property {number} now  ms
 * @property {Connection} connection
 * @property {Snapshot | null} snapshot
 * @property {Advice[]} advice
 * @property {string[]} ignored  ids of dismissed warnings
 * @property {Reading[]} devices  GPUs that ComfyUI uses
 * @property {Reading[]} unused  GPUs that it does not
 * @property {RamReading | null} ram
 * @property {string | null} failedNode  what the node of the last failure is called on the canvas
 * @property {string | null} otherNode  what the node is called that runs for another browser or program
 * @property {import("./run_state.mjs").Run} run
 * @property {History} history
 */

/** The reason that stands for a whole card, and what the driver says of one that fell off the bus. */
const WHOLE_CARD = "device";
const FELL_OFF = "the driver has lost the card";
/** So many answers in a row are believed against the host's events: the first may be older than the last event. */
const SURE_ANSWERS = 2;
/** @type {Advice[]} */
const NO_ADVICE = [];

/**
 * What is not drawn again while it is the same; the rest changes with each answer, or is long and hardly used.
 * @param {Snapshot} before
 * @param {Snapshot} now
 */
function keepEqual(before, now) {
  now.devices = unchanged(before.devices, now.devices);
  now.unused_devices = unchanged(before.unused_devices, now.unused_devices);
  now.models = unchanged(before.models, now.models);
  now.last_run = unchanged(before.last_run, now.last_run);
  now.failure = unchanged(before.failure, now.failure);
  now.advice = unchanged(before.advice, now.advice);
}

export class Store {
  #get;
  #titleOf;
  #levels = new Levels();
  /** @type {import("./levels.mjs").Limits} */
  #limits;
  /** @type {Map<string, number>} */
  #peaks = new Map();
  /** Since when, ms. @type {Map<string, number>} */
  #lost = new Map();
  /** @type {Set<string>} */
  #readable = new Set();
  /** @type {Map<string, SteadyPrograms>} */
  #programs = new Map();
  #idleAnswers = 0;
  #busyAnswers = 0;
  /** When the run was last known to go on, ms. */
  #activeAt = 0;
  /** @type {View} */
  view;

  /**
   * @param {(key: string) => unknown} get settings
   * @param {number} now ms
   * @param {(executionId: unknown, type: unknown) => string | null} [titleOf] what a node is called on the canvas
   */
  constructor(get, now, titleOf = () => null) {
    this.#get = get;
    this.#titleOf = titleOf;
    this.#limits = limitsFrom(get);
    this.view = {
      now,
      connection: { state: "first", at: null, nextAt: null },
      snapshot: null,
      advice: NO_ADVICE,
      ignored: [],
      devices: [],
      unused: [],
      ram: null,
      failedNode: null,
      otherNode: null,
      run: IDLE,
      history: new History(),
    };
    this.settingsChanged();
  }

  /** Called when the host tells of a change: to ask it at each reading takes longer than all the rest. */
  settingsChanged() {
    this.#limits = limitsFrom(this.#get);
    const ignored = this.#get(IGNORED);
    this.view.ignored = Array.isArray(ignored) ? ignored.map(String) : [];
  }

  /** An answer of GET /headroom/snapshot?advice=1; it is kept, and changed. @param {Snapshot} snapshot @param {number} now */
  received(snapshot, now) {
    const { view } = this;
    const { failure } = view.snapshot ?? {};
    if (view.snapshot) keepEqual(view.snapshot, snapshot);
    view.now = now;
    view.connection = { state: "live", at: now, nextAt: null };
    view.snapshot = snapshot;
    view.advice = snapshot.advice ?? NO_ADVICE;
    this.#nameFailure(snapshot.failure === failure);
    this.#followServer(snapshot, now);
    const used = snapshot.devices.filter((device) => device.kind !== "cpu");
    view.devices = unchanged(view.devices, used.map((device) => this.#reading(device, snapshot, now, true)));
    const unused = snapshot.unused_devices.map((device) => this.#reading(device, snapshot, now, false));
    view.unused = unchanged(view.unused, unused);
    const division = divideRam(snapshot.ram);
    view.ram = unchanged(view.ram, {
      ram: snapshot.ram,
      division,
      level: this.#levels.update("ram", { left: division.available, total: division.total }, this.#limits, now),
      shared: view.devices.length > 0 && view.devices.every((reading) => reading.device.unified),
    });
    view.history.add(this.#sample(now));
  }

  /** The server knows best what runs: another browser's prompt, or the end of ours that was missed. @param {Snapshot} snapshot @param {number} now */
  #followServer(snapshot, now) {
    const { view } = this;
    const idle = snapshot.host.running === false;
    this.#idleAnswers = idle ? this.#idleAnswers + 1 : 0;
    this.#busyAnswers = idle || view.run.running ? 0 : this.#busyAnswers + 1;
    if (!idle) this.#activeAt = now;
    else if (view.run.running && this.#idleAnswers >= SURE_ANSWERS) this.runEnded(Math.min(now, this.#activeAt));
    const node = snapshot.running_node ?? null;
    const title = node && (this.#titleOf(node.id, node.type) ?? node.type);
    const other = this.#busyAnswers >= SURE_ANSWERS;
    view.otherNode = other ? title : null;
    // What runs for others has no events here.
    if (!view.run.running) view.history.startNode(other && node ? node.id : null, title ?? "", now);
    else if (node && title && node.id === view.run.nodeId && title !== view.run.nodeTitle) this.#rename(title);
  }

  /** An event names a node by its id alone, and another workflow can be open than the one that runs. @param {string} title */
  #rename(title) {
    this.view.run = named(this.view.run, title);
    this.view.history.rename(title);
  }

  /** Once it has a name that stays: the workflow can be closed, or not be open yet. @param {boolean} same failure as before */
  #nameFailure(same) {
    const { failure } = this.view.snapshot ?? {};
    const known = same ? this.view.failedNode : null;
    this.view.failedNode = failure ? (known ?? this.#titleOf(failure.node_id, failure.node_type)) : null;
  }

  /** No answer. @param {number | null} status of HTTP, null without one @param {number} now @param {number} nextAt */
  failed(status, now, nextAt) {
    const { view } = this;
    view.now = now;
    view.connection = { state: status === 404 ? "absent" : "lost", at: view.connection.at, nextAt };
  }

  /** The clock went on. @param {number} now */
  tick(now) {
    this.view.now = now;
  }

  /** A prompt of this browser starts. @param {string} id @param {number} now */
  runStarted(id, now) {
    this.view.run = started(id);
    this.view.history.startRun(id, now);
    this.#idleAnswers = 0;
    this.#activeAt = now;
  }

  /** It reaches a node; null: it is over. @param {string | null} id @param {string} title @param {number} now */
  nodeStarted(id, title, now) {
    this.#activeAt = now;
    this.view.run = atNode(this.view.run, id, title);
    this.view.history.startNode(id, title, now);
    if (id === null) this.view.history.endRun(now);
  }

  /** @param {number} value @param {number} max */
  progressed(value, max) {
    this.view.run = progressed(this.view.run, value, max);
  }

  /** @param {number} now */
  runEnded(now) {
    this.view.run = IDLE;
    this.view.history.endRun(now);
  }

  /** Forgets the peak of a device. @param {string} key */
  resetPeak(key) {
    this.#peaks.delete(key);
    /** @param {Reading} reading */
    const reset = (reading) => (reading.key === key ? { ...reading, peak: this.#peak(key, reading.device.used_bytes) } : reading);
    this.view.devices = this.view.devices.map(reset);
    this.view.unused = this.view.unused.map(reset);
  }

  /** @param {Device} device @param {Snapshot} snapshot @param {number} now @param {boolean} used @returns {Reading} */
  #reading(device, snapshot, now, used) {
    const key = device.uuid ?? device.pci ?? `${used ? "" : "unused "}${device.kind}:${device.index}`;
    const division = divideDevice(device, used ? snapshot.models : []);
    const lost = this.#isLost(key, device);
    if (!lost) this.#lost.delete(key);
    else if (!this.#lost.has(key)) this.#lost.set(key, now);
    const programs = this.#programs.get(key) ?? new SteadyPrograms();
    this.#programs.set(key, programs);
    return {
      key,
      device,
      division,
      level: used ? this.#level(key, device, division, now) : "ok",
      peak: this.#peak(key, device.used_bytes),
      lost,
      lostSince: this.#lost.get(key) ?? null,
      used,
      programs: programs.update(device.programs),
    };
  }

  /** @param {string} key @param {Device} device @param {import("./memory.mjs").Division} division @param {number} now */
  #level(key, device, { available, total, atLeast }, now) {
    const room = { left: available, total, atLeast, spilled: spilledBytes(device) !== null };
    return this.#levels.update(key, room, this.#limits, now);
  }

  /** A card that never could be read is not lost: there is no driver to ask. @param {string} key @param {Device} device */
  #isLost(key, device) {
    if (device.free_bytes !== null) this.#readable.add(key);
    const why = device.reasons[WHOLE_CARD];
    return device.free_bytes === null && why !== undefined && (why === FELL_OFF || this.#readable.has(key));
  }

  /** @param {string} key @param {number | null} used */
  #peak(key, used) {
    const before = this.#peaks.get(key) ?? null;
    if (used === null) return before;
    const peak = Math.max(before ?? 0, used);
    this.#peaks.set(key, peak);
    return peak;
  }

  /** @param {number} now @returns {import("./history.mjs").Sample} */
  #sample(now) {
    const { devices, ram, snapshot } = this.view;
    /** @type {import("./history.mjs").Sample["devices"]} */
    const points = {};
    for (const { key, device, division } of devices) {
      const { weights, working } = division.parts;
      const held = division.held;
      const kept = (weights ?? 0) + (working ?? 0);
      points[key] = {
        held,
        used: device.used_bytes,
        weights: weights ?? 0,
        working: working ?? 0,
        other: held === null ? 0 : Math.max(0, held - kept),
        total: division.total,
      };
    }
    const division = ram?.division;
    return {
      at: now,
      devices: points,
      ram: { own: snapshot?.ram.own_bytes ?? null, held: division?.held ?? null, total: division?.total ?? null },
    };
  }
}
