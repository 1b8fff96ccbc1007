// @ts-check
/** What this browser remembers of the panel: which sections are open and the like. Nothing where it keeps nothing. */

const PREFIX = "headroom.";

/** @param {() => Storage} storage @param {string} key @returns {any} */
function read(storage, key) {
  try {
    return JSON.parse(storage().getItem(PREFIX + key) ?? "null");
  } catch {
    return null;
  }
}

/** @param {() => Storage} storage @param {string} key @param {unknown} value */
function write(storage, key, value) {
  try {
    storage().setItem(PREFIX + key, JSON.stringify(value));
  } catch {
    // Full, or forbidden: then it is forgotten with the page.
  }
}

/** @param {string} key */
export const recall = (key) => read(() => localStorage, key);

/** @param {string} key @param {unknown} value */
export const remember = (key, value) => write(() => localStorage, key, value);

/** Until the tab is closed. @param {string} key */
export const recallSession = (key) => read(() => sessionStorage, key);

/** @param {string} key @param {unknown} value */
export const rememberSession = (key, value) => write(() => sessionStorage, key, value);
