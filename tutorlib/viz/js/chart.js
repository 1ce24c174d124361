// Small and large lines over updates, with a marker at the shown update.
import { h, s } from "./dom.js";
import { short } from "./numbers.js";
import { linePath, logarithms, scales } from "./sparkline.js";

/** A line without axes. {root, moveTo(frame)}. */
export function sparkline(series, { width = 150, height = 30, kind = "level" } = {}) {
  const box = [4, 4, width - 8, height - 8];
  const place = scales(series, box);
  const dot = s("circle", { class: "tl-marker", r: 3.5 });
  const root = s("svg", { class: `tl-spark tl-spark-${kind}`, viewBox: `0 0 ${width} ${height}`, width, height, "aria-hidden": "true" },
    s("path", { d: linePath(series, box) }), dot);
  const moveTo = (frame) => {
    const value = series[frame];
    dot.toggleAttribute("hidden", value === null || value === undefined);
    if (value === null || value === undefined) return;
    dot.setAttribute("cx", place.x(frame));
    dot.setAttribute("cy", place.y(value));
  };
  return { root, moveTo };
}

/** The same with a scale and a title; `seek(frame)` is called for a click. */
export function chart(series, { title, label, log, seek }) {
  const [width, height] = [560, 112];
  const box = [52, 10, width - 66, height - 26];
  const drawn = log ? logarithms(series) : series;
  const place = scales(drawn, box);
  const unit = (value) => short(log ? 10 ** value : value, 3);
  const rule = s("path", { class: "tl-rule" });
  const dot = s("circle", { class: "tl-marker", r: 5 });
  const level = (value) => [
    s("path", { class: "tl-grid", d: `M${box[0]} ${place.y(value)}H${box[0] + box[2]}` }),
    s("text", { x: box[0] - 8, y: place.y(value) + 4, "text-anchor": "end", class: "tl-axis" }, unit(value)),
  ];
  const points = series.length > 60 ? [] : drawn.map((value, i) =>
    value !== null && s("circle", { class: "tl-point", cx: place.x(i), cy: place.y(value), r: 2.5 }));
  const svg = s("svg", { class: "tl-chart", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label },
    level(place.lo), level(place.hi), s("path", { class: "tl-curve", d: linePath(drawn, box) }), points, rule, dot);
  svg.addEventListener("click", (event) => {
    const { left, width: shown } = svg.getBoundingClientRect();
    const x = ((event.clientX - left) / shown) * width;
    seek(Math.round(((x - box[0]) / box[2]) * Math.max(1, series.length - 1)));
  });
  const root = h("figure", { class: "tl-figure" }, h("figcaption", { class: "tl-note" }, title), svg);
  const moveTo = (frame) => {
    rule.setAttribute("d", `M${place.x(frame)} ${box[1]}V${box[1] + box[3]}`);
    const value = drawn[frame];
    dot.toggleAttribute("hidden", value === null || value === undefined);
    if (value === null || value === undefined) return;
    dot.setAttribute("cx", place.x(frame));
    dot.setAttribute("cy", place.y(value));
  };
  return { root, moveTo };
}
