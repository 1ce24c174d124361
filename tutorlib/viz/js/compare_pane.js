// One of the two graphs: its heading, what happens in it now, and the picture; graphs are drawn when first shown.
import { h, put } from "./dom.js";
import { drawGraph } from "./graph_canvas.js";
import { indexGraph } from "./graph_model.js";
import { markNodes, showBorn } from "./compare_marks.js";
import { bornAt, other } from "./compare_model.js";

const KEPT = 6;

/** `on` holds choose(side, id), moved(side, view, size, box), focused(side). */
export function makePane(spec, side, t, prefix, on) {
  const words = h("p.tl-note");
  const head = h("div.tl-pane-head", h("h3", spec.titles[side]), words);
  const root = h("div", { class: `tl-pane tl-pane-${side}` }, head);
  const drawn = new Map();
  let shown = null;

  function canvasOf(graph) {
    const known = drawn.get(graph);
    if (known) return known;
    const index = indexGraph(spec.graphs[graph]);
    const canvas = drawGraph(index, t, `${prefix}-${side}-${graph}`, (id) => on.choose(side, id), (...seen) => on.moved(side, ...seen));
    canvas.root.setAttribute("aria-label", `${spec.titles[side]}. ${index.spec.summary}`);
    canvas.root.addEventListener("focus", () => on.focused(side));
    const made = { index, canvas };
    drawn.set(graph, made);
    if (drawn.size > KEPT) {
      const [oldest, { canvas: gone }] = [...drawn].find(([number]) => number !== graph);
      gone.stop();
      drawn.delete(oldest);
    }
    return made;
  }

  function label(id, match) {
    const { spoken = id, fold } = shown.index.nodes.get(id);
    if (fold) return spoken;
    const theirs = match.partner[side].get(id);
    const place = t(side === "left" ? "ui_compare_on_right" : "ui_compare_on_left");
    if (theirs === undefined) return t("ui_compare_alone", { spoken, side: place });
    const node = spec.graphs[match.graphs[other(side)]].graph.nodes.find((one) => one.id === theirs);
    const changed = match.sign[side].get(id) === "~";
    return t(changed ? "ui_compare_matched_changed" : "ui_compare_matched", { spoken, other: node.label, side: place });
  }

  /** Show a step; `match` is that of both panes, with `graphs` {left, right}. */
  function setStep(step, match) {
    const state = spec.steps[step][side];
    const before = shown;
    shown = canvasOf(state.graph);
    if (before !== shown) {
      const focused = before?.canvas.root === document.activeElement;
      before?.canvas.root.remove();
      root.append(shown.canvas.root);
      if (focused) shown.canvas.root.focus({ preventScroll: true });
    }
    markNodes(shown.canvas, shown.index.spec.layout.nodes, match.sign[side]);
    showBorn(shown.canvas, bornAt(spec, step, side), new Set(state.now));
    for (const [id, { item }] of shown.canvas.nodes) item.setAttribute("aria-label", label(id, match));
    shown.canvas.setStep(state.step);
    shown.canvas.root.classList.toggle("tl-unvalued", !state.valued);
    shown.canvas.root.classList.toggle("tl-idle", !state.now.length);
    put(words, state.words);
    if (spec.compare !== "log") return;
    const changed = step ? state.now.map(shown.canvas.boxOf).filter(Boolean) : [];
    if (changed.length) shown.canvas.viewport.look(around(changed));
    else if (before && !step) shown.canvas.viewport.fit();
  }

  /** The box around boxes. */
  function around(boxes) {
    const [x, y] = [0, 1].map((i) => Math.min(...boxes.map((box) => box[i])));
    return [x, y, ...[0, 1].map((i) => Math.max(...boxes.map((box) => box[i] + box[i + 2])) - [x, y][i])];
  }

  return {
    root, setStep, label,
    get canvas() {
      return shown.canvas;
    },
    get index() {
      return shown.index;
    },
    stop() {
      for (const { canvas } of drawn.values()) canvas.stop();
    },
  };
}
