import assert from "node:assert/strict";
import { test } from "node:test";

import { isHttps, referenceIn } from "../../js/panel/warnings_body.mjs";
import { pieces } from "../../js/panel/warnings_command.mjs";

test("a command breaks between flags, and never between a flag and its value", () => {
  const command = "python main.py --cache-lru 4 --listen --reserve-vram 1.5 --fast";
  assert.deepEqual(pieces(command), ["python", "main.py", "--cache-lru 4", "--listen", "--reserve-vram 1.5", "--fast"]);
});

test("its pieces are the command to the letter, whatever is in it", () => {
  for (const command of ["", "docker restart NAME", "ollama ps | awk 'NR > 1 {print $1}' | xargs -r -n 1 ollama stop", "a  b", "--x"]) {
    assert.equal(pieces(command).join(" "), command);
  }
});

test("the link stands on the report that it leads to", () => {
  const source = "ComfyUI PR#13922; comfy/model_management.py 0.30.0, text_encoder_device";
  assert.equal(referenceIn(source, "https://github.com/Comfy-Org/ComfyUI/pull/13922"), "ComfyUI PR#13922");
  const two = "ComfyUI #1, #2; ComfyUI-KJNodes #632";
  assert.equal(referenceIn(two, "https://github.com/kijai/ComfyUI-KJNodes/issues/632"), "ComfyUI-KJNodes #632");
  assert.equal(referenceIn("ComfyUI #13", "https://github.com/Comfy-Org/ComfyUI/issues/1"), "ComfyUI #13");
  assert.equal(referenceIn("Ollama, FAQ", "https://example.org/faq"), "Ollama, FAQ");
});

test("only https becomes a link: anything else in the field stays text", () => {
  assert.equal(isHttps("https://github.com/x/y/issues/1"), true);
  for (const bad of ["http://github.com/x", "javascript:alert(1)", "data:text/html,x", "//github.com", "", null, undefined]) {
    assert.equal(isHttps(bad), false, String(bad));
  }
});
