// One variable at one update: what changed it, the arithmetic of the change, returned beside stored, value and change in full.
import { h } from "./dom.js";
import { shapeText, short } from "./numbers.js";
import { arithmetic, momentOf } from "./shared_model.js";
import { valueView } from "./value_view.js";

const HEATMAP = 210;
const CARD_NUMBERS = 6;

/** Nodes for `variable` at frame `at`; `withDelta` shows the change too. */
export function momentView(spec, variable, at, t, withDelta) {
  const frame = spec.frames[at];
  const moment = momentOf(spec, variable, at);
  const told = withDelta ? frame.sums?.[variable.id] : null;
  const sums = told?.whole ? null : arithmetic(moment);
  const fits = sums || told?.whole;
  const outline = frame.outline?.[variable.id];
  return [
    h("header.tl-moment-head", {},
      h("h3", variable.name),
      h("span.tl-note", `${variable.dtype} ${shapeText(variable.shape)}`),
      frame.loss !== null && frame.loss !== undefined && h("span.tl-loss", t("ui_loss", { loss: short(frame.loss) })),
      h("span.tl-by", byText(frame, t)),
      (frame.marks ?? []).map((mark) => h("span.tl-tag", String(mark)))),
    told && h("p.tl-rule-text", told.formula),
    h("div.tl-update", told ? ruleView(told, t) : sums && arithmeticView(sums, variable, t, withDelta), returnedView(frame, moment, t)),
    !fits && moment.now && h("div.tl-pair", {},
      part(t("ui_stored_value"), valueView(moment.now, t, { size: HEATMAP, outline })),
      withDelta && moment.delta && part(t("ui_delta"), valueView(moment.delta, t, { size: HEATMAP }))),
  ];
}

function byText(frame, t) {
  if (frame.update === 0) return t("ui_at_start");
  return t("ui_update_by", { update: frame.update, by: frame.by });
}

function part(title, contents) {
  return h("section.tl-section", h("h4", title), contents);
}

/** The learner's expression with the numbers of each element put in; of a large variable, of the few that moved most. */
function ruleView({ rows, whole }, t) {
  return h("div.tl-rules", { role: "group", "aria-label": t("ui_arithmetic") },
    !whole && h("h4", t("ui_moved_most")),
    rows.map(([place, numbers, result]) => h("p.tl-rule-line", {},
      h("span.tl-note", place), h("span.tl-math", numbers),
      h("span.tl-arrow", { "aria-label": t("ui_becomes"), role: "img" }, "→"), h("b.tl-after", result))));
}

/** `2 + 1 → 3`, one line for each number; without the change, `2 → 3`. */
function arithmeticView(sums, variable, t, withDelta) {
  return h("div.tl-sums", { role: "group", "aria-label": t("ui_arithmetic") },
    sums.map(({ before, sign, step, after }, i) => h("p.tl-line-sum", {},
      h("span.tl-note", sums.length > 1 ? `${variable.name}[${i}]` : variable.name),
      h("span", before),
      h("span.tl-sign-of", withDelta && sign), h("span.tl-step", withDelta && step),
      h("span.tl-arrow", { "aria-label": t("ui_becomes"), role: "img" }, "→"), h("b.tl-after", after))));
}

/** What the call gave back beside what is stored now: the two differ by one update. */
function returnedView(frame, moment, t) {
  const many = !moment.now || moment.now.stats.size > CARD_NUMBERS;
  if (many || frame.returned === null || frame.returned === undefined) return null;
  return h("div.tl-cards", {},
    card("tl-returned", t("ui_returned"), String(frame.returned), t("ui_returned_note")),
    card("tl-stored", t("ui_stored"), moment.now.text, t("ui_stored_note")));
}

function card(kind, title, text, note) {
  return h("div", { class: `tl-card ${kind}` }, h("h4", title), h("p.tl-big", text), h("p.tl-note", note));
}
