// The signs on nodes that differ: a second border and "~" (changed), "−" (only left, dashed, faint) or "+" (only right).
import { HIDDEN, s } from "./dom.js";
import { rounded } from "./geometry.js";

const CLASSES = { "~": "tl-m-changed", "-": "tl-m-left", "+": "tl-m-right" };
const SHOWN = { "~": "~", "-": "−", "+": "+" };
const GAP = 4;

/** Mark every drawn node of a canvas; `sign` is id → "=", "~", "-" or "+". */
export function markNodes(canvas, boxes, sign) {
  for (const [id, { g }] of canvas.nodes) {
    g.querySelector(".tl-sign-mark")?.remove();
    g.classList.remove(...Object.values(CLASSES));
    const mark = sign.get(id);
    if (!(mark in CLASSES)) continue;
    g.classList.add(CLASSES[mark]);
    const [x, y, w, h] = boxes[id];
    g.append(s("g.tl-sign-mark", HIDDEN,
      s("path", { d: rounded([x - GAP, y - GAP, w + 2 * GAP, h + 2 * GAP], 12) }),
      s("circle", { cx: x - 2, cy: y - 2, r: 9 }),
      s("text", { x: x - 2, y: y + 2.5, "text-anchor": "middle", "font-size": 13 }, SHOWN[mark])));
  }
}

/** Show only nodes that exist yet; those in `now` are what the step is about. */
export function showBorn(canvas, there, now) {
  canvas.root.classList.toggle("tl-bare", Boolean(there) && ![...canvas.nodes.keys()].some((id) => /^s/.test(id) && there.has(id)));
  const absent = (id) => Boolean(there) && !there.has(id);
  for (const [id, { g, item }] of canvas.nodes) {
    g.classList.toggle("tl-absent", absent(id));
    g.classList.toggle("tl-now", now.has(id));
    if (absent(id)) item.setAttribute("aria-hidden", "true");
    else item.removeAttribute("aria-hidden");
  }
  for (const { edge, g } of canvas.edges.values()) g.classList.toggle("tl-absent", absent(edge.s) || absent(edge.t));
}

/** The legend of the signs, as [class, sign, message id]. */
export const SIGNS = [["tl-m-changed", "~", "ui_compare_changed"], ["tl-m-left", "−", "ui_compare_left"], ["tl-m-right", "+", "ui_compare_right"]];
