import assert from "node:assert/strict";
import { test } from "node:test";
import * as graph from "../../tutorlib/viz/js/graph_model.js";

const node = (id, more = {}) => ({ id, kind: "op", op: null, name: null, label: id, shape: [], dtype: "float64", value: null, ...more });
const edge = (s, t, kind = "forward") => ({ id: `${s}-${t}`, s, t, kind });
const event = (phase, id, value, more = {}) => ({ phase, node: id, value, ...more });

// x · y → z, then ∂z, then a shared variable w that an update u changes.
function small() {
  return graph.indexGraph({
    graph: {
      nodes: [
        node("x", { kind: "input", name: "x", value: "v2" }), node("y", { kind: "input", value: "v3" }),
        node("z", { op: "mul", value: "v6", grad: "v1" }), node("g", { kind: "gradient", grad_of: "z", value: "v1" }),
        node("w", { kind: "shared", name: "w", value: "v2" }), node("u", { kind: "update", update_of: "w", value: "v3" }),
      ],
      edges: [edge("x", "z"), edge("y", "z"), edge("z", "g", "gradient"), edge("w", "u"), edge("u", "w", "update")],
    },
    levels: { x: 2, y: 2, z: 1 },
    rows: [["x", "y"], ["z", "g"]],
    layout: { nodes: { x: [0, 0, 80, 60], y: [100, 2, 80, 60], z: [50, 100, 80, 60], g: [300, 100, 80, 60] } },
    trace: [event("forward", "z", "v6"), event("backward", "g", "v1"), event("update", "u", "v3")],
    values: { v1: { stats: { nan: 0, inf: 0 } }, v2: {}, v3: {}, v6: { stats: { nan: 1, inf: 0 } } },
  });
}

test("before its event a node lies in the future, at it it is current, after it it is done", () => {
  const index = small();
  assert.deepEqual([0, 1, 2].map((step) => graph.stateOf(index, "z", step)), ["future", "current", "done"]);
});

test("a node without an event is there from the start", () => {
  assert.equal(graph.stateOf(small(), "x", 0), "done");
});

test("a value appears with its event", () => {
  const index = small();
  assert.equal(graph.valueAt(index, "z", 0), null);
  assert.equal(graph.valueAt(index, "z", 1), "v6");
});

test("a shared variable keeps its old value until its update has been made", () => {
  const index = small();
  assert.equal(graph.valueAt(index, "w", 2), "v2");
  assert.equal(graph.valueAt(index, "w", 3), "v3");
});

test("a gradient that has not been computed is never shown as a number", () => {
  const index = small();
  assert.deepEqual(graph.gradientAt(index, "z", 1), { state: "later", value: null });
  assert.deepEqual(graph.gradientAt(index, "z", 2), { state: "here", value: "v1" });
  assert.equal(graph.gradientAt(index, "x", 3).state, "none");
});

test("a gradient added up over several events shows its parts before its sum", () => {
  const spec = small().spec;
  spec.trace = [event("backward", "g", "v2"), event("backward", "g", "v1")];
  const index = graph.indexGraph(spec);
  assert.equal(graph.gradientAt(index, "z", 1).value, "v1");
  assert.equal(graph.valueAt(index, "g", 1), "v2");
  assert.equal(graph.valueAt(index, "g", 2), "v1");
});

test("a step stays inside the trace whatever is asked for", () => {
  const index = small();
  assert.deepEqual([-3, 99, 1.6, "x", null].map((step) => graph.clampStep(index, step)), [0, 3, 2, 0, 0]);
});

test("phases are runs of equal events and their keys go to the first event of each", () => {
  const index = small();
  assert.deepEqual(index.phases.map((run) => run.phase), ["forward", "backward", "update"]);
  assert.equal(graph.phaseStep(index, "backward", 0), 2);
  assert.equal(graph.phaseStep(index, "forward", 3), 1);
  assert.equal(graph.phaseStep(index, "nothing", 0), null);
});

test("arrows follow the edges and the rank, and go back the way they came", () => {
  const index = small();
  assert.equal(graph.neighbour(index, "x", "down"), "z");
  assert.equal(graph.neighbour(index, "z", "up"), "x");
  assert.equal(graph.neighbour(index, "z", "up", "y"), "y");
  assert.equal(graph.neighbour(index, "x", "right"), "y");
  assert.equal(graph.neighbour(index, "x", "left"), null);
});

test("search looks at names, ops and shapes; nan finds nodes that hold one", () => {
  const index = small();
  assert.deepEqual(graph.searchNodes(index, "MUL"), ["z"]);
  assert.deepEqual(graph.searchNodes(index, "nan"), ["z"]);
  assert.deepEqual(graph.searchNodes(index, "  "), []);
});

test("a NaN is found at the step that made it, not before", () => {
  const index = small();
  assert.deepEqual(graph.badNodes(index, 0), []);
  assert.deepEqual(graph.badNodes(index, 1), ["z"]);
});

test("tree items know their level and their place among the items of that level", () => {
  const places = graph.treePositions(small());
  assert.deepEqual(places.get("y"), { level: 2, position: 2, size: 2 });
});

test("an op of a symbolic gradient is the gradient of its target only, not of the op it stands beside", () => {
  const { spec } = small();
  spec.graph.nodes.push(
    node("part", { kind: "gradient", op: "mul", grad_of: "z", value: "v2" }),
    node("whole", { kind: "gradient", op: "add", grad_of: "z", target: "x", value: "v3" }),
  );
  const index = graph.indexGraph(spec);
  assert.deepEqual(index.gradients.get("z"), ["g"]);
  assert.deepEqual(index.gradients.get("x"), ["whole"]);
});
