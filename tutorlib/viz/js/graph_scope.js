// Draws open scopes: a rounded box with a title that folds it, around the forward and the backward part of each.
import { HIDDEN, s } from "./dom.js";
import { fitText, rounded } from "./geometry.js";

const SIZE = 12;

/** {box, head, item} for a frame of the contract; `node` stands for the scope, `place` says where in the tree. */
export function drawScope({ key, title, main, box, bar }, node, { id, place }) {
  const [x, y, w] = bar;
  const grip = s("path.tl-grip", {
    id: main ? id : null, d: rounded(bar, 6), ...(main && {
      role: "treeitem", "aria-label": node.spoken, "aria-expanded": "true", "aria-selected": "false",
      "aria-level": place.level, "aria-posinset": place.position, "aria-setsize": place.size,
    }),
  });
  const head = s("g.tl-node.tl-scope-head", { "data-node": key }, grip,
    s("text", { x: x + 8, y: y + 13, "font-size": SIZE, ...HIDDEN }, fitText(title, w - 12, SIZE)));
  return { box: box && s("path.tl-scope", { d: rounded(box, 10) }), head, item: main && grip };
}
