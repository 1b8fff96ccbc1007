// @ts-check
/**
 * When to ask the server: only while somebody looks, one question at a time, less often where it is slow or fails.
 * Clock, timer and question are given, so that this is tested without waiting.
 */

const MOST_DELAY_MS = 30_000;
/** A server that needs this share of the time for answers is asked less often. */
const MOST_SHARE = 0.2;

/**
 * @typedef {object} Parts
 * @property {() => Promise<any>} ask  rejects where there is no answer
 * @property {() => number} now  ms
 * @property {(run: () => void, ms: number) => any} setTimer
 * @property {(timer: any) => void} clearTimer
 * @property {(answer: any) => void} onAnswer
 * @property {(error: any, nextAt: number) => void} onFailure
 * @property {(fault: unknown) => void} onFault  of the two above
 */

export class Poller {
  #parts;
  #interval = 1000;
  #wanted = false;
  #busy = false;
  #again = false;
  #failures = 0;
  /** @type {any} */
  #timer = null;

  /** @param {Parts} parts */
  constructor(parts) {
    this.#parts = parts;
  }

  /** Milliseconds between two questions while all is well. @param {number} ms */
  set interval(ms) {
    if (ms === this.#interval) return;
    const faster = ms < this.#interval;
    this.#interval = ms;
    if (faster && this.#timer !== null && !this.#failures) this.#plan(ms);
  }

  /** Whether somebody looks; the first look asks at once. @param {boolean} wanted */
  set wanted(wanted) {
    if (wanted === this.#wanted) return;
    this.#wanted = wanted;
    if (wanted) this.askNow();
    else this.#cancel();
  }

  get wanted() {
    return this.#wanted;
  }

  /** Asks without waiting for the time to come; where an answer is awaited, right after it. */
  askNow() {
    if (!this.#wanted) return;
    if (this.#busy) {
      this.#again = true;
      return;
    }
    this.#cancel();
    this.#ask();
  }

  async #ask() {
    this.#busy = true;
    const began = this.#parts.now();
    let answer = null;
    let failure = null;
    try {
      answer = await this.#parts.ask();
    } catch (error) {
      failure = error ?? new Error("no answer");
    }
    this.#busy = false;
    const again = this.#again;
    this.#again = false;
    this.#failures = failure ? this.#failures + 1 : 0;
    const delay = this.#delay(this.#parts.now() - began);
    if (this.#wanted) this.#plan(again && !failure ? 0 : delay);
    try {
      if (failure) this.#parts.onFailure(failure, this.#parts.now() + delay);
      else this.#parts.onAnswer(answer);
    } catch (fault) {
      // In the drawing: it does not end the asking.
      this.#parts.onFault(fault);
    }
  }

  /** From question to question, but never more than a share of the server's time. @param {number} took ms */
  #delay(took) {
    const wanted = this.#failures
      ? this.#interval * 2 ** this.#failures
      : Math.max(this.#interval - took, took / MOST_SHARE - took, 0);
    return Math.min(wanted, MOST_DELAY_MS);
  }

  /** @param {number} ms */
  #plan(ms) {
    this.#cancel();
    this.#timer = this.#parts.setTimer(() => {
      this.#timer = null;
      this.#ask();
    }, ms);
  }

  #cancel() {
    if (this.#timer === null) return;
    this.#parts.clearTimer(this.#timer);
    this.#timer = null;
  }
}
