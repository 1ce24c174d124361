// The details of one node: what it is, its value and gradient at the shown step, its formula, the line that made it.
import { button } from "./controls.js";
import { h, HIDDEN } from "./dom.js";
import { accumulation } from "./formula_strip.js";
import { faultPath, spreadOf } from "./graph_path.js";
import { math } from "./math.js";
import { gradientAt, gradientOf, isBad, stateOf, valueAt } from "./graph_model.js";
import { shapeText } from "./numbers.js";
import { valueView } from "./value_view.js";

/**
 * Sections for node `id` at `step`; `go(id)` follows a link to a neighbour, `way(ids)` marks a way through the graph
 * (none: it ends the mark) and `way.on` is the one marked now; without it no way is offered.
 */
export function detailsOf(index, id, step, t, go, way) {
  const node = index.nodes.get(id);
  return [
    heading(node, t),
    facts(node, t),
    valueSection(index, id, step, t),
    faultSection(index, id, step, t, go, way),
    gradientSection(index, id, step, t, go),
    whySection(index, id, step, t, go, way),
    formulaSection(index, node, step, t),
    sourceSection(node, t),
    linkSection(index, index.producers.get(id), "s", t("ui_producers"), go),
    linkSection(index, index.consumers.get(id), "t", t("ui_consumers"), go),
  ];
}

function section(title, ...children) {
  return h("section.tl-section", h("h4", title), ...children);
}

function heading(node, t) {
  const title = node.name ?? node.label ?? node.id;
  return h("header", { class: `tl-node-head tl-k-${node.kind}` },
    h("span.tl-chip", HIDDEN, node.letter || node.op || "·"),
    h("div", h("h3", { title }, title), h("p.tl-note", kindText(node, t))));
}

function kindText(node, t) {
  const kind = t(`kind_${node.kind}`);
  return node.op ? t("ui_kind_with_op", { kind, op: node.op }) : kind;
}

function facts(node, t) {
  const rows = [
    ["ui_shape", shapeText(node.shape) || "–"], ["ui_dtype", node.dtype], ["ui_device", node.device],
    ["ui_scope", node.scope],
  ].filter(([, text]) => text);
  return h("dl.tl-facts", rows.map(([id, text]) => h("div", h("dt", t(id)), h("dd", text))));
}

function valueSection(index, id, step, t) {
  const value = index.spec.values[valueAt(index, id, step)];
  if (value) return section(t("ui_value"), ...valueView(value, t));
  const later = stateOf(index, id, step) === "future";
  const why = index.nodes.get(id).note || t(later ? "ui_value_later" : "ui_value_none");
  return section(t("ui_value"), h("p.tl-note", why));
}

function gradientSection(index, id, step, t, go) {
  const node = index.nodes.get(id);
  if (node.kind === "gradient" || node.kind === "update") {
    const of = gradientOf(node);
    const beside = of ?? node.grad_of ?? node.update_of;
    if (!index.nodes.has(beside)) return null;
    return section(t(of ? "ui_gradient_of" : node.grad_of ? "ui_backward_of" : "ui_update_of"), link(index, beside, go));
  }
  const gradient = gradientAt(index, id, step);
  const value = index.spec.values[gradient.value];
  if (value) {
    const own = index.gradients.get(id)?.map((one) => index.trace[index.events.get(one)?.at(-1)]);
    const sum = own?.find((event) => event?.parts && event.value === gradient.value);
    return section(t("ui_gradient"), sum && accumulation(index, sum, t), ...valueView(value, t));
  }
  if (node.kind === "constant") return null;
  const why = gradient.state === "later" ? "ui_gradient_later" : "ui_no_gradient";
  return section(t("ui_gradient"), h("p.tl-note", t(why)));
}

/** Why the gradient of a node is zero, missing or not finite; a gradient node tells of the node that it belongs to. */
function whySection(index, id, step, t, go, way) {
  const of = gradientOf(index.nodes.get(id)) ?? id;
  const why = index.nodes.get(of)?.why;
  if (!why || gradientAt(index, of, step).state === "later") return null;
  return section(t(`ui_why_${why.verdict}`), why.text.map((line) => h("p.tl-say", line)),
    links(index, why.causes, go), wayButton(why.path, t, way));
}

/** Where NaN or inf in this node comes from. */
function faultSection(index, id, step, t, go, way) {
  const { fault } = index.nodes.get(id);
  if (!fault || !isBad(index.spec.values[valueAt(index, id, step)])) return null;
  const { text, inputs } = index.nodes.get(fault.origin).fault;
  const own = fault.origin === id;
  return section(t(own ? "ui_fault_here" : "ui_fault_from"), h("p.tl-say", text),
    links(index, own ? inputs : [fault.origin], go), wayButton(own ? spreadOf(index, id) : faultPath(index, id), t, way));
}

function wayButton(ids, t, way) {
  if (!way || ids.length < 2) return null;
  const on = way.on === ids.join();
  return h("button", { type: "button", class: "tl-word", "aria-pressed": String(on), onclick: () => way(on ? [] : ids) }, t("ui_way"));
}

function formulaSection(index, node, step, t) {
  const event = index.trace[index.events.get(node.id)?.findLast((at) => at < step)];
  const made = node.kind === "gradient" && event?.formula && !node.formula
    && [h("p.tl-formula", event.formula), event.parts && accumulation(index, event, t)];
  if (made) return section(t("ui_formula"), made);
  if (!node.formula) return null;
  const { forward, backward, names } = node.formula;
  const trees = names && index.spec.math?.[node.op];
  const line = (text, tree) => text && h("div.tl-formula", tree && math(tree, names, text), h("p", { class: tree ? "tl-note" : null }, text));
  return [
    section(t("ui_formula"), line(forward, trees?.forward)),
    backward?.length > 0 && section(t("ui_derivative"), h("div.tl-backward", backward.map((text, i) => line(text, trees?.backward[i])))),
  ];
}

function sourceSection(node, t) {
  const { src } = node;
  if (!src) return null;
  const lines = src.context?.length ? src.context : [src.text];
  const at = src.context?.length ? src.at : 0;
  const code = h("pre.tl-code.tl-scroll", { tabindex: "0", "aria-label": t("ui_source") },
    lines.map((line, i) => h("span", { class: i === at ? "tl-here" : null }, line || " ", "\n")));
  const copied = h("span.tl-note", { role: "status" });
  const copy = button("copy", t("ui_copy"), async () => {
    try {
      await navigator.clipboard.writeText(`${src.where}  ${src.text}`);
      copied.textContent = t("ui_copied");
    } catch {
      copied.textContent = t("ui_copy_failed");
    }
  });
  return section(t("ui_source"), h("div.tl-row", h("span.tl-where", src.where), copied, copy), code);
}

function link(index, id, go) {
  const node = index.nodes.get(id);
  const name = node.name && node.op ? `${node.name} · ${node.op}` : node.label || node.name || id;
  return h("button", { type: "button", class: `tl-link tl-k-${node.kind}`, onclick: () => go(id) },
    h("span.tl-dot", HIDDEN), name);
}

function links(index, ids, go) {
  const known = [...new Set(ids)].filter((id) => index.nodes.has(id));
  return known.length > 0 && h("div.tl-links", known.map((id) => link(index, id, go)));
}

function linkSection(index, edges, end, title, go) {
  const found = links(index, (edges ?? []).map((edge) => edge[end]), go);
  return found && section(title, found);
}
