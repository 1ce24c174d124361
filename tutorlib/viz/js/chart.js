// Small and large lines over updates, with a marker at the shown update.
import { h, s } from "./dom.js";
import { short } from "./numbers.js";
import { linePath, logarithms, rangeOf, scales, spread } from "./sparkline.js";

/** A line without axes, and dashed that of a second run. `when` = {own, other, branches}. {root, moveTo(frame)}. */
export function sparkline(series, { width = 150, height = 30, kind = "level", when = {}, other = null } = {}) {
  const box = [4, 4, width - 8, height - 8];
  const range = rangeOf([...series, ...(other ?? [])]);
  const place = scales(series, box, range, when.own);
  const dot = s("circle.tl-marker", { r: 3.5 });
  const root = s("svg", { class: `tl-spark tl-spark-${kind}`, viewBox: `0 0 ${width} ${height}`, width, height, "aria-hidden": "true" },
    other && s("path.tl-second", { d: linePath(other, box, range, when.other) }),
    s("path", { d: linePath(series, box, range, when.own, when.branches) }), dot);
  return { root, moveTo: (frame) => moveDot(dot, place, frame, series[frame]) };
}

const SIZE = [560, 132];
const NARROW = [390, 132];
const DASHES = ["", "7 3", "2 3", "9 3 2 3", "4 4", "1 2"];
const LABEL_GAP = 12;
const MANY = 60;

/**
 * The `lines` [{name, series}] on one scale, named at their ends, and dashed the `others` of a second run. `when` says
 * where frames stand: {own, other, branches}. `seek(frame)` is called for a click. A `narrow` chart shares its row.
 */
export function chart(lines, { title, label, log, seek, when = {}, others = [], narrow = false }) {
  const [width, height] = narrow ? NARROW : SIZE;
  const named = lines.length > 1;
  const box = [52, 10, width - (named ? 92 : 66), height - 26];
  const scaled = ({ series }) => (log ? logarithms(series) : series);
  const drawn = lines.map(scaled);
  const second = others.map(scaled);
  const range = rangeOf([...drawn, ...second].flat());
  const place = scales(drawn[0], box, range, when.own);
  const rule = s("path.tl-rule");
  const dots = drawn.map(() => s("circle.tl-marker", { r: 5 }));
  const svg = s("svg.tl-chart", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label },
    range.map((value) => level(value, place.y(value), box, log)),
    second.map((series) => s("path.tl-curve.tl-second", { d: linePath(series, box, range, when.other) })),
    drawn.map((series, i) => curve(series, box, range, second.length ? "" : DASHES[i % DASHES.length], when)),
    named && endLabels(lines, drawn, place, box), rule, dots);
  svg.addEventListener("click", (event) => {
    const { left, width: shown } = svg.getBoundingClientRect();
    const x = ((event.clientX - left) / shown) * width;
    const far = drawn[0].map((_, i) => Math.abs(place.x(i) - x));
    seek(far.indexOf(Math.min(...far)));
  });
  const root = h("figure.tl-figure", h("figcaption.tl-note", title), svg);
  const moveTo = (frame) => {
    rule.setAttribute("d", `M${place.x(frame)} ${box[1]}V${box[1] + box[3]}`);
    dots.forEach((dot, i) => moveDot(dot, place, frame, drawn[i][frame]));
  };
  return { root, moveTo };
}

function moveDot(dot, place, frame, value) {
  const isGap = value === null || value === undefined;
  dot.toggleAttribute("hidden", isGap);
  if (isGap) return;
  dot.setAttribute("cx", place.x(frame));
  dot.setAttribute("cy", place.y(value));
}

/** A level line with its number. */
function level(value, y, box, log) {
  return [
    s("path.tl-grid", { d: `M${box[0]} ${y}H${box[0] + box[2]}` }),
    s("text", { x: box[0] - 8, y: y + 4, "text-anchor": "end", class: "tl-axis" }, short(log ? 10 ** value : value, 3)),
  ];
}

function curve(series, box, range, dash, when) {
  const place = scales(series, box, range, when.own);
  const line = s("path.tl-curve", { d: linePath(series, box, range, when.own, when.branches), "stroke-dasharray": dash || null });
  if (series.length > MANY) return line;
  return [line, series.map((value, i) => value !== null && s("circle.tl-point", { cx: place.x(i), cy: place.y(value), r: 2.5 }))];
}

function endLabels(lines, drawn, place, box) {
  const ends = drawn.map((series) => series.findLast((value) => value !== null) ?? place.lo);
  const heights = spread(ends.map((value) => place.y(value) + 4), LABEL_GAP);
  return lines.map(({ name }, i) => s("text.tl-axis", { x: box[0] + box[2] + 9, y: heights[i] }, name));
}
