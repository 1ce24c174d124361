// Draws the rounded boxes around nodes of one named scope.
import { s } from "./dom.js";
import { fitText, rounded } from "./geometry.js";

const PAD = 12;
const TITLE = 16;

/** Boxes `[x, y, w, h]` by scope id, around all nodes in the scope or in a scope inside it. */
export function scopeBoxes(spec) {
  const parents = new Map((spec.graph.scopes ?? []).map((scope) => [scope.id, scope.parent]));
  const corners = new Map();
  for (const node of spec.graph.nodes) {
    const box = spec.layout.nodes[node.id];
    for (let id = node.scope, depth = 1; id && box && depth < 50; id = parents.get(id), depth += 1) {
      const [x, y, w, h] = box;
      const [x0, y0, x1, y1] = corners.get(id) ?? [Infinity, Infinity, -Infinity, -Infinity];
      corners.set(id, [Math.min(x0, x), Math.min(y0, y), Math.max(x1, x + w), Math.max(y1, y + h)]);
    }
  }
  const boxes = new Map();
  for (const [id, [x0, y0, x1, y1]] of corners) {
    boxes.set(id, [x0 - PAD, y0 - PAD - TITLE, x1 - x0 + 2 * PAD, y1 - y0 + 2 * PAD + TITLE]);
  }
  return boxes;
}

export function drawScopes(spec) {
  const titles = new Map((spec.graph.scopes ?? []).map((scope) => [scope.id, scope.title]));
  return [...scopeBoxes(spec)].map(([id, box]) =>
    s("g", { class: "tl-scope", "aria-hidden": "true" },
      s("path", { d: rounded(box, 10) }),
      s("text", { x: box[0] + 10, y: box[1] + 16, "font-size": 12 }, fitText(titles.get(id) ?? id, box[2] - 20, 12))));
}
