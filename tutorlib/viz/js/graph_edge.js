// Draws one edge with its arrowhead and its shape label.
import { s } from "./dom.js";
import { arrowhead, labelParts, middle, smooth } from "./geometry.js";

const SIZE = 10.5;
const LETTER = 6.5;
const OPEN = new Set(["gradient"]);
// A scalar's "()" says nothing; saved values and updates have the shape of the variable they start from.
const labelled = (edge) => edge.wrong || edge.label && edge.label !== "()" && (edge.kind === "forward" || edge.kind === "gradient");

function marksOf({ broadcast = [], wrong = [] }) {
  const marks = {};
  for (const axis of broadcast) marks[axis] = "tl-broadcast";
  for (const axis of wrong) marks[axis] = "tl-wrong";
  return marks;
}

export function drawEdge(edge, points) {
  if (!points || points.length < 2) return null;
  const curve = smooth(points);
  const size = edge.kind === "update" ? 10 : edge.kind === "saved" ? 6 : 8;
  const open = OPEN.has(edge.kind);
  const { at: [x, y], level, room, total } = middle(points);
  const place = level
    ? { x, y: y - 5, "text-anchor": "middle" }
    : { x: x + 5, y: y + 3.5 };
  const label = labelled(edge) && (edge.wrong || (level ? room : total - 12) > edge.label.length * LETTER)
    ? s("text.tl-edge-label", { "font-size": SIZE, ...place },
        labelParts(edge.label, marksOf(edge)).map(({ text, kind }) => s("tspan", { class: kind || null }, text)))
    : null;
  return s("g", { class: `tl-edge tl-e-${edge.kind}${edge.wrong ? " tl-misfit" : ""}`, "data-edge": edge.id, "aria-hidden": "true" },
    s("path.tl-line", { d: curve.d }),
    s("path", { class: open ? "tl-head tl-open" : "tl-head", d: arrowhead(curve, { size, open }) }), label);
}
