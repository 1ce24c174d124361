// The strip under the toolbar: what happens at this step, as a formula and with the numbers put in.
import { h, put } from "./dom.js";

export function formulaStrip(t) {
  const root = h("div", { class: "tl-strip", "aria-hidden": "true" });
  const show = (index, event, hidden) => {
    root.dataset.phase = event?.phase ?? "";
    if (!event) {
      put(root, h("span", { class: "tl-note" }, index.trace.length ? t("ui_strip_start") : index.spec.summary ?? ""));
      return;
    }
    const node = index.nodes.get(event.node);
    if (hidden) {
      put(root, h("span", { class: "tl-phase" }, t(`phase_${event.phase}`)), h("span", { class: "tl-math" }, `${node.name || node.label} = ?`));
      return;
    }
    const name = node?.label || node?.op || event.node;
    const adds = event.parts?.length > 1;
    put(root,
      h("span", { class: "tl-phase" }, t(`phase_${event.phase}`)),
      !event.formula?.startsWith(name) && h("span", { class: "tl-strip-name" }, name),
      event.formula && h("span", { class: "tl-math" }, event.formula),
      event.numbers && !adds && h("span", { class: "tl-math tl-numbers" }, event.numbers),
      adds && accumulation(index, event, t));
  };
  return { root, show };
}

/** Parts of a gradient and their sum: 0.2 + 0.5 = 0.7. */
export function accumulation(index, event, t) {
  const text = (id) => index.spec.values[id]?.text ?? "–";
  const terms = event.parts.flatMap((part, i) => [i > 0 && h("span", {}, "+"), h("b", { class: "tl-part" }, text(part))]);
  return h("span", { class: "tl-sum" }, h("span", { class: "tl-note" }, t("ui_parts")), ...terms,
    h("span", {}, "="), h("b", { class: "tl-part tl-total" }, text(event.value)));
}
