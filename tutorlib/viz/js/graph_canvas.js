// The picture of a graph: draws it once from the layout, then only toggles classes and swaps values as steps change.
import { h, s } from "./dom.js";
import { drawEdge } from "./graph_edge.js";
import { eventAt, isBadAt, stateOf, treePositions, valueAt } from "./graph_model.js";
import { drawNode } from "./graph_node.js";
import { drawScope } from "./graph_scope.js";
import { rounded } from "./geometry.js";
import { FROM, miniMap } from "./mini_map.js";
import { makeViewport } from "./viewport.js";

const RING_GAP = 4.5;
const cornerOf = (kind) => ({ op: 26, output: 26, scope: 26, gradient: 8, update: 8 })[kind] ?? 3;

function hatchPattern(id) {
  return s("pattern", { id, width: 7, height: 7, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" },
    s("path.tl-hatch", { d: "M0 0V7" }));
}

/**
 * {root, nodes, edges, setStep, setSelected, setFound, boxOf, viewport, stop} for an indexed spec; `nodes` and `edges`
 * are what is drawn, by id. `choose(id, open)` hears of clicks, `moved` of panning and zooming by hand (see viewport.js).
 */
export function drawGraph(index, t, prefix, choose, moved = null) {
  const { spec } = index;
  const boxes = spec.layout.nodes;
  const places = treePositions(index);
  const hatch = `${prefix}-hatch`;
  const nodes = new Map();
  const edges = new Map();
  const ids = new Map(index.order.map((id, at) => [id, `${prefix}-${at}`]));

  const edgeLayer = s("g");
  for (const edge of spec.graph.edges) {
    const drawn = drawEdge(edge, spec.layout.edges[edge.id], spec.layout.labels[edge.id]);
    if (!drawn) continue;
    edges.set(edge.id, { edge, g: drawn });
    edgeLayer.append(drawn);
  }
  const nodeLayer = s("g");
  const frames = s("g");
  for (const frame of spec.frames ?? []) {
    const node = index.nodes.get(frame.key);
    const drawn = drawScope(frame, node, { id: ids.get(node.id), place: places.get(node.id) });
    frames.append(...[drawn.box].filter(Boolean));
    nodeLayer.append(drawn.head);
    if (drawn.item) nodes.set(node.id, { g: drawn.head, item: drawn.item, show() {} });
  }
  for (const id of index.order) {
    if (!boxes[id] || nodes.has(id)) continue;
    const drawn = drawNode(index.nodes.get(id), boxes[id], { id: ids.get(id), place: places.get(id), hatch });
    nodes.set(id, drawn);
    nodeLayer.append(drawn.g);
  }
  const ring = s("path.tl-ring");
  const chosen = s("path.tl-chosen");
  const [width, height] = spec.layout.size;
  const svg = s("svg.tl-svg", { role: "presentation", focusable: "false", width, height },
    s("defs", hatchPattern(hatch)), frames, edgeLayer, nodeLayer, ring, chosen);
  const onclick = (event) => {
    const id = event.target.closest?.("[data-node]")?.dataset.node;
    if (id) choose(id, true);
  };
  const root = h("div.tl-canvas", { role: "tree", tabindex: "0", "aria-label": spec.summary || t("ui_graph"), onclick }, svg);
  let map = null;
  const viewport = makeViewport(root, svg, spec.layout.size, moved, (view, window) => map?.moved(view, window));
  if (Object.keys(boxes).length >= FROM) {
    map = miniMap(index, viewport);
    root.append(map.root);
  }

  const frame = (path, id, gap) => {
    const box = id && boxes[id];
    if (!box) return path.removeAttribute("d");
    const [x, y, w, tall] = box;
    return path.setAttribute("d", rounded([x - gap, y - gap, w + 2 * gap, tall + 2 * gap], cornerOf(index.nodes.get(id).kind) + gap));
  };

  let states = new Map();
  let flowing = [];
  const setStep = (step) => {
    const next = new Map();
    for (const [id, drawn] of nodes) {
      const state = stateOf(index, id, step);
      next.set(id, state);
      if (states.get(id) !== state) {
        drawn.g.classList.toggle("tl-future", state === "future");
        drawn.g.classList.toggle("tl-current", state === "current");
      }
      const value = spec.values[valueAt(index, id, step)] ?? null;
      drawn.show(value, isBadAt(index, id, step));
    }
    for (const { edge, g } of edges.values()) {
      const future = next.get(edge.s) === "future" || next.get(edge.t) === "future";
      g.classList.toggle("tl-future", future);
    }
    states = next;
    const event = eventAt(index, step);
    for (const g of flowing) g.classList.remove("tl-flow");
    const inputs = new Set(event?.inputs ?? []);
    flowing = [...edges.values()]
      .filter(({ edge }) => event && edge.t === event.node && (inputs.has(edge.s) || !inputs.size))
      .map(({ g }) => g);
    for (const g of flowing) g.classList.add("tl-flow");
    frame(ring, event?.node, RING_GAP);
    if (event && boxes[event.node]) viewport.reveal(boxes[event.node]);
  };

  let selected = "";
  const setSelected = (id, { reveal = true } = {}) => {
    nodes.get(selected)?.item.setAttribute("aria-selected", "false");
    selected = nodes.has(id) ? id : "";
    frame(chosen, selected, RING_GAP + 4);
    if (!selected) return root.removeAttribute("aria-activedescendant");
    nodes.get(selected).item.setAttribute("aria-selected", "true");
    root.setAttribute("aria-activedescendant", ids.get(selected));
    if (reveal) viewport.reveal(boxes[selected]);
    return undefined;
  };

  const setFound = (found) => {
    const set = found && new Set(found.map((id) => spec.places?.get(id) ?? id));
    root.classList.toggle("tl-searching", Boolean(set));
    for (const [id, drawn] of nodes) drawn.g.classList.toggle("tl-found", Boolean(set?.has(id)));
  };

  const boxOf = (id) => boxes[id];
  return { root, nodes, edges, setStep, setSelected, setFound, boxOf, viewport, stop: viewport.stop };
}
