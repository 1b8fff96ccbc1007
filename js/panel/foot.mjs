// @ts-check
/** The panel's last lines: versions, and whether dynamic VRAM is really on. */

import { reason, t } from "../strings/index.mjs";
import { make, setText } from "./dom.mjs";
import { onChange } from "./unchanged.mjs";

/** @param {Document} document */
export function createFoot(document) {
  const [versions, dynamic] = [make(document, "span"), make(document, "span")];
  const element = make(document, "p", "hr-foot", versions, make(document, "br"), dynamic);

  /** @param {import("./store.mjs").View} view */
  function update({ snapshot, devices, unused }) {
    if (!snapshot) return;
    const { version, versions: found, dynamic_vram: on, dynamic_vram_reason: why } = snapshot.host;
    const driver = (devices.find(hasDriver) ?? unused.find(hasDriver))?.device.driver;
    writeVersions(version ?? "?", found?.torch ?? "?", driver ?? "");
    writeDynamic(on, why, found?.["comfy-aimdo"] ?? "?");
  }

  const writeVersions = onChange((/** @type {string} */ comfyui, /** @type {string} */ torch, /** @type {string} */ driver) => {
    const parts = [t("foot.versions", { comfyui }), `torch ${torch}`, ...(driver ? [t("foot.driver", { driver })] : [])];
    setText(versions, parts.join(", "));
  });
  const writeDynamic = onChange((/** @type {boolean | null} */ on, /** @type {string | null} */ why, /** @type {string} */ aimdo) =>
    setText(dynamic, dynamicText(on, why, aimdo)),
  );

  return { element, update };
}

/** @param {import("./store.mjs").Reading} reading */
const hasDriver = ({ device }) => Boolean(device.driver);

/** @param {boolean | null | undefined} on @param {string | null} why @param {string} aimdo its version */
function dynamicText(on, why, aimdo) {
  if (on === null || on === undefined) return "";
  if (on) return t("foot.dynamic.on", { aimdo });
  return why ? t("foot.dynamic.off.why", { why: reason(why) }) : t("foot.dynamic.off");
}
