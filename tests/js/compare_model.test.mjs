import assert from "node:assert/strict";
import { test } from "node:test";
import { bornAt, clampStep, lane, matchAt, mismatches, parseSelected } from "../../tutorlib/viz/js/compare_model.js";

const graph = (...ids) => ({ graph: { nodes: ids.map((id) => ({ id })) } });
const state = (graph, phase, born) => ({ graph, phase, born, step: 0, now: [] });
const SPEC = {
  graphs: [graph("a", "b", "c"), graph("x", "y", "z"), graph("x")],
  born: [{ a: 0, b: 1, c: 2 }, null, null],
  matches: [
    { pairs: [["a", "x", "="], ["b", "y", "~"]], left: ["c"], right: ["z"], replaced: [["b", "c"], ["y"]] },
    { pairs: [["a", "x", "="]], left: ["b", "c"], right: [], replaced: [] },
  ],
  steps: [
    { left: state(0, "build", 1), right: state(1, "run", null), match: 0 },
    { left: state(0, "build", 2), right: state(1, "run", null), match: 0 },
    { left: state(0, "call", 2), right: state(2, "run", null), match: 1 },
  ],
};

test("a step is brought into the range of the steps there are", () => {
  assert.deepEqual([-1, 1.4, 9, "x"].map((step) => clampStep(SPEC, step)), [0, 1, 2, 0]);
});

test("partners and signs are known from both sides", () => {
  const { partner, sign } = matchAt(SPEC, 0);
  assert.equal(partner.left.get("b"), "y");
  assert.equal(partner.right.get("y"), "b");
  assert.deepEqual(["a", "b", "c"].map((id) => sign.left.get(id)), ["=", "~", "-"]);
  assert.deepEqual(["x", "y", "z"].map((id) => sign.right.get(id)), ["=", "~", "+"]);
});

test("what a rewrite exchanged belongs together", () => {
  const { together } = matchAt(SPEC, 0);
  assert.deepEqual(together.right.get("y"), [["b", "c"], ["y"]]);
  assert.equal(together.left.get("a"), undefined);
});

test("nodes exist from their line on", () => {
  assert.deepEqual([...bornAt(SPEC, 0, "left")], ["a", "b"]);
  assert.equal(bornAt(SPEC, 0, "right"), null);
});

test("a scope exists as soon as something in it does", () => {
  const nodes = [{ id: "a", scope: "" }, { id: "b", scope: "loop/then" }];
  const scopes = [{ id: "loop", key: "s0" }, { id: "loop/then", key: "s1" }, { id: "lo", key: "s2" }];
  const spec = { ...SPEC, graphs: [{ graph: { nodes, scopes } }], born: [{ a: 0, b: 1 }] };
  assert.deepEqual([...bornAt(spec, 0, "left")], ["a", "b", "s0", "s1"]);
});

test("differences come left first, a changed pair once, none that does not exist yet", () => {
  assert.deepEqual(mismatches(SPEC, 0), [["left", "b"], ["right", "z"]]);
  assert.deepEqual(mismatches(SPEC, 1), [["left", "b"], ["left", "c"], ["right", "z"]]);
  assert.deepEqual(mismatches(SPEC, 2), [["left", "b"], ["left", "c"]]);
});

test("a lane has one stretch for each phase of each call", () => {
  assert.deepEqual(lane(SPEC, "left").map(({ phase, from, to }) => [phase, from, to]), [["build", 0, 2], ["call", 2, 3]]);
  assert.deepEqual(lane(SPEC, "right").map(({ from, to }) => [from, to]), [[0, 2], [2, 3]]);
});

test("a selection is a side and an id", () => {
  assert.deepEqual(parseSelected("right n3"), ["right", "n3"]);
  assert.equal(parseSelected("n3"), null);
  assert.equal(parseSelected(undefined), null);
});
