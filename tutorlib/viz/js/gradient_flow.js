// The flow: for each layer a box of the sizes of its gradient at one step, and beside it how far the update moved it.
import { s } from "./dom.js";
import { fitText } from "./geometry.js";
import { axis, verdictOf } from "./gradient_model.js";
import { short } from "./numbers.js";
import { NAME, NARROW, NARROW_NAME, rowsOf } from "./gradient_rows.js";

const [ROW, HEAD, FOOT, END, TICK] = [32, 42, 40, 22, 52];

/** An SVG `width` px wide of all layers at `step`. `on` = {choose(id)}. */
export function flowPlot(spec, { step, selected, log, width }, t, on) {
  const narrow = width < NARROW;
  const name = narrow ? NARROW_NAME : NAME;
  const gap = narrow ? 26 : 56;
  const ratioWide = Math.round((width - name) * (narrow ? 0.26 : 0.2));
  const flowWide = width - name - gap - ratioWide - END;
  const cells = spec.layers.map(({ id }) => spec.cells[id][step]);
  const sizes = cells.flatMap((cell) => (cell.norm === null ? [] : cell.q));
  const flow = axis(sizes, log, Math.max(2, Math.floor(flowWide / TICK)));
  const x = (size) => name + flowWide * flow.place(Number(size));
  const ratios = cells.map((cell) => cell.ratio).filter((ratio) => ratio > 0);
  const share = axis([...ratios, spec.bands.guide], true, Math.max(1, Math.floor(ratioWide / TICK)));
  const ratioX = name + flowWide + gap;
  const bottom = HEAD + ROW * spec.layers.length;
  const title = t("ui_gradient_sizes");
  return s("svg.tl-plot-svg", { viewBox: `0 0 ${width} ${bottom + FOOT}`, width, "aria-hidden": "true" },
    rowsOf(spec, selected, { top: HEAD, height: ROW, width, name }, on),
    log && [
      band(name, x(spec.bands.tiny), bottom, t("ui_band_tiny"), "start"),
      band(x(spec.bands.huge), name + flowWide, bottom, t("ui_band_huge"), "end"),
    ],
    ticks(flow.ticks, name, flowWide, bottom),
    s("text.tl-axis.tl-axis-name", { x: name + flowWide / 2, y: bottom + 34, "text-anchor": "middle" }, "|g|"),
    s("text.tl-axis.tl-axis-name", { x: narrow ? 0 : name, y: 16 }, fitText(title, ratioX - 12 - (narrow ? 0 : name), 12), s("title", title)),
    s("text.tl-axis.tl-axis-name", { x: width, y: 16, "text-anchor": "end" }, "‖Δw‖ / ‖w‖"),
    ticks(share.ticks, ratioX, ratioWide, bottom),
    guide(ratioX + ratioWide * share.place(spec.bands.guide), bottom, short(spec.bands.guide)),
    cells.map((cell, row) => [
      ...box(cell, x, HEAD + row * ROW, spec.bands, t, [name, flowWide]),
      cell.ratio > 0 && s("circle.tl-ratio-dot", { cx: ratioX + ratioWide * share.place(cell.ratio), cy: HEAD + row * ROW + ROW / 2, r: 4.5 }),
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

function box(cell, x, y, bands, t, [left, wide]) {
  const middle = y + ROW / 2;
  if (cell.norm === null) {
    return [
      s("rect.tl-missing", { x: left + 1, y: y + 7, width: wide - 2, height: ROW - 14 }),
      s("text.tl-why", { x: left + 10, y: middle + 4 }, fitText(cell.why, wide - 20, 12), s("title", cell.why)),
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
    words && s("text.tl-axis.tl-warning.tl-alarm", { x: left + wide - 6, y: middle + 4, "text-anchor": "end" }, `! ${words}`),
  ];
}
