// The legend: the signs of the roles and edges that occur in this graph, with their names.
import { h, s } from "./dom.js";
import { drawEdge } from "./graph_edge.js";
import { drawNode } from "./graph_node.js";

const EDGES = ["forward", "gradient", "saved", "update"];
const SIGNS = { input: "in", shared: "S", constant: "c", op: "op", scope: "▸", output: "out", gradient: "∂", update: "Δ", error: "NaN" };

export function legendOf(spec, t) {
  const kinds = new Set(spec.graph.nodes.filter((node) => !node.open).map((node) => node.kind));
  const edges = new Set(spec.graph.edges.map((edge) => edge.kind));
  const rows = [
    ...Object.keys(SIGNS).filter((kind) => kinds.has(kind)).map((kind) => row(nodeSign(kind), t(`kind_${kind}`), t(`ui_legend_${kind}`))),
    ...EDGES.filter((kind) => edges.has(kind)).map((kind) => row(edgeSign(kind), t(`edge_${kind}`), "")),
  ];
  return [h("h3", t("ui_legend")), h("ul.tl-legend", rows),
    spec.graph.edges.some((edge) => edge.wrong) && h("p.tl-note", t("ui_legend_wrong")),
    spec.graph.edges.some((edge) => edge.broadcast?.length) && h("p.tl-note", t("ui_legend_broadcast"))];
}

function row(sign, name, note) {
  return h("li", sign, h("div", h("b", name), note && h("span.tl-note", note)));
}

function nodeSign(kind) {
  const node = { kind, label: SIGNS[kind], letter: "", shape: null, spoken: "" };
  const { g, item } = drawNode(node, [5, 4, 54, 28], { id: null, place: {}, hatch: "" });
  item.remove();
  g.removeAttribute("data-node");
  if (kind === "error") g.classList.add("tl-bad");
  return s("svg.tl-sign", { width: 64, height: 36, "aria-hidden": "true" }, g);
}

function edgeSign(kind) {
  return s("svg.tl-sign", { width: 64, height: 22, "aria-hidden": "true" }, drawEdge({ kind }, [[6, 11], [58, 11]]));
}
