// Marks some nodes, and the edges between them, as a way through the graph; the rest steps back.
import { h } from "./dom.js";

/**
 * `mark(ids)` for a canvas; no ids, no marks. It writes a style sheet instead of touching the nodes, so that a mark
 * outlives a redrawing. `view` is a prefix that no other canvas on the page has.
 */
export function pathMarker(canvas, view, index) {
  const sheet = h("style");
  canvas.append(sheet);
  canvas.dataset.view = view;
  return (ids) => {
    const on = new Set(ids);
    const between = (edge) => on.has(edge.s) && on.has(edge.t) && edge.kind !== "saved";
    const lit = [...ids.map((id) => `[data-node=${id}]`), ...index.spec.graph.edges.filter(between).map(({ id }) => `[data-edge=${id}]`)];
    canvas.classList.toggle("tl-tracing", on.size > 0);
    sheet.textContent = `[data-view="${view}"].tl-tracing :is(${lit}){opacity:1}`;
  };
}

/** The way that NaN or inf took from where it began down to node `id`, and the operands that made it. */
export function faultPath(index, id) {
  const path = [];
  for (let at = id; at; at = index.nodes.get(at)?.fault?.back) path.push(at);
  return [...path, ...(index.nodes.get(path.at(-1))?.fault?.inputs ?? [])];
}

/** Everything that went bad because of `origin`, with the operands that made it. */
export function spreadOf(index, origin) {
  const hit = index.order.filter((id) => index.nodes.get(id).fault?.origin === origin);
  return [...hit, ...(index.nodes.get(origin).fault.inputs ?? [])];
}

/** Bad nodes in the order to look at them: where it began before where it went. */
export function faultsFirst(index, ids) {
  const later = (id) => Number(index.nodes.get(id).fault?.origin !== id);
  return [...ids].sort((a, b) => later(a) - later(b));
}
