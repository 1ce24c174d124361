// Outlines of nodes, smooth edges and arrowheads as SVG path data. Pure; the points come from Python's layout.

const r = (number) => Math.round(number * 10) / 10;

/** A box with corners of radius `radius`, moved inwards by `inset`. */
export function rounded([x, y, w, h], radius, inset = 0) {
  const [wide, tall] = [w - 2 * inset, h - 2 * inset];
  const a = r(Math.max(0, Math.min(radius - inset, wide / 2, tall / 2)));
  const turn = `a${a} ${a} 0 0 1`;
  return `M${r(x + inset + a)} ${r(y + inset)}h${r(wide - 2 * a)}${turn} ${a} ${a}v${r(tall - 2 * a)}${turn} ${-a} ${a}` +
    `h${r(2 * a - wide)}${turn} ${-a} ${-a}v${r(2 * a - tall)}${turn} ${a} ${-a}z`;
}

/** A box whose left and right ends are points. */
export function hexagon([x, y, w, h]) {
  const tip = Math.min(h / 4, 14);
  return `M${r(x + tip)} ${r(y)}H${r(x + w - tip)}L${r(x + w)} ${r(y + h / 2)}L${r(x + w - tip)} ${r(y + h)}` +
    `H${r(x + tip)}L${r(x)} ${r(y + h / 2)}Z`;
}

/** The rim of a cylinder just under the top edge, and the second left edge: the marks of a shared variable. */
export function sharedMarks([x, y, w, h]) {
  const dip = 6;
  return `M${r(x + 5)} ${r(y)}V${r(y + h)}M${r(x + 5)} ${r(y + 1)}Q${r(x + 5 + (w - 5) / 2)} ${r(y + dip * 2)} ` +
    `${r(x + w)} ${r(y + 1)}`;
}

const CORNER = 10;

/**
 * A smooth path along a polyline: level and upright stretches stay straight with rounded corners, oblique ones become
 * an S that keeps inside the box between its ends. So an edge runs only where the layout left room for it.
 * Returns {d, tip, from}: the arrowhead at `tip` comes from the direction of `from`.
 */
export function smooth(points) {
  const pieces = points.slice(1).map((end, i) => ({ start: points[i], end, way: wayOf(points[i], end) }));
  pieces.forEach((piece, i) => {
    if (piece.way !== "oblique") return;
    const beside = [pieces[i - 1]?.way, pieces[i + 1]?.way].filter((way) => way && way !== "oblique");
    piece.bend = beside[0] ?? steeper(piece.start, piece.end);
  });
  let d = `M${xy(points[0])}`;
  pieces.forEach((piece, i) => {
    const next = pieces[i + 1];
    if (piece.bend) d += curve(piece);
    else if (next && !next.bend && next.way !== piece.way) d += turn(piece, next);
    else d += `L${xy(piece.end)}`;
  });
  const last = pieces.at(-1);
  const [[sx, sy], [x, y]] = [last.start, last.end];
  const from = last.bend === "upright" ? [x, sy] : last.bend === "level" ? [sx, y] : last.start;
  return { d, tip: last.end, from };
}

const xy = ([x, y]) => `${r(x)} ${r(y)}`;

function wayOf([x0, y0], [x1, y1]) {
  if (Math.abs(x1 - x0) < 0.6) return "upright";
  return Math.abs(y1 - y0) < 0.6 ? "level" : "oblique";
}

function steeper([x0, y0], [x1, y1]) {
  return Math.abs(y1 - y0) >= Math.abs(x1 - x0) * 0.5 ? "upright" : "level";
}

function curve({ start: [x0, y0], end: [x1, y1], bend }) {
  const [mx, my] = [(x0 + x1) / 2, (y0 + y1) / 2];
  return bend === "upright"
    ? `C${xy([x0, my])} ${xy([x1, my])} ${xy([x1, y1])}`
    : `C${xy([mx, y0])} ${xy([mx, y1])} ${xy([x1, y1])}`;
}

/** A line to just before the corner and a round turn into the next stretch. */
function turn({ start, end }, next) {
  const before = Math.hypot(end[0] - start[0], end[1] - start[1]);
  const after = Math.hypot(next.end[0] - end[0], next.end[1] - end[1]);
  const radius = Math.min(CORNER, before / 2, after / 2);
  const toward = ([x, y], length) => [
    end[0] + ((x - end[0]) * radius) / (length || 1), end[1] + ((y - end[1]) * radius) / (length || 1),
  ];
  const [from, to] = [toward(start, before), toward(next.end, after)];
  return `L${xy(from)}Q${xy(end)} ${xy(to)}`;
}

/** A triangle (or, when `open`, two strokes) that points at `tip`, coming from `from`. */
export function arrowhead({ tip: [x, y], from: [fx, fy] }, { size = 8, open = false } = {}) {
  const length = Math.hypot(x - fx, y - fy) || 1;
  const [ux, uy] = [(x - fx) / length, (y - fy) / length];
  const [bx, by] = [x - ux * size, y - uy * size];
  const half = size * 0.42;
  const left = `${r(bx - uy * half)} ${r(by + ux * half)}`;
  const right = `${r(bx + uy * half)} ${r(by - ux * half)}`;
  return open ? `M${left}L${r(x)} ${r(y)}L${right}` : `M${left}L${r(x)} ${r(y)}L${right}Z`;
}

/** A shape label in pieces [{text, kind}]: the axes in `marks` {axis: kind} stand alone, all else has the kind "". */
export function labelParts(label, marks = {}) {
  const inner = /^\((.*)\)$/.exec(label);
  if (!inner || !Object.keys(marks).length) return [{ text: label, kind: "" }];
  const dims = inner[1].split(",").map((dim) => dim.trim()).filter((dim) => dim !== "");
  const end = dims.length === 1 ? ",)" : ")";
  return [{ text: "(", kind: "" }, ...dims.flatMap((text, axis) => [
    { text, kind: marks[axis] ?? "" }, { text: axis < dims.length - 1 ? ", " : end, kind: "" },
  ])];
}

/** `text` cut to fit `width` pixels at `size` pixels a letter height, with an ellipsis. */
export function fitText(text, width, size) {
  const room = Math.max(1, Math.floor(width / (size * 0.535)));
  const letters = [...text];
  return letters.length <= room ? text : `${letters.slice(0, room - 1).join("")}…`;
}
