// @ts-check
/** Headroom in the browser. The host loads this file by itself; everything else here is a module that it imports. */

import { isOurs, registerExtension } from "./host.mjs";
import { addReport, followRuns, restoreReports } from "./node_report.mjs";
import * as live from "./panel/live.mjs";
import { SETTINGS } from "./panel/settings.mjs";

const styles = document.createElement("link");
styles.rel = "stylesheet";
// Relative to this file: the pack's folder can have any name.
styles.href = new URL("./headroom.css", import.meta.url).href;
document.head.append(styles);

registerExtension({
  name: "Headroom.Pack",
  settings: SETTINGS.map((setting) => ({ ...setting, onChange: live.settingsChanged })),
  setup() {
    followRuns();
    live.begin();
  },
  /** @param {any} node */
  nodeCreated(node) {
    if (isOurs(node)) addReport(node);
  },
  // An undo makes all nodes anew and keeps the host's outputs; a change of tabs replaces the outputs afterwards.
  afterConfigureGraph: () => restoreReports(),
  onNodeOutputsUpdated: restoreReports,
});
