// @ts-check
/** The panel's last lines: versions, and whether dynamic VRAM is really on. */

import { t } from "../strings/index.mjs";
import { make, setText } from "./dom.mjs";

/** @param {Document} document */
export function createFoot(document) {
  const [versions, dynamic] = [make(document, "span"), make(document, "span")];
  const element = make(document, "p", "hr-foot", versions, make(document, "br"), dynamic);

  /** @param {import("./store.mjs").View} view */
  function update({ snapshot, devices, unused }) {
    if (!snapshot) return;
    const { host } = snapshot;
    const driver = [...devices, ...unused].map((reading) => reading.device.driver).find(Boolean);
    const parts = [
      t("foot.versions", { comfyui: host.version ?? "?" }),
      `torch ${host.versions?.torch ?? "?"}`,
      ...(driver ? [t("foot.driver", { driver })] : []),
    ];
    setText(versions, parts.join(", "));
    setText(dynamic, dynamicText(host));
  }

  return { element, update };
}

/** @param {Record<string, any>} host */
function dynamicText({ dynamic_vram: on, dynamic_vram_reason: why, versions }) {
  if (on === null || on === undefined) return "";
  if (on) return t("foot.dynamic.on", { aimdo: versions?.["comfy-aimdo"] ?? "?" });
  return why ? t("foot.dynamic.off.why", { why }) : t("foot.dynamic.off");
}
