// @ts-check
/** What "Copy report" copies: the snapshot as the server gave it, already without paths and keys, for an issue. Pure. */

import { gib } from "../format.mjs";

/**
 * Markdown: a summary for people in English, whatever the panel's language, and the JSON for tools.
 * @param {import("./store.mjs").View} view
 * @returns {string}
 */
export function reportText({ snapshot, advice, devices, unused, ram }) {
  if (!snapshot) return "";
  const { host } = snapshot;
  const versions = Object.entries(host.versions ?? {}).map(([name, version]) => `${name} ${version}`);
  const lines = [
    "### Headroom report",
    "",
    `- ComfyUI ${host.version ?? "n/a"} on ${host.platform ?? "n/a"}; ${versions.join(", ")}`,
    `- Arguments: \`${inCode((host.argv ?? []).join(" ")) || "none"}\``,
    `- Dynamic VRAM: ${host.dynamic_vram ? "on" : `off${host.dynamic_vram_reason ? ` (${host.dynamic_vram_reason})` : ""}`}`,
    ...devices.map((reading) => deviceLine(reading)),
    ...unused.map((reading) => `${deviceLine(reading)}; not used by ComfyUI`),
    `- RAM: ${divided(ram?.division)}${snapshot.ram.limit_source ? ` (${snapshot.ram.limit_source})` : ""}`,
    ...snapshot.models.map(
      (model) =>
        `- Loaded: ${model.name ?? model.class_name} (${model.kind}, ${model.dtype ?? "n/a"}, ${model.device ?? "n/a"}): ` +
        `${gib(model.resident_bytes)} of ${gib(model.size_bytes)} GiB resident`,
    ),
    ...advice.map((one) => `- ${one.severity}: ${one.title} (${one.id})`),
  ];
  const json = JSON.stringify({ ...snapshot, advice: advice.map((one) => one.id) }, null, 1);
  const fence = fenceFor(json);
  return [...lines, "", "<details><summary>Snapshot</summary>", "", `${fence}json`, json, fence, "</details>", ""].join("\n");
}

/** @param {import("./store.mjs").Reading} reading */
function deviceLine({ device, division }) {
  const driver = device.driver ? `, driver ${device.driver}` : "";
  return `- GPU ${device.index}: ${device.name} (${device.kind}${driver}): ${divided(division)}`;
}

/** @param {import("./memory.mjs").Division | undefined} division */
function divided(division) {
  if (!division) return "n/a";
  const { total, held, available, atLeast } = division;
  return `${gib(held)} held, ${atLeast ? "at least " : ""}${gib(available)} available of ${gib(total)} GiB`;
}

/** @param {string} text */
const inCode = (text) => text.replaceAll("`", "'");

/** A fence that the text does not hold. @param {string} text */
function fenceFor(text) {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map((match) => match[0].length));
  return "`".repeat(longest + 1);
}
