/** Answers tests/core/flags/test_translations.py: reads a JSON question from stdin, writes the answer to stdout. */
import { readFileSync } from "node:fs";

import { adviceWords } from "../../js/strings/advice.mjs";
import { ADVICE_ZH, PHRASES_ZH } from "../../js/strings/advice.zh.mjs";
import { FIXES_ZH } from "../../js/strings/advice_failure.zh.mjs";
import { fill } from "../../js/strings/words.mjs";

const { advice, filled } = JSON.parse(readFileSync(0, "utf-8"));
const answer = {
  tables: { advice: ADVICE_ZH, fixes: FIXES_ZH, phrases: PHRASES_ZH },
  chinese: advice.map((one) => adviceWords(one, "zh", "0.30.0")),
  filled: filled.map(({ template, params }) => fill(template, params)),
};
process.stdout.write(JSON.stringify(answer));
