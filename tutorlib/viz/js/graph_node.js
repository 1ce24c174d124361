// Draws one node: the outline of its role, its letter and name, its type, and the value it holds at the shown step.
import { HIDDEN, s } from "./dom.js";
import { fitText, hexagon, rounded, sharedMarks } from "./geometry.js";
import { heatmapUrl } from "./heatmap.js";
import { shapeText, short } from "./numbers.js";

const SMALL = 6;
const NAME_SIZE = 13.5;
const TYPE_SIZE = 11;
const VALUE_SIZE = 12.5;
// The size of a name when the whole of a large graph is seen from afar, where there is room.
const FAR_SIZE = 25;
const THUMB_WIDTH = 48;
const THUMB_HEIGHT = 22;
const STATS_SIZE = 10.5;
const GAP = 7;

function outline(kind, box) {
  const [x, y, w, h] = box;
  const pill = Math.min(h / 2, 26);
  const shape = (d, extra = "") => s("path", { d, class: `tl-shape ${extra}` });
  const line = (d) => s("path", { d, class: "tl-mark" });
  if (kind === "shared") return [shape(rounded(box, 3)), line(sharedMarks(box))];
  if (kind === "gradient" || kind === "update") return [shape(hexagon(box))];
  if (kind === "scope") return [shape(rounded([x + 4, y + 4, w - 4, h - 4], pill)), shape(rounded([x, y, w - 4, h - 4], pill))];
  if (kind === "output") return [shape(rounded(box, pill)), line(rounded(box, pill, 3.5))];
  if (kind === "error") return [shape(rounded(box, 4)), line(rounded(box, 4, 4))];
  if (kind === "input" || kind === "constant") return [shape(rounded([x, y, w, h], 3))];
  return [shape(rounded(box, pill))];
}

/** The words on line 1: the role's letter, unless a word of the name is that letter already, and the name. */
export function faceName(node) {
  const label = node.label ?? node.name ?? node.op ?? node.id;
  const letter = node.letter ?? "";
  const words = label.split(/[\s=/]+/);
  return { letter: words.includes(letter) || label.startsWith("∂") ? "" : letter, label };
}

/** What line 3 shows for a value: {lines} for few numbers, else {thumb, lines} with its statistics; without one, why. */
export function faceValue(value, note = "") {
  if (!value) return { lines: [note] };
  const { size, nan, inf, ...stats } = value.stats ?? {};
  if ((size ?? 0) <= SMALL || !value.thumb) return { lines: [value.text] };
  const [mean, std, min, max] = ["mean", "std", "min", "max"].map((name) => short(stats[name], 3));
  const bad = [nan && `${nan} NaN`, inf && `${inf} inf`].filter(Boolean).join(", ");
  return { thumb: value.thumb, lines: bad ? [bad, `/ ${size}`] : [`μ ${mean} σ ${std}`, `${min} … ${max}`] };
}

function text(x, y, size, extra, ...children) {
  return s("text", { x, y, class: `tl-text ${extra}`, "font-size": size, "text-anchor": "middle" }, ...children);
}

/** {g, item, show(value, bad)} for a node in its `box`; `hatch` is the id of the pattern behind alerts. */
export function drawNode(node, box, { id, place, hatch }) {
  const [x, y, w, h] = box;
  const middle = x + w / 2;
  const room = w - (node.kind === "gradient" || node.kind === "update" ? 26 : 12);
  const waist = w - 8;
  const rows = h >= 66 ? [-21, -4, 17] : h >= 54 ? [-17, 0.5, 18] : h >= 40 ? [-8, 9, 0] : [0, 0, 0];
  const at = (row) => y + h / 2 + rows[row] + 4;
  const { letter, label } = faceName(node);
  const name = text(middle, at(0), NAME_SIZE, "tl-name");
  name.style.setProperty("--far", `${Math.max(NAME_SIZE, Math.min(FAR_SIZE, w / (label.length * 0.62)))}px`);
  if (letter) name.append(s("tspan.tl-letter", { "font-size": TYPE_SIZE + 1 }, letter), " ");
  name.append(fitText(label, room - (letter ? (letter.length + 1) * NAME_SIZE * 0.6 : 0), NAME_SIZE));
  const type = node.type || [node.dtype, shapeText(node.shape)].filter(Boolean).join(" ");
  const lines = [name];
  if (h >= 40 && type) lines.push(text(middle, at(1), TYPE_SIZE, "tl-type", fitText(type, waist, TYPE_SIZE)));
  const face = s("g.tl-face", HIDDEN, ...lines);
  const alert = s("path.tl-alert", { d: rounded(box, 6), fill: `url(#${hatch})` });
  const badge = s("g.tl-badge", HIDDEN,
    s("circle", { cx: x + w - 4, cy: y + 4, r: 9 }), s("text", { x: x + w - 4, y: y + 8.4, "text-anchor": "middle" }, "!"));
  // The tree item holds no visible text itself, else its spoken name would have to repeat that text word for word.
  const item = s("path", {
    id, class: "tl-item", d: rounded(box, 3), role: "treeitem", "aria-label": node.spoken || label,
    "aria-level": place.level, "aria-posinset": place.position, "aria-setsize": place.size, "aria-selected": "false",
    "aria-expanded": node.fold ? "false" : null,
  });
  const g = s("g", { class: `tl-node tl-k-${node.kind}`, "data-node": node.id },
    ...outline(node.kind, box), alert, face, badge, item);
  let shown = false;
  const show = (value, bad) => {
    g.classList.toggle("tl-bad", bad || node.kind === "error");
    if (shown === value || h < 54) return;
    shown = value;
    for (const old of face.querySelectorAll(".tl-value")) old.remove();
    face.append(...drawValue(value, node.note, middle, at(2), room));
  };
  return { g, item, show };
}

function drawValue(value, note, middle, baseline, room) {
  const { lines, thumb } = faceValue(value, note);
  if (!thumb) {
    const size = value ? VALUE_SIZE : TYPE_SIZE;
    return lines.filter(Boolean).map((words) => text(middle, baseline, size, "tl-value", fitText(words, room, size)));
  }
  const beside = room - THUMB_WIDTH - GAP;
  const wide = Math.min(beside, Math.max(...lines.map((words) => words.length)) * STATS_SIZE * 0.535);
  const left = middle - (THUMB_WIDTH + GAP + wide) / 2;
  return [
    s("image", {
      class: "tl-value tl-thumb", href: heatmapUrl(thumb), x: left, y: baseline - 16, width: THUMB_WIDTH, height: THUMB_HEIGHT,
      preserveAspectRatio: "none",
    }),
    ...lines.map((words, i) => s("text", {
      x: left + THUMB_WIDTH + GAP, y: baseline - 7 + 12 * i, class: "tl-text tl-value", "font-size": STATS_SIZE,
    }, fitText(words, beside, STATS_SIZE))),
  ];
}
