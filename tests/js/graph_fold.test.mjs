import assert from "node:assert/strict";
import { test } from "node:test";
import { foldSpec, placesOf, scopesAround } from "../../tutorlib/viz/js/graph_fold.js";
import { makeFolding, MOST } from "../../tutorlib/viz/js/graph_folding.js";
import { badNodes, indexGraph, neighbour, stateOf } from "../../tutorlib/viz/js/graph_model.js";

const scope = (id, key, parent = "") => ({
  id, key, parent, title: id, times: 1, label: `${id} · 1 op`, back_label: `∂ ${id}`, type: "() → ()", spoken: `scope ${id}`,
});
const node = (id, where, more = {}) => ({ id, kind: "op", label: id, scope: where, value: null, ...more });
const edge = (id, s, t, kind = "forward", label = "()") => ({ id, s, t, kind, label, broadcast: [] });

// x → (net: a → (inner: b, c)) → y, and ∂b, the gradient of b.
function spec(collapsed = []) {
  return {
    graph: {
      nodes: [
        node("x", "", { kind: "input" }), node("a", "net"), node("b", "net/inner"), node("c", "net/inner"), node("y", ""),
        node("g", "net/inner", { kind: "gradient", grad_of: "b", back: true }),
      ],
      edges: [
        edge("e0", "x", "a"), edge("e1", "a", "b"), edge("e2", "a", "c", "forward", "(2,)"), edge("e3", "b", "y"),
        edge("e4", "c", "y"), edge("e5", "y", "g", "gradient"),
      ],
      scopes: [scope("net", "s0"), scope("net/inner", "s1", "net")],
    },
    layout: { nodes: {}, edges: {}, labels: {}, size: [1, 1] }, levels: {}, frames: [], values: { v0: { stats: { nan: 1, inf: 0 } } },
    trace: [
      { node: "a", phase: "forward", inputs: ["x"] }, { node: "b", phase: "forward", inputs: ["a"], value: "v0" },
      { node: "y", phase: "forward", inputs: ["b", "c"] },
    ],
    collapsed,
  };
}
const ids = (folded) => folded.graph.nodes.map((one) => one.id);

test("a node in a folded scope is seen in its pill, a gradient in the pill beside it", () => {
  const places = placesOf(spec(), ["net/inner"]);
  assert.deepEqual(["x", "a", "b", "c", "g"].map((id) => places.get(id)), ["x", "a", "s1", "s1", "s1g"]);
});

test("the outermost folded scope wins", () => {
  assert.equal(placesOf(spec(), ["net", "net/inner"]).get("b"), "s0");
});

test("edges into a folded scope become one, and keep a label only where all have the same", () => {
  const folded = foldSpec(spec(["net/inner"]));
  assert.deepEqual(ids(folded), ["x", "a", "s1", "y", "s1g"]);
  assert.deepEqual(folded.graph.edges.map(({ id, s, t, label }) => [id, s, t, label]),
    [["e0", "x", "a", "()"], ["e1", "a", "s1", ""], ["e3", "s1", "y", "()"], ["e5", "y", "s1g", "()"]]);
});

test("folding changes nothing in the spec itself", () => {
  const whole = spec();
  const before = JSON.stringify(whole);
  foldSpec(whole, spec(["net"]));
  assert.equal(JSON.stringify(whole), before);
});

test("steps of what is folded are steps of the pill", () => {
  const index = indexGraph(spec(["net"]));
  assert.deepEqual([0, 1, 2, 3].map((step) => stateOf(index, "s0", step)), ["future", "current", "current", "done"]);
});

test("a pill is bad once something in it is", () => {
  const index = indexGraph(spec(["net"]));
  assert.deepEqual([badNodes(index, 1), badNodes(index, 2)], [[], ["s0"]]);
});

test("an open scope has a title that can be reached from the nodes in it", () => {
  const whole = { ...spec(), frames: [{ key: "s1", main: true, bar: [0, 0, 50, 18], box: null, title: "inner" }] };
  const index = indexGraph(whole);
  assert.equal(index.nodes.get("s1").open, true);
  assert.equal(neighbour(index, "s1", "down"), "b");
});

test("scopes around a scope are listed from the inside", () => {
  assert.deepEqual(scopesAround(spec(), "net/inner").map((one) => one.key), ["s1", "s0"]);
});

function folding(views = []) {
  const log = { shown: [], asked: [], said: [] };
  const made = makeFolding(spec(), views, {
    show: (view) => log.shown.push(view.collapsed), ask: (collapsed) => log.asked.push(collapsed),
    say: (text) => log.said.push(text), t: (id) => id,
  });
  return { ...log, made };
}

test("a view that Python sent ahead is shown at once, and Python hears of it", () => {
  const { made, shown, asked } = folding([spec(["net"])]);
  made.toggle("net");
  assert.deepEqual([shown, asked], [[["net"]], [["net"]]]);
});

test("another view is asked for, and shown when it comes", () => {
  const { made, shown, asked, said } = folding();
  made.toggle("net/inner");
  assert.deepEqual([shown, asked, said], [[], [["net/inner"]], ["ui_fold_asking"]]);
  made.add(spec(["net"]));
  assert.deepEqual(shown, []);
  made.add(spec(["net/inner"]));
  assert.deepEqual(shown, [["net/inner"]]);
  made.stop();
});

test("what would be too much to see is refused with a hint", () => {
  const many = spec(["net"]);
  for (let i = 0; i < MOST; i += 1) many.graph.nodes.push(node(`m${i}`, "net"));
  const said = [];
  makeFolding(many, [], { show: assert.fail, ask: assert.fail, say: (text) => said.push(text), t: (id) => id }).toggle("net");
  assert.deepEqual(said, ["ui_fold_too_many"]);
});
