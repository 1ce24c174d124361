// The same numbers as a table: every layer at one step.
import { h } from "./dom.js";
import { isBadCell } from "./gradient_model.js";
import { short } from "./numbers.js";

const COLUMNS = ["norm", "least", "median", "most", "ratio", "zero", "nan", "inf"];

export function gradientTable(spec, step, selected, t) {
  const head = h("tr", h("th", { scope: "col" }, t("ui_gradient_col_layer")), COLUMNS.map((id) => h("th", { scope: "col" }, t(`ui_gradient_col_${id}`))));
  const rows = spec.layers.map((layer) => {
    const cell = spec.cells[layer.id][step];
    const name = h("th", { scope: "row" }, layer.name);
    const look = { class: layer.id === selected ? "tl-picked" : null };
    if (cell.norm === null) return h("tr", look, name, h("td.tl-left", { colspan: COLUMNS.length }, cell.why));
    const [least, , median, , most] = cell.q;
    const numbers = [cell.norm, least, median, most, cell.ratio].map((number) => short(number));
    return h("tr", look, name, numbers.map((text) => h("td", text)), h("td", cell.zero),
      [cell.nan, cell.pos_inf + cell.neg_inf].map((count) => h("td", { class: count && isBadCell(cell) ? "tl-warning" : null }, count)));
  });
  const caption = h("caption.tl-note", t("ui_gradient_table", { update: spec.steps[step].update }));
  return h("table.tl-table.tl-gradient-table", caption, h("thead", head), h("tbody", rows));
}
