import assert from "node:assert/strict";
import { test } from "node:test";
import * as shared from "../../tutorlib/viz/js/shared_model.js";
import { linePath, logarithms, rangeOf, spread } from "../../tutorlib/viz/js/sparkline.js";

const number = (value, more = {}) => ({ shape: [], text: String(value), table: null, stats: { size: 1, mean: value, nan: 0, inf: 0, ...more } });
const frame = (update, by, value, delta) => ({
  update, by, marks: [], values: { s: value }, delta: delta ? { s: delta } : {}, norm: { s: 1 }, change: { s: 0.5 }, returned: null,
});
const counter = {
  variables: [{ id: "s", name: "state", shape: [], dtype: "int64" }],
  frames: [frame(0, "start", "a"), frame(1, "add", "b", "d"), frame(2, "set_value", "c", "e")],
  values: { a: number(2), b: number(3), d: number(1), c: number(-4), e: number(-7) },
};
const [state] = counter.variables;

test("one number's line is the number, with its sign, not its norm", () => {
  assert.deepEqual(shared.levels(counter, state), [2, 3, -4]);
});

test("an update reads as arithmetic, a negative step as a subtraction", () => {
  assert.deepEqual(shared.arithmetic(shared.momentOf(counter, state, 1)), [{ before: "2", sign: "+", step: "1", after: "3" }]);
  assert.deepEqual(shared.arithmetic(shared.momentOf(counter, state, 2)), [{ before: "3", sign: "−", step: "7", after: "-4" }]);
});

test("the first frame has no arithmetic, and a large variable none that fits", () => {
  assert.equal(shared.arithmetic(shared.momentOf(counter, state, 0)), null);
  const big = { ...number(1), stats: { size: 7 } };
  assert.equal(shared.arithmetic({ now: big, delta: big, before: big }), null);
});

test("set_value, marks and NaN become ticks, and PgUp and PgDn find them", () => {
  const spec = structuredClone(counter);
  spec.frames[1].marks = ["epoch 1"];
  spec.frames[2].event = "nan";
  assert.deepEqual(shared.ticks(spec).map((tick) => [tick.frame, tick.kind]), [[1, "mark"], [2, "nan"]]);
  assert.equal(shared.eventFrom(spec, 1, 1), 2);
  assert.equal(shared.eventFrom(spec, 1, -1), null);
});

test("a change that is not a number is a dash, not zero", () => {
  assert.equal(shared.percent(0.0042), "0.42 %");
  assert.equal(shared.percent("NaN"), "–");
  assert.equal(shared.percent(undefined), "–");
});

test("a NaN is a gap in the line, and a lone number a dot", () => {
  assert.equal(linePath([0, null, 1], [0, 0, 10, 10]), "M0 10h0.01M10 0h0.01");
  assert.equal(linePath([0, 1], [0, 0, 10, 10]), "M0 10L10 0");
});

test("a few numbers are drawn each as a line of its own, with its place as its name", () => {
  const pair = (numbers) => ({ shape: [2], text: "", table: [numbers], stats: { size: 2, nan: 0, inf: 0 } });
  const spec = {
    variables: [{ id: "s", name: "w", shape: [2], dtype: "float64" }],
    frames: [frame(0, "start", "a"), frame(1, "step", "b")],
    values: { a: pair(["1", "-2.5"]), b: pair(["nan", "1e-05"]) },
  };
  assert.deepEqual(shared.lines(spec, spec.variables[0]), [
    { name: "[0]", series: [1, null] }, { name: "[1]", series: [-2.5, 1e-5] },
  ]);
});

test("many numbers are drawn as their norm", () => {
  const spec = { ...counter, variables: [{ ...state, shape: [100] }] };
  assert.deepEqual(shared.lines(spec, spec.variables[0]), [{ name: "", series: [1, 1, 1] }]);
});

test("labels that would overlap move down and keep their order", () => {
  assert.deepEqual(spread([10, 12, 40], 12), [10, 22, 40]);
  assert.deepEqual(spread([12, 10], 12), [22, 10]);
});

test("rounding errors are drawn as a level line", () => {
  const [lo, hi] = rangeOf([0.25, 0.25 + 1e-16]);
  assert.ok(lo < 0.2 && hi > 0.3);
});

test("the log scale takes magnitudes and keeps gaps", () => {
  assert.deepEqual(logarithms([-100, null, 1]), [2, null, 0]);
});

test("two runs stand on one axis of updates, and a rewind starts a branch", () => {
  const spec = structuredClone(counter);
  spec.frames[2].branch = 1;
  spec.other = { updates: [0, 4], loss: [null, 1], lines: { s: { level: [1, "NaN"], change: [null, 0.5], numbers: null } } };
  assert.deepEqual(shared.whenOf(spec), { own: [0, 0.25, 0.5], other: [0, 1], branches: [0, 0, 1] });
  assert.deepEqual(shared.otherLines(spec, state, 1), [{ name: "", series: [1, null] }]);
  assert.deepEqual(shared.otherLines(counter, state, 1), []);
  assert.deepEqual(shared.losses(spec, true), [null, 1]);
  assert.equal(shared.losses(spec), null);
  assert.equal(linePath([0, 1, 2], [0, 0, 10, 10], [0, 2], [0, 0.5, 1], [0, 0, 1]), "M0 10L5 5M10 0h0.01");
});

test("a rewind is a tick with what it went back to", () => {
  const spec = structuredClone(counter);
  Object.assign(spec.frames[1], { event: "rewind", by: "rewind to 0" });
  assert.deepEqual(shared.ticks(spec)[0], { frame: 1, kind: "rewind", text: "rewind to 0" });
});
