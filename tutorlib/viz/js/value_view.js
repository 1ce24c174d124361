// Shows one value in full: the number or the table, a heatmap with its scale, and the statistics with NaN, inf and zero.
import { h, HIDDEN } from "./dom.js";
import { heatmap } from "./heatmap.js";
import { histogram } from "./histogram.js";
import { short } from "./numbers.js";

const MEASURES = ["min", "max", "mean", "std", "norm"];
const COUNTS = ["nan", "inf", "zero"];

/** A list of nodes for `value`; `size` bounds the heatmap in pixels, `outline` counts an earlier value in the same bins. */
export function valueView(value, t, { size = 236, outline = null } = {}) {
  const isScalar = value.shape.length === 0;
  const parts = [(value.stats?.nan > 0 || value.stats?.inf > 0) && h("p.tl-warning", t("ui_not_finite"))];
  if (isScalar) parts.push(h("p.tl-big", value.text));
  else if (value.table && fits(value)) parts.push(tableView(value, t));
  if (!isScalar && value.thumb && value.stats.size > FEW) parts.push(heatmapView(value.thumb, t, size));
  if (!isScalar && !value.table && !value.thumb) parts.push(h("p.tl-big.tl-wrap", value.text));
  if (value.hist) parts.push(histogram(value.hist, t, outline ? { before: { counts: outline } } : {}));
  if (value.stats && value.stats.size !== 1) parts.push(statistics(value.stats, t));
  if (!isScalar && value.table && !fits(value)) parts.push(tableView(value, t));
  return parts;
}

const FEW = 6;
const fits = (value) => value.stats.size <= 16;

function total(shape) {
  const cols = shape.at(-1) ?? 1;
  return [shape.slice(0, -1).reduce((product, dim) => product * dim, 1), cols];
}

function tableView(value, t) {
  const [rows, cols] = total(value.shape);
  const shown = [value.table.length, value.table[0]?.length ?? 0];
  const body = value.table.map((row) =>
    h("tr", row.map((cell) => h("td", { class: /^-?(nan|inf)$/i.test(cell) ? "tl-warning" : null }, cell)),
      shown[1] < cols && h("td", "…")));
  const table = h("table.tl-table", h("tbody", body));
  const box = h("div.tl-scroll", { tabindex: "0", role: "group", "aria-label": t("ui_numbers") }, table);
  if (shown[0] >= rows && shown[1] >= cols) return box;
  return h("div", box, h("p.tl-note", {},
    t("ui_table_cut", { rows: shown[0], cols: shown[1], all_rows: rows, all_cols: cols })));
}

function heatmapView(thumb, t, size) {
  const bound = Math.max(Math.abs(thumb.lo), Math.abs(thumb.hi));
  const label = t("ui_heatmap", { rows: thumb.rows, cols: thumb.cols, bound: short(bound) });
  const canvas = heatmap(thumb, size, { class: "tl-heatmap", role: "img", "aria-label": label });
  const side = Math.max(thumb.rows, thumb.cols);
  const unit = Math.min(size / side, 28);
  canvas.style.width = `${thumb.cols * unit}px`;
  canvas.style.height = `${Math.max(thumb.rows * unit, 18)}px`;
  const scale = h("div.tl-scale", HIDDEN,
    h("span", short(-bound)), h("span.tl-ramp"), h("span", short(bound)));
  return h("div", canvas, scale);
}

function statistics(stats, t) {
  const measures = MEASURES.filter((name) => stats[name] !== null && stats[name] !== undefined)
    .map((name) => pair(t(`ui_stat_${name}`), short(stats[name])));
  const counts = COUNTS.map((name) => pair(t(`ui_stat_${name}`), String(stats[name] ?? 0),
    name !== "zero" && stats[name] > 0));
  return h("dl.tl-stats", [...measures, ...counts]);
}

function pair(term, text, alarm = false) {
  return h("div", { class: alarm ? "tl-warning" : null }, h("dt", term), h("dd", text));
}
