// The details of one node: what it is, its value and gradient at the shown step, its formula, the line that made it.
import { button } from "./controls.js";
import { h } from "./dom.js";
import { gradientAt, isBad, stateOf, valueAt } from "./graph_model.js";
import { shapeText } from "./numbers.js";
import { valueView } from "./value_view.js";

/** Sections for node `id` at `step`; `go(id)` follows a link to a neighbour. */
export function detailsOf(index, id, step, t, go) {
  const node = index.nodes.get(id);
  return [
    heading(node, t),
    facts(node, t),
    valueSection(index, id, step, t),
    gradientSection(index, id, step, t, go),
    formulaSection(node, t),
    sourceSection(node, t),
    linkSection(index, index.producers.get(id), "s", t("ui_producers"), go),
    linkSection(index, index.consumers.get(id), "t", t("ui_consumers"), go),
  ];
}

function section(title, ...children) {
  return h("section", { class: "tl-section" }, h("h4", {}, title), ...children);
}

function heading(node, t) {
  const title = node.name ?? node.label ?? node.id;
  return h("header", { class: `tl-node-head tl-k-${node.kind}` },
    h("span", { class: "tl-chip", "aria-hidden": "true" }, node.letter || node.op || "·"),
    h("div", {}, h("h3", { title }, title), h("p", { class: "tl-note" }, kindText(node, t))));
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
  return h("dl", { class: "tl-facts" }, rows.map(([id, text]) => h("div", {}, h("dt", {}, t(id)), h("dd", {}, text))));
}

function valueSection(index, id, step, t) {
  const value = index.spec.values[valueAt(index, id, step)];
  if (value) {
    return section(t("ui_value"), isBad(value) && h("p", { class: "tl-warning" }, t("ui_not_finite")),
      ...valueView(value, t));
  }
  const later = stateOf(index, id, step) === "future";
  const why = index.nodes.get(id).note || t(later ? "ui_value_later" : "ui_value_none");
  return section(t("ui_value"), h("p", { class: "tl-note" }, why));
}

function gradientSection(index, id, step, t, go) {
  const node = index.nodes.get(id);
  if (node.kind === "gradient" || node.kind === "update") {
    const of = node.grad_of ?? node.update_of;
    if (!of || !index.nodes.has(of)) return null;
    return section(t(node.kind === "gradient" ? "ui_gradient_of" : "ui_update_of"), link(index, of, go));
  }
  const gradient = gradientAt(index, id, step);
  const value = index.spec.values[gradient.value];
  if (value) return section(t("ui_gradient"), ...valueView(value, t));
  if (node.kind === "constant") return null;
  const why = gradient.state === "later" ? "ui_gradient_later" : "ui_gradient_none";
  return section(t("ui_gradient"), h("p", { class: "tl-note" }, t(why)));
}

function formulaSection(node, t) {
  if (!node.formula) return null;
  const backward = [node.formula.backward ?? []].flat();
  return section(t("ui_formula"),
    node.formula.forward && h("p", { class: "tl-formula" }, node.formula.forward),
    backward.map((line) => h("p", { class: "tl-formula tl-backward" }, line)));
}

function sourceSection(node, t) {
  const { src } = node;
  if (!src) return null;
  const lines = src.context?.length ? src.context : [src.text];
  const at = src.context?.length ? src.at : 0;
  const code = h("pre", { class: "tl-code tl-scroll", tabindex: "0", "aria-label": t("ui_source") },
    lines.map((line, i) => h("span", { class: i === at ? "tl-here" : null }, line || " ", "\n")));
  const copied = h("span", { class: "tl-note", role: "status" });
  const copy = button("copy", t("ui_copy"), async () => {
    try {
      await navigator.clipboard.writeText(src.text);
      copied.textContent = t("ui_copied");
    } catch {
      copied.textContent = t("ui_copy_failed");
    }
  });
  return section(t("ui_source"), h("div", { class: "tl-row" }, h("span", { class: "tl-where" }, src.where), copied, copy), code);
}

function link(index, id, go) {
  const node = index.nodes.get(id);
  const name = node.name && node.op ? `${node.name} · ${node.op}` : node.label || node.name || id;
  return h("button", { type: "button", class: `tl-link tl-k-${node.kind}`, onclick: () => go(id) },
    h("span", { class: "tl-dot", "aria-hidden": "true" }), name);
}

function linkSection(index, edges, end, title, go) {
  const ids = [...new Set((edges ?? []).map((edge) => edge[end]))].filter((id) => index.nodes.has(id));
  if (!ids.length) return null;
  return section(title, h("div", { class: "tl-links" }, ids.map((id) => link(index, id, go))));
}
