import assert from "node:assert/strict";
import { test } from "node:test";
import { magnitude } from "../../tutorlib/viz/js/colours.js";
import { placeIn, wayPath } from "../../tutorlib/viz/js/contour.js";
import * as gradient from "../../tutorlib/viz/js/gradient_model.js";
import { joinLink, nodeOf, placeOf, saidOf } from "../../tutorlib/viz/js/links.js";

const bands = { tiny: 1e-7, huge: 1e3, guide: 1e-3 };
const cell = (norm, more = {}) => ({ norm, q: [norm / 10, norm / 4, norm / 2, norm, norm], counts: [], size: 4, zero: 0, nan: 0, pos_inf: 0, neg_inf: 0, ratio: 0.1, ...more });
const spec = {
  bands, layers: [{ id: "s0", name: "w" }, { id: "s1", name: "b" }], steps: [{ update: 1 }, { update: 5 }],
  cells: { s0: [cell(1), cell(10)], s1: [{ norm: null, why: "frozen" }, cell("NaN", { q: [], nan: 2 })] },
};

test("a verdict goes by the median, and NaN comes first", () => {
  assert.equal(gradient.verdictOf(cell(1), bands), "");
  assert.equal(gradient.verdictOf(cell(1e-8), bands), "tiny");
  assert.equal(gradient.verdictOf(cell(1e5), bands), "huge");
  assert.equal(gradient.verdictOf(cell(1, { q: [] }), bands), "zero");
  assert.equal(gradient.verdictOf(cell("Infinity", { pos_inf: 1 }), bands), "nan");
  assert.equal(gradient.verdictOf({ norm: null }, bands), "missing");
});

test("the axis has whole decades and never fewer than four", () => {
  assert.deepEqual(gradient.decades([0.02, 0.5, 0, NaN]), [-4, 0]);
  assert.deepEqual(gradient.decades([1e-9, 20]), [-9, 2]);
  const log = gradient.axis([1e-4, 1], true);
  assert.deepEqual([log.place(1e-2), log.place(0), log.place(1e9)], [0.5, 0, 1]);
  assert.deepEqual(log.ticks.map(([, text]) => text), ["1e-4", "1e-3", "1e-2", "1e-1", "1e0"]);
  assert.equal(gradient.axis([2, 8], false).place(4), 0.5);
});

test("the colour scale runs from the least to the largest norm and leaves NaN out", () => {
  const { low, high, share } = gradient.heatScale(spec, true);
  assert.deepEqual([low, high], [1, 10]);
  assert.deepEqual([share(1), share(Math.sqrt(10)), share(10)].map((v) => Math.round(v * 100)), [0, 50, 100]);
});

test("colours of magnitudes are those of the static pictures", () => {
  assert.deepEqual([magnitude(0), magnitude(1), magnitude(0.5)], [[0, 34, 78], [254, 232, 56], [125, 124, 120]]);
});

test("the search for NaN goes on from here and starts again", () => {
  assert.deepEqual(gradient.nextBad(spec, "s0", 0), { layer: "s1", step: 1 });
  assert.deepEqual(gradient.nextBad(spec, "s1", 1), { layer: "s1", step: 1 });
  assert.equal(gradient.nextBad({ ...spec, steps: [spec.steps[0]] }, "s0", 0), null);
});

test("histogram ticks stand at the ends, the quarters and around zero", () => {
  const edges = Array.from({ length: 13 }, (_, i) => 10 ** (i - 12));
  const { hist, ticks } = gradient.histogramOf({ edges }, cell(1, { counts: [1], zero: 3 }));
  assert.deepEqual(ticks, [[0, "−1"], [0.25, "−1e-06"], [0.5, "±1e-12"], [0.75, "1e-06"], [1, "1"]]);
  assert.deepEqual([hist.lo, hist.hi, hist.zero], [-1, 1, 3]);
});

test("a way has gaps where numbers are missing and starts anew after a rewind", () => {
  const place = placeIn({ x: [0, 2], y: [0, 1] });
  const way = [[0, 0, 0], [1, 0, 0], [null, null, 0], [2, 1, 0], [0, 0, 1]];
  const path = wayPath(way, way.map(place));
  assert.deepEqual(path.match(/[ML]/g), ["M", "L", "M", "M"]);
  assert.deepEqual(place([2, 1, 0]), [438, 8]);
});

test("a gradient node and an update speak for their variable", () => {
  const nodes = new Map([
    ["n0", { id: "n0", kind: "shared", name: "w", label: "w" }],
    ["n1", { id: "n1", kind: "gradient", grad_of: "n0", label: "∂L/∂w" }],
    ["n2", { id: "n2", kind: "update", update_of: "n0", label: "new w" }],
    ["n3", { id: "n3", kind: "op", name: "h", label: "h = mul" }],
  ]);
  assert.deepEqual(["n0", "n1", "n2", "n3"].map((id) => saidOf(nodes, id).variable), ["w", "w", "w", null]);
  assert.equal(nodeOf(nodes, { variable: "w" }), "n0");
  assert.equal(nodeOf(nodes, saidOf(nodes, "n3")), "n3");
  assert.equal(nodeOf(nodes, { variable: "h" }), null);
  assert.equal(nodeOf(nodes, { update: 3 }), null);
});

test("views of one link hear each other and never themselves", () => {
  const heard = [];
  const member = (name, link) => {
    const traits = { link };
    const listeners = [];
    const model = { get: (key) => traits[key], on: (_, f) => listeners.push(f), off: (_, f) => listeners.splice(listeners.indexOf(f), 1) };
    const joined = joinLink(model, ({ variable }) => heard.push(`${name} ${variable}`));
    return { ...joined, move(to) { traits.link = to; listeners.forEach((f) => f()); }, listeners };
  };
  const [a, b, c] = [member("a", "one"), member("b", "one"), member("c", "two")];
  a.tell({ variable: "w" });
  assert.deepEqual(heard.splice(0), ["b w"]);
  c.move("one");
  a.tell({ variable: "x" });
  assert.deepEqual(heard.splice(0), ["b x", "c x"]);
  b.stop();
  assert.equal(b.listeners.length, 0);
  c.tell({ variable: "y" });
  assert.deepEqual(heard, ["a y"]);
});

test("an update that another view does not have is the one before it", () => {
  assert.deepEqual([placeOf([0, 4, 8], 5), placeOf([0, 4, 8], 8), placeOf([3, 4], 1)], [1, 2, 0]);
});
