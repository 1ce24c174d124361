// The flow: for each layer a box of the sizes of its gradient at one step, and beside it how far the update moved it.
import { s } from "./dom.js";
import { axis, verdictOf } from "./gradient_model.js";
import { short } from "./numbers.js";
import { rowsOf } from "./gradient_rows.js";

const [NAME, FLOW, GAP, RATIO, ROW, HEAD, FOOT] = [150, 400, 36, 150, 32, 42, 40];

/** An SVG of all layers at `step`. `on` = {choose(id)}. */
export function flowPlot(spec, step, selected, log, t, on) {
  const cells = spec.layers.map(({ id }) => spec.cells[id][step]);
  const sizes = cells.flatMap((cell) => (cell.norm === null ? [] : cell.q));
  const flow = axis(sizes, log);
  const x = (size) => NAME + FLOW * flow.place(Number(size));
  const ratios = cells.map((cell) => cell.ratio).filter((ratio) => ratio > 0);
  const share = axis([...ratios, spec.bands.guide], true, 4);
  const ratioX = NAME + FLOW + GAP;
  const bottom = HEAD + ROW * spec.layers.length;
  const width = ratioX + RATIO + 16;
  return s("svg.tl-plot-svg", { viewBox: `0 0 ${width} ${bottom + FOOT}`, "aria-hidden": "true" },
    rowsOf(spec, selected, { top: HEAD, height: ROW, width, name: NAME }, on),
    log && [
      band(NAME, x(spec.bands.tiny), bottom, t("ui_band_tiny"), "start"),
      band(x(spec.bands.huge), NAME + FLOW, bottom, t("ui_band_huge"), "end"),
    ],
    ticks(flow.ticks, NAME, FLOW, bottom),
    s("text.tl-axis.tl-axis-name", { x: NAME + FLOW / 2, y: bottom + 34, "text-anchor": "middle" }, "|g|"),
    s("text.tl-axis.tl-axis-name", { x: NAME, y: 16 }, t("ui_gradient_sizes")),
    s("text.tl-axis.tl-axis-name", { x: ratioX, y: 16 }, "‖Δw‖ / ‖w‖"),
    ticks(share.ticks, ratioX, RATIO, bottom),
    guide(ratioX + RATIO * share.place(spec.bands.guide), bottom, short(spec.bands.guide)),
    cells.map((cell, row) => [
      ...box(cell, x, HEAD + row * ROW, spec.bands, t),
      cell.ratio > 0 && s("circle.tl-ratio-dot", { cx: ratioX + RATIO * share.place(cell.ratio), cy: HEAD + row * ROW + ROW / 2, r: 4.5 }),
    ]));
}

function ticks(marks, left, wide, bottom) {
  return marks.map(([share, text]) => [
    s("path.tl-grid", { d: `M${left + share * wide} ${HEAD}V${bottom}` }),
    s("text.tl-axis", { x: left + share * wide, y: bottom + 16, "text-anchor": "middle" }, text),
  ]);
}

function band(from, to, bottom, text, anchor) {
  if (to - from < 1) return null;
  return [
    s("rect.tl-zone", { x: from, y: HEAD, width: to - from, height: bottom - HEAD }),
    s("text.tl-axis.tl-warning", { x: anchor === "start" ? from : to, y: HEAD - 7, "text-anchor": anchor }, text),
  ];
}

function guide(x, bottom, text) {
  return [
    s("path.tl-guide", { d: `M${x} ${HEAD - 4}V${bottom}` }),
    s("text.tl-axis", { x, y: HEAD - 8, "text-anchor": "middle" }, text),
  ];
}

function box(cell, x, y, bands, t) {
  const middle = y + ROW / 2;
  if (cell.norm === null) {
    return [
      s("rect.tl-missing", { x: NAME + 1, y: y + 7, width: FLOW - 2, height: ROW - 14 }),
      s("text.tl-why", { x: NAME + 10, y: middle + 4 }, shortened(cell.why, 56), s("title", cell.why)),
    ];
  }
  const verdict = verdictOf(cell, bands);
  const words = verdict === "zero" || verdict === "nan" ? t(`ui_gradient_is_${verdict}`, { nan: cell.nan, inf: cell.pos_inf + cell.neg_inf }) : "";
  const [least, lower, median, upper, most] = cell.q.map(x);
  return [
    ...(cell.q.length ? [
      s("path.tl-whisker", { d: `M${least} ${middle}H${most}M${least} ${middle - 4}v8M${most} ${middle - 4}v8` }),
      s("rect", { class: `tl-box tl-box-${verdict}`, x: lower, y: y + 7, width: Math.max(1.5, upper - lower), height: ROW - 14 }),
      s("path.tl-median", { d: `M${median} ${y + 5}V${y + ROW - 5}` }),
    ] : []),
    words && s("text.tl-axis.tl-warning.tl-alarm", { x: NAME + FLOW - 6, y: middle + 4, "text-anchor": "end" }, `! ${words}`),
  ];
}

const shortened = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);
