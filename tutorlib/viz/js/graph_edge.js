// Draws one edge with its arrowhead and its shape label.
import { s } from "./dom.js";
import { arrowhead, labelParts, middle, smooth } from "./geometry.js";

const OPEN = new Set(["gradient"]);
// A scalar's "()" says nothing; saved values and updates have the shape of the variable they start from.
const labelled = (edge) => edge.label && edge.label !== "()" && (edge.kind === "forward" || edge.kind === "gradient");

export function drawEdge(edge, points) {
  if (!points || points.length < 2) return null;
  const curve = smooth(points);
  const size = edge.kind === "update" ? 10 : edge.kind === "saved" ? 6 : 8;
  const open = OPEN.has(edge.kind);
  const [x, y] = middle(points);
  const label = labelled(edge)
    ? s("text", { class: "tl-edge-label", x: x + 5, y: y + 3.5, "font-size": 10.5 },
        labelParts(edge.label, edge.broadcast).map(({ text, broadcast }) =>
          s("tspan", { class: broadcast ? "tl-broadcast" : null }, text)))
    : null;
  return s("g", { class: `tl-edge tl-e-${edge.kind}`, "aria-hidden": "true" },
    s("path", { class: "tl-line", d: curve.d }),
    s("path", { class: open ? "tl-head tl-open" : "tl-head", d: arrowhead(curve, { size, open }) }), label);
}
