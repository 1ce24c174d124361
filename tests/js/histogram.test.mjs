import assert from "node:assert/strict";
import { test } from "node:test";
import { barHeights } from "../../tutorlib/viz/js/histogram.js";

test("the tallest count fills the room and the others keep their share of it", () => {
  assert.deepEqual(barHeights([10, 5, 0], 10, 80), [80, 40, 0]);
});

test("one number among a million is still a bar, none is no bar", () => {
  assert.deepEqual(barHeights([1, 0, 1e6], 1e6, 80), [2, 0, 80]);
});

test("nothing at all is no bars, without a division by zero", () => {
  assert.deepEqual(barHeights([0, 0], 0, 80), [0, 0]);
});
