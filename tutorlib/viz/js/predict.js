// Predict, then reveal: while it is on, the value of the next step is hidden until the learner has typed a guess that
// fits, or asks for it. What was guessed is kept in the trait `predictions`; the kernel can check it.
import { h, put } from "./dom.js";
import { judge } from "./guess.js";
import { eventAt, valueAt } from "./graph_model.js";
import { shapeText } from "./numbers.js";

const LEVELS = 3;
const QUESTION = { text: "?", shape: [], dtype: "", stats: { size: 1 }, thumb: null, table: null, numbers: [] };

/**
 * {root, on, toggle, limit, seen, ask, words, name, focus} for an indexed spec; `go(step)` moves the view, `leave()` takes the
 * focus back to the graph. It hides by two marks on the index that `valueAt` reads: `shown` and `asked`.
 */
export function predictor({ model, index, t, sync, go, leave }) {
  let on = Boolean(model.get("predict"));
  let entries = model.get("predictions") ?? [];
  let known = knownAt(model.get("step"));
  let at = 0;
  let used = on;
  index.spec = { ...index.spec, values: { ...index.spec.values, "?": QUESTION } };
  const values = index.spec.values;

  const field = h("input", { type: "text", class: "tl-guess", autocomplete: "off", spellcheck: "false" });
  const question = h("span.tl-question");
  const say = h("p.tl-verdict", { role: "status", "aria-live": "polite" });
  const word = (id, onclick) => h("button", { type: "button", class: "tl-word", onclick }, t(id));
  const form = h("form.tl-form", { onsubmit: submit },
    h("label", question, field), h("button.tl-word.tl-main", t("ui_predict_check")),
    word("ui_predict_hint", hint), word("ui_predict_reveal", reveal));
  const next = h("button", { type: "button", class: "tl-word tl-main", onclick: () => go(at + 1) }, t("ui_predict_next"));
  const root = h("div.tl-predict", { role: "group", "aria-label": t("ui_predict") }, form, next, say);

  /** Up to which step the values are known: an open question at `step` is not. */
  function knownAt(step) {
    const open = entries.find((entry) => entry.step === step && entry.outcome === "open");
    return Math.max(open ? step - 1 : step, ...entries.map((entry) => (entry.outcome === "open" ? 0 : entry.step)));
  }
  const asks = (step) => values[eventAt(index, step)?.value];
  const answer = () => (asks(at).numbers ? asks(at).text : shapeText(asks(at).shape));
  const hidden = () => on && at > known;
  const entry = () => entries.find((one) => one.step === at);

  /** What a screen reader hears of a node: no number that has not been revealed. */
  function words(id) {
    const node = index.nodes.get(id);
    const last = Math.max(-1, ...[id, ...(index.gradients.get(id) ?? [])].flatMap((one) => index.events.get(one) ?? []));
    if (!on || last < known) return node.spoken ?? id;
    const value = values[valueAt(index, id, known)];
    return [node.label, t(`kind_${node.kind}`), shapeText(node.shape), value && t("spoken_value", { value: value.text })].filter(Boolean).join(", ");
  }

  function write(more) {
    const { node, of } = eventAt(index, at);
    const fresh = { step: at, node: of ?? node, guesses: [], hints: 0, outcome: "open", ...entry(), ...more };
    entries = [...entries.filter((one) => one.step !== at), fresh].sort((a, b) => a.step - b.step);
    sync.set("predictions", entries);
  }

  function mark() {
    index.shown = on ? known : undefined;
    index.asked = hidden() ? eventAt(index, at).node : undefined;
    form.hidden = !hidden();
    next.hidden = hidden() || at >= index.trace.length;
    root.hidden = !on;
  }

  /** Take step `step`: returns whether its value is hidden. A step without a value of its own asks nothing. */
  function ask(step) {
    const moved = step !== at;
    at = step;
    if (on && at > known && !asks(at)) known = at;
    mark();
    if (hidden()) {
      if (!entry()) write({});
      const node = index.nodes.get(eventAt(index, at).node);
      const large = !asks(at).numbers;
      put(question, t(large ? "ui_predict_ask_shape" : "ui_predict_ask", { name: node.name || node.label }));
      field.placeholder = large ? "(2, 3)" : t("ui_predict_example");
      if (moved) field.value = "";
      if (moved) put(say);
    } else if (moved) {
      const right = entries.filter((one) => one.outcome === "right").length;
      put(say, at >= index.trace.length ? t("ui_predict_done", { right, all: entries.length }) : t("ui_predict_more"));
    }
    return hidden();
  }

  function answered(outcome, text) {
    write({ outcome });
    known = at;
    put(say, text);
    const had = root.contains(document.activeElement);
    go(at);
    if (had) (next.hidden ? field : next).focus();
  }

  function submit(event) {
    event.preventDefault();
    if (!hidden()) return;
    const guess = field.value.trim();
    const verdict = judge(guess, asks(at));
    if (verdict === "unreadable") return put(say, t("ui_predict_unreadable"));
    write({ guesses: [...(entry()?.guesses ?? []), guess] });
    if (verdict === "right") return answered("right", t("ui_predict_right", { answer: answer() }));
    return verdict === "close" ? put(say, t("ui_predict_close")) : hint(null, verdict === "count" ? "ui_predict_count" : "ui_predict_wrong");
  }

  /** One level more of help: what shape and by which rule, then with the learner's names, then with the numbers. */
  function hint(event, first) {
    const level = Math.min(LEVELS, (entry()?.hints ?? 0) + 1);
    write({ hints: level });
    const { rule, formula, numbers, inputs } = eventAt(index, at);
    const right = (text) => text?.slice(text.search(/[=→]/) + 1).trim();
    const safe = (text) => right(text) !== asks(at).text && text;
    const told = safe(numbers) && !numbers.includes("→");
    const names = inputs.map((id) => index.nodes.get(id)?.name || index.nodes.get(id)?.label).join(", ");
    const words = [
      t("ui_predict_hint_rule", { shape: shapeText(asks(at).shape), rule: safe(rule) || safe(formula) || "–" }),
      t("ui_predict_hint_names", { formula: safe(formula) || rule || "–" }),
      told && asks(at).numbers ? t("ui_predict_hint_numbers", { numbers: right(numbers) }) : t("ui_predict_hint_look", { names }),
    ];
    put(say, first && h("b", t(first), " "), words[level - 1]);
  }

  function reveal() {
    answered("revealed", t("ui_predict_revealed", { answer: answer() }));
  }

  field.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    event.stopPropagation();
    leave();
  });
  mark();

  return {
    root, ask,
    get on() {
      return on;
    },
    toggle() {
      on = !on;
      used = true;
      known = on ? knownAt(at) : known;
      sync.set("predict", on);
      put(say, t("ui_predict_more"));
    },
    limit: (step) => (on ? Math.min(step, known + 1) : step),
    seen: (step) => (on ? Math.min(step, known) : step),
    focus: () => hidden() && field.focus(),
    words,
    /** Give the nodes on the canvas names that a screen reader may read out now. */
    name(canvas) {
      if (!used) return;
      for (const node of canvas.querySelectorAll("[data-node]")) {
        node.querySelector(".tl-item")?.setAttribute("aria-label", words(node.dataset.node));
      }
    },
  };
}
