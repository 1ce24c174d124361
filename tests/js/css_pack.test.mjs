import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { pack, unpack } from "../../tutorlib/viz/js/css_pack.js";

const sheet = await readFile(new URL("../../tutorlib/viz/js/shell.css", import.meta.url), "utf8");

for (const [what, text] of [
  ["nothing", ""],
  ["a text without repeats", "abc"],
  ["overlapping repeats", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"],
  ["a text that uses odd characters itself", "#~!~#~!~À Á Â #~!~#~!~ À Á Â 😀😀😀😀 \"'\\` \"'\\`"],
  ["a style sheet", sheet],
]) {
  test(`${what} comes back as it was packed`, () => assert.equal(unpack(...pack(text)), text));
}

test("a style sheet takes less room packed", () => {
  const [packed, signs] = pack(sheet);
  assert.ok(Buffer.byteLength(packed + signs) < 0.7 * Buffer.byteLength(sheet));
});
