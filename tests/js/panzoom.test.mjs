import assert from "node:assert/strict";
import { test } from "node:test";
import { about, fit, follow, LARGEST, relative, reveal, zoomAt } from "../../tutorlib/viz/js/panzoom.js";

const place = (view, [x, y]) => [view.k * x + view.x, view.k * y + view.y];

test("fit shows the whole picture in the middle", () => {
  const view = fit([1000, 500], [520, 520], { pad: 10 });
  assert.deepEqual(place(view, [0, 0]), [10, 135]);
  assert.deepEqual(place(view, [1000, 500]), [510, 385]);
});

test("a small picture is not blown up without bound", () => {
  assert.equal(fit([10, 10], [1000, 1000], { largest: 1.5 }).k, 1.5);
});

test("zooming keeps the point under the pointer in its place", () => {
  const before = { k: 1, x: 40, y: -10 };
  const after = zoomAt(before, [200, 100], 1.5);
  const point = [(200 - before.x) / before.k, (100 - before.y) / before.k];
  assert.deepEqual(place(after, point).map(Math.round), [200, 100]);
});

test("zoom stops at its limit without drifting", () => {
  const view = zoomAt({ k: LARGEST, x: 7, y: 9 }, [200, 100], 2);
  assert.deepEqual(view, { k: LARGEST, x: 7, y: 9 });
});

test("reveal moves only when it must, and as little as it can", () => {
  const view = { k: 1, x: 0, y: 0 };
  assert.equal(reveal(view, [50, 50, 20, 20], [200, 200]), view);
  assert.deepEqual(reveal(view, [300, 50, 20, 20], [200, 200], 10), { k: 1, x: -130, y: 0 });
});

test("a view that follows looks at the same share of a picture of another size", () => {
  const there = relative({ k: 2, x: 0, y: 0 }, [200, 100], [100, 100]);
  assert.deepEqual([there.x, there.y], [0.125, 0.25]);
  const here = follow(there, [400, 400], [100, 100]);
  assert.deepEqual(place(here, [50, 100]).map(Math.round), [50, 50]);
});

test("two views at the fitting zoom stay fitting", () => {
  const [size, box] = [[300, 200], [640, 480]];
  const whole = fit(size, box);
  const again = follow(relative(whole, size, box), size, box);
  for (const key of ["k", "x", "y"]) assert.ok(Math.abs(again[key] - whole[key]) < 1e-9);
});

test("a first look puts a box in the middle and leaves no more empty beside the picture than need be", () => {
  const middle = about([900, 400, 100, 50], [2000, 1000], [600, 300], 1);
  assert.deepEqual(place(middle, [950, 425]), [300, 150]);
  assert.equal(about([0, 0, 100, 50], [2000, 1000], [600, 300], 1).x, 16);
  assert.deepEqual(place(about([1900, 950, 100, 50], [2000, 1000], [600, 300], 1), [2000, 1000]), [584, 284]);
  assert.equal(about([0, 0, 100, 50], [400, 1000], [600, 300], 1).x, 100);
});
