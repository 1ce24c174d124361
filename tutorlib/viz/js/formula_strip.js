// The strip under the toolbar: what happens at this step, as a formula and with the numbers put in.
import { h, HIDDEN, put } from "./dom.js";
import { short } from "./numbers.js";

export function formulaStrip(t) {
  const root = h("div.tl-strip", HIDDEN);
  const show = (index, event, hidden) => {
    root.dataset.phase = event?.phase ?? "";
    if (!event) {
      put(root, h("span.tl-note", index.trace.length ? t("ui_strip_start") : index.spec.summary ?? ""));
      return;
    }
    const node = index.nodes.get(event.node);
    if (hidden) {
      put(root, h("span.tl-phase", t(`phase_${event.phase}`)), h("span.tl-math", `${node.name || node.label} = ?`));
      return;
    }
    const name = node?.label || node?.op || event.node;
    const adds = event.parts?.length > 1;
    put(root,
      h("span.tl-phase", t(`phase_${event.phase}`)),
      !event.formula?.startsWith(name) && h("span.tl-strip-name", name),
      event.formula && h("span.tl-math", event.formula),
      event.numbers && !adds && h("span.tl-math.tl-numbers", event.numbers),
      adds && accumulation(index, event, t));
  };
  return { root, show };
}

const TERMS = 6;
const FEW = 6;

/** Parts of a gradient and their sum, 0.2 + 0.5 = 0.7; of many the first ones and the last. */
export function accumulation(index, event, t) {
  const text = (id) => {
    const { stats, text = "–" } = index.spec.values[id] ?? {};
    // Of long arrays the means are shown: they add up, too.
    return stats?.size > FEW && !stats.nan && !stats.inf ? `μ ${short(stats.mean, 3)}` : text;
  };
  const many = event.parts.length > TERMS;
  const shown = many ? [...event.parts.slice(0, TERMS - 2), null, event.parts.at(-1)] : event.parts;
  const terms = shown.flatMap((part, i) => [i > 0 && h("span", "+"), part ? h("b.tl-part", text(part)) : "…"]);
  return h("span.tl-sum", h("span.tl-note", t("ui_parts")), ...terms,
    h("span", "="), h("b.tl-part.tl-total", text(event.value)));
}
