import assert from "node:assert/strict";
import { test } from "node:test";
import { decode, diverging, symmetric } from "../../tutorlib/viz/js/colours.js";
import { keyName, usesKey } from "../../tutorlib/viz/js/keyguard.js";
import { translator } from "../../tutorlib/viz/js/messages.js";
import { makeSync } from "../../tutorlib/viz/js/sync.js";

test("messages fill their fields, and a missing one shows its id", () => {
  const t = translator({ "widgets.ui_count": "{at} of {all}" });
  assert.equal(t("ui_count", { at: 2, all: 9 }), "2 of 9");
  assert.equal(t("ui_unknown"), "ui_unknown");
});

test("field values are not themselves searched for fields", () => {
  const t = translator({ "widgets.ui_x": "{a}{b}" });
  assert.equal(t("ui_x", { a: "{b}", b: "!" }), "{b}!");
});

test("text fields, sliders and buttons keep the keys they use", () => {
  assert.equal(usesKey({ tagName: "INPUT", type: "search" }, "b"), true);
  assert.equal(usesKey({ tagName: "INPUT", type: "search" }, "Escape"), false);
  assert.equal(usesKey({ tagName: "INPUT", type: "range" }, "ArrowLeft"), true);
  assert.equal(usesKey({ tagName: "INPUT", type: "range" }, "."), false);
  assert.equal(usesKey({ tagName: "BUTTON" }, " "), true);
  assert.equal(usesKey({ tagName: "DIV" }, " "), false);
});

test("Shift names a key only where it does not already change the character", () => {
  assert.equal(keyName({ key: "ArrowLeft", shiftKey: true }), "Shift+ArrowLeft");
  assert.equal(keyName({ key: "?", shiftKey: true }), "?");
});

test("zero is near white, the ends are orange and purple", () => {
  assert.deepEqual(diverging(127), [0xf7, 0xf7, 0xf7]);
  assert.deepEqual(diverging(0), [0xb3, 0x58, 0x06]);
  assert.deepEqual(diverging(254), [0x54, 0x27, 0x88]);
});

test("a one-sided thumbnail is recoloured around zero, and 255 stays what is not finite", () => {
  assert.deepEqual([...symmetric(Uint8Array.of(0, 254, 255), 0, 2)], [127, 254, 255]);
  assert.deepEqual([...decode({ data: btoa("\x00\xff") })], [0, 255]);
});

test("many changes in a moment reach Python as one, the last", async () => {
  const sent = [];
  const model = { set: (name, value) => sent.push([name, value]), save_changes: () => sent.push("save") };
  const sync = makeSync(model);
  sync.set("step", 1);
  sync.set("step", 2);
  assert.equal(sync.pending("step"), true);
  sync.flush();
  assert.deepEqual(sent, [["step", 2], "save"]);
});
