import assert from "node:assert/strict";
import { test } from "node:test";
import { arrowhead, fitText, labelParts, smooth } from "../../tutorlib/viz/js/geometry.js";

const numbersIn = (d) => d.match(/-?\d+(\.\d+)?/g).map(Number);

test("a straight edge stays a straight line", () => {
  assert.equal(smooth([[5, 0], [5, 40]]).d, "M5 0L5 40");
});

test("an oblique edge leaves and arrives upright and stays between its ends", () => {
  const { d, tip, from } = smooth([[0, 0], [30, 40]]);
  assert.equal(d, "M0 0C0 20 30 20 30 40");
  assert.deepEqual(tip, [30, 40]);
  assert.equal(from[0], 30);
});

test("an oblique stretch between level ones bends level", () => {
  const { d } = smooth([[0, 0], [10, 0], [30, 20], [50, 20]]);
  assert.match(d, /C20 0 20 20 30 20/);
});

test("a corner is rounded within its two stretches", () => {
  const { d } = smooth([[0, 0], [0, 100], [100, 100]]);
  assert.equal(d, "M0 0L0 90Q0 100 10 100L100 100");
});

test("no curve leaves the box around the polyline", () => {
  const points = [[0, 0], [0, 10], [-40, 30], [-40, 60], [80, 60], [80, 90]];
  const [xs, ys] = [points.map((p) => p[0]), points.map((p) => p[1])];
  const numbers = numbersIn(smooth(points).d);
  numbers.forEach((value, i) => {
    const [lo, hi] = i % 2 ? [Math.min(...ys), Math.max(...ys)] : [Math.min(...xs), Math.max(...xs)];
    assert.ok(value >= lo && value <= hi, `${value} outside ${lo}…${hi}`);
  });
});

test("an arrowhead ends at the tip and lies behind it", () => {
  const d = arrowhead({ tip: [10, 50], from: [10, 0] }, { size: 8 });
  assert.equal(d, "M6.6 42L10 50L13.4 42Z");
});

test("the axes of a label that have a mark stand alone", () => {
  const marked = labelParts("(1, 10)", { 0: "wide", 1: "wrong" }).filter((part) => part.kind);
  assert.deepEqual(marked, [{ text: "1", kind: "wide" }, { text: "10", kind: "wrong" }]);
  assert.equal(labelParts("(2,)", { 0: "wide" }).map((part) => part.text).join(""), "(2,)");
  assert.equal(labelParts("(2, 3)").length, 1);
});

test("a long text is cut with an ellipsis and a short one is not", () => {
  assert.equal(fitText("abc", 100, 12), "abc");
  assert.equal(fitText("abcdefghijklmnop", 50, 12), "abcdef…");
});
