// Draws one edge with its arrowhead and its shape label.
import { s } from "./dom.js";
import { arrowhead, labelParts, smooth } from "./geometry.js";

const SIZE = 10.5;
const OPEN = new Set(["gradient"]);

function marksOf({ broadcast = [], wrong = [] }) {
  const marks = {};
  for (const axis of broadcast) marks[axis] = "tl-broadcast";
  for (const axis of wrong) marks[axis] = "tl-wrong";
  return marks;
}

/** An edge along `points`; `place` = [x, y, anchor] says where its shape is written, if anywhere. */
export function drawEdge(edge, points, place) {
  if (!points || points.length < 2) return null;
  const curve = smooth(points);
  const size = edge.kind === "update" ? 10 : edge.kind === "saved" ? 6 : 8;
  const open = OPEN.has(edge.kind);
  const label = place && s("text.tl-edge-label", { "font-size": SIZE, x: place[0], y: place[1], "text-anchor": place[2] },
    labelParts(edge.label, marksOf(edge)).map(({ text, kind }) => s("tspan", { class: kind || null }, text)));
  return s("g", { class: `tl-edge tl-e-${edge.kind}${edge.wrong ? " tl-misfit" : ""}`, "data-edge": edge.id, "aria-hidden": "true" },
    s("path.tl-line", { d: curve.d }),
    s("path", { class: open ? "tl-head tl-open" : "tl-head", d: arrowhead(curve, { size, open }) }), label);
}
