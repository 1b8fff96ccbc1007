// @ts-check
/** The row under the chart with one block per node that ran: its name if it fits, the running one ringed. */

import { place } from "./chart.mjs";
import { keyed, make, setStyle, setText } from "./dom.mjs";

/** Narrower than this share of the width a block cannot be told from its neighbours. */
const LEAST_SHARE = 0.004;

/** @typedef {import("./history.mjs").NodeSpan} NodeSpan */

/** @param {Document} document */
export function createLane(document) {
  const element = make(document, "div", "hr-lane");
  /** @type {Map<string, any>} */
  const known = new Map();

  /** @param {NodeSpan[]} nodes @param {number} from @param {number} to @param {NodeSpan | null} peak */
  function update(nodes, from, to, peak) {
    const blocks = nodes
      .map((node) => ({ node, start: place(node.from, from, to), end: place(node.to ?? to, from, to) }))
      .filter(({ node, start, end }) => end - start >= LEAST_SHARE || node.to === null || node === peak);
    keyed(
      element,
      blocks,
      ({ node }) => `${node.id} ${node.from}`,
      () => {
        const block = make(document, "div", "nd");
        return {
          element: block,
          update: ({ node, start, end }) => {
            setText(block, node.title);
            block.title = node.title;
            setStyle(block, "--x", `${(start * 100).toFixed(2)}%`);
            setStyle(block, "--w", `${((end - start) * 100).toFixed(2)}%`);
            block.classList.toggle("run", node.to === null);
            block.classList.toggle("pk", node === peak);
          },
        };
      },
      known,
    );
  }

  return { element, update };
}
