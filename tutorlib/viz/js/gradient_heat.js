// Layer × step: the norm of every gradient as a colour, and under it how far the updates moved the selected layer.
import { magnitude } from "./colours.js";
import { h, s } from "./dom.js";
import { axis, heatScale } from "./gradient_model.js";
import { NAME, NARROW, NARROW_NAME, rowsOf } from "./gradient_rows.js";
import { short } from "./numbers.js";

const [ROW, HEAD, RATIO, RIGHT] = [28, 30, 110, 26];

/** An SVG `width` px wide of all layers and steps. `on` = {choose(id), visit(id, step)}. */
export function heatPlot(spec, { step, selected, log, width }, t, on) {
  const total = spec.steps.length;
  const left = width < NARROW ? NARROW_NAME : NAME;
  const wide = width - left - RIGHT;
  const column = wide / total;
  const scale = heatScale(spec, log);
  const bottom = HEAD + ROW * spec.layers.length;
  const chart = bottom + 58;
  const svg = s("svg.tl-plot-svg", { viewBox: `0 0 ${width} ${chart + RATIO + 26}`, width, "aria-hidden": "true" },
    rowsOf(spec, selected, { top: HEAD, height: ROW, width, name: left }, on),
    s("text.tl-axis.tl-axis-name", { x: left, y: 16 }, t("ui_gradient_heat")),
    spec.layers.map(({ id }, row) => spec.cells[id].every((cell) => cell.norm === null) && noneRow(left, HEAD + row * ROW, wide, t)),
    spec.layers.map(({ id }, row) => spec.cells[id].map((cell, at) => heatCell(cell, left + at * column, HEAD + row * ROW + 2, column, scale))),
    s("rect.tl-column-now", { x: left + step * column, y: HEAD - 2, width: Math.max(2, column), height: bottom - HEAD + 4 }),
    ends(spec, left, wide, bottom + 15), legend(scale, left + wide / 2, bottom + 22), ratioChart(spec, selected, step, [left, chart, wide], t));
  svg.addEventListener("click", (event) => {
    const box = svg.getBoundingClientRect();
    const scaled = width / box.width;
    const at = Math.floor(((event.clientX - box.left) * scaled - left) / column);
    const row = Math.floor(((event.clientY - box.top) * scaled - HEAD) / ROW);
    if (at >= 0 && at < total) on.visit(spec.layers[row]?.id ?? selected, at);
  });
  return h("div", svg);
}

function heatCell(cell, x, y, wide, scale) {
  if (cell.norm === null) return null;
  const [w, tall] = [Math.max(0.6, wide - (wide > 5 ? 1 : 0)), ROW - 4];
  if (!Number.isFinite(Number(cell.norm))) {
    return [
      s("rect.tl-heat-bad", { x, y, width: w, height: tall }),
      s("path.tl-heat-cross", { d: `M${x} ${y + tall}L${x + w} ${y}` }),
    ];
  }
  return s("rect", { x, y, width: w, height: tall, fill: `rgb(${magnitude(scale.share(Number(cell.norm))).join(" ")})` });
}

/** A layer that never had a gradient. */
function noneRow(x, y, wide, t) {
  return [
    s("rect.tl-missing", { x, y: y + 4, width: wide, height: ROW - 8 }),
    s("text.tl-axis", { x: x + 10, y: y + ROW / 2 + 4 }, t("ui_gradient_none")),
  ];
}

function ends(spec, left, wide, y) {
  return [
    s("text.tl-axis", { x: left, y }, spec.steps[0].update),
    s("text.tl-axis", { x: left + wide, y, "text-anchor": "end" }, spec.steps.at(-1).update),
  ];
}

function legend(scale, middle, y) {
  const [wide, parts] = [middle < 280 ? 60 : 160, 20];
  const left = middle - wide / 2;
  const piece = wide / parts;
  return [
    Array.from({ length: parts }, (_, i) => s("rect", {
      x: left + i * piece, y: y - 16, width: piece + 0.3, height: 9, fill: `rgb(${magnitude(i / (parts - 1)).join(" ")})`,
    })),
    s("text.tl-axis", { x: left - 6, y: y - 7, "text-anchor": "end" }, `‖g‖ ${short(scale.low, 2)}`),
    s("text.tl-axis", { x: left + wide + 6, y: y - 7 }, short(scale.high, 2)),
  ];
}

/** ‖Δw‖/‖w‖ of the selected layer over the steps, with the guide. */
function ratioChart(spec, selected, step, [left, top, wide], t) {
  const layer = spec.layers.find(({ id }) => id === selected);
  const ratios = spec.cells[selected].map((cell) => (cell.ratio > 0 ? Number(cell.ratio) : null));
  const { place, ticks } = axis([...ratios.filter((ratio) => ratio !== null), spec.bands.guide], true, 4);
  const x = (at) => left + ((at + 0.5) * wide) / ratios.length;
  const y = (ratio) => top + RATIO * (1 - place(ratio));
  const d = ratios.map((ratio, at) => (ratio === null ? "" : `${at && ratios[at - 1] !== null ? "L" : "M"}${x(at)} ${y(ratio)}h.01`)).join("");
  return [
    s("text.tl-axis.tl-axis-name", { x: left, y: top - 10 }, t("ui_gradient_ratio", { name: layer.name })),
    ticks.map(([share, text]) => [
      s("path.tl-grid", { d: `M${left} ${top + RATIO * (1 - share)}h${wide}` }),
      s("text.tl-axis", { x: left - 8, y: top + RATIO * (1 - share) + 4, "text-anchor": "end" }, text),
    ]),
    s("path.tl-guide", { d: `M${left} ${y(spec.bands.guide)}h${wide}` }),
    s("path.tl-ratio-line", { d }),
    ratios[step] !== null && s("circle.tl-ratio-dot", { cx: x(step), cy: y(ratios[step]), r: 4.5 }),
  ];
}
