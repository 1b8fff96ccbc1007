/** Answers tests/core/test_panel_available.py: reads devices with their models from stdin, writes each one's division. */
import { readFileSync } from "node:fs";

import { divideDevice } from "../../js/panel/memory.mjs";

const devices = JSON.parse(readFileSync(0, "utf-8"));
process.stdout.write(JSON.stringify(devices.map(({ device, models }) => divideDevice(device, models))));
