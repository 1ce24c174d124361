// The list of shared variables: name, shape, the number or norm at the shown update, and two sparklines.
import { sparkline } from "./chart.js";
import { h, put } from "./dom.js";
import { shapeText, short } from "./numbers.js";
import { changes, isSingle, levels, otherChanges, otherLines, percent, whenOf } from "./shared_model.js";

/** {root, moveTo(frame), select(id)}; `choose(id)` hears of clicks. */
export function variableRows(spec, t, prefix, choose) {
  const when = whenOf(spec);
  const rows = spec.variables.map((variable, i) => {
    const level = sparkline(levels(spec, variable), { when, other: otherLines(spec, variable, 1)[0]?.series });
    const change = sparkline(changes(spec, variable), { height: 24, kind: "change", when, other: otherChanges(spec, variable) });
    const number = h("b");
    const share = h("span.tl-note");
    const root = h("div.tl-option", { role: "option", id: `${prefix}-o${i}`, "aria-selected": "false", onclick: () => choose(variable.id) },
      h("div.tl-option-name", h("b", { title: variable.name }, variable.name), h("span.tl-note", `${variable.dtype} ${shapeText(variable.shape)}`)),
      h("div.tl-option-line", level.root, h("div.tl-reading", h("span.tl-note", t(isSingle(variable) ? "ui_value_short" : "ui_stat_norm")), number)),
      h("div.tl-option-line", change.root, h("div.tl-reading", h("span.tl-note", t("ui_change")), share)));
    const moveTo = (frame) => {
      level.moveTo(frame);
      change.moveTo(frame);
      const at = spec.frames[frame];
      const value = spec.values[at.values[variable.id]];
      put(number, isSingle(variable) && value ? value.text : short(at.norm?.[variable.id]));
      put(share, percent(at.change?.[variable.id]));
    };
    return { id: variable.id, root, moveTo };
  });
  const root = h("div.tl-list", { role: "listbox", tabindex: "0", "aria-label": t("ui_variables") }, rows.map((row) => row.root));
  return {
    root,
    moveTo: (frame) => rows.forEach((row) => row.moveTo(frame)),
    select(id) {
      for (const row of rows) {
        const chosen = row.id === id;
        row.root.setAttribute("aria-selected", String(chosen));
        if (!chosen) continue;
        root.setAttribute("aria-activedescendant", row.root.id);
        row.root.scrollIntoView?.({ block: "nearest" });
      }
    },
  };
}
