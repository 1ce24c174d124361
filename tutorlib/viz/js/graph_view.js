// GraphView: a computation graph to explore and to step through. Everything it shows is in its first traits.
import { button, setPressed, toolbar, transport } from "./controls.js";
import { freshPrefix, h } from "./dom.js";
import { exportPanel } from "./export.js";
import { formulaStrip } from "./formula_strip.js";
import { drawGraph } from "./graph_canvas.js";
import { detailsOf } from "./graph_details.js";
import { scopesAround } from "./graph_fold.js";
import { makeFolding } from "./graph_folding.js";
import { legendOf } from "./graph_legend.js";
import * as graph from "./graph_model.js";
import css from "./graph.css";
import { helpOf } from "./help.js";
import { guardKeys, leaveToCell } from "./keyguard.js";
import { translator } from "./messages.js";
import { hidePaired } from "./paired_output.js";
import { faultPath, faultsFirst, pathMarker, spreadOf } from "./graph_path.js";
import { phaseBand } from "./phase_band.js";
import { makePlayer } from "./player.js";
import { predictor } from "./predict.js";
import { searchBox } from "./search_box.js";
import { keepFocus, makeShell, outlineView, sidePanel } from "./shell.js";
import { joinLink, nodeOf, saidOf } from "./links.js";
import { listen, makeSync } from "./sync.js";

const KEYS = [
  [["↓", "↑"], "ui_help_follow"], [["←", "→"], "ui_help_rank"], [["Enter"], "ui_help_details"],
  [[".", ","], "ui_help_step"], [["Space"], "ui_help_play"], [["Home", "End"], "ui_help_ends"],
  [["f", "b", "u"], "ui_help_phase"], [["+", "-", "0"], "ui_help_zoom"], [["/"], "ui_help_search"],
  [["Enter", "Shift+Enter"], "ui_help_fold"], [["e", "c"], "ui_help_fold_all"],
  [["n"], "ui_help_nan"], [["p"], "ui_help_predict"], [["t"], "ui_help_outline"], [["s"], "ui_help_export"], [["L"], "ui_help_legend"], [["?"], "ui_help_help"], [["Esc"], "ui_help_leave"],
];
const STEP_NAMES = {
  first: "ui_first_step", back: "ui_step_back", backKey: ",", forward: "ui_step_forward", forwardKey: ".",
  last: "ui_last_step", slider: "ui_step_slider",
};
const ZOOM = 1.3;
const WIDE = 720;

function render({ model, el }) {
  const t = translator(model.get("messages"));
  const prefix = freshPrefix();
  const shell = makeShell(el, model, css, { label: t("ui_graph_view"), kind: "graph" });
  const sync = makeSync(model);
  const link = joinLink(model, (said) => view.hear(said));
  // The legend is open on the first graph of a page, where there is room for it; afterwards as the person left it.
  const parts = {
    model, t, prefix, shell, sync, link,
    legend: !document.querySelector('.tl-graph[data-tl-ready="true"]') && (shell.root.clientWidth || WIDE) >= WIDE,
  };
  let view = build();
  const stopListening = listen(model, {
    spec: rebuild,
    predict: () => !sync.pending("predict") && rebuild(),
    step: () => !sync.pending("step") && view.setStep(model.get("step"), { echo: false }),
    selected: () => !sync.pending("selected") && view.select(model.get("selected"), { echo: false }),
    collapsed: () => !sync.pending("collapsed") && view.fold(model.get("collapsed")),
    view: () => view.addView(model.get("view")),
    theme: shell.theme.update,
    height: () => view.setHeight(model.get("height")),
  });
  function rebuild() {
    keepFocus(shell.root, () => {
      view.stop();
      view = build();
    });
  }

  const showPaired = hidePaired(shell.root, model.get("key"));

  function build() {
    return buildView(parts);
  }

  return () => {
    sync.flush();
    stopListening();
    link.stop();
    view.stop();
    shell.stop();
    showPaired();
    shell.root.remove();
  };
}

function buildView(parts) {
  const { model, t, prefix, shell: { root, status }, sync, link } = parts;
  const spec = model.get("spec");
  const index = graph.indexGraph(spec);
  const total = index.trace.length;
  let step = graph.clampStep(index, model.get("step"));
  let selected = "";
  let cameFrom = null;

  const predict = predictor({
    model, index, t, sync, leave: () => canvas.root.focus(),
    go: (to) => {
      jump(to);
      predict.focus();
    },
  });
  const draw = () => drawGraph(index, t, prefix, (id) => {
    select(id);
    enter();
  });
  let canvas = draw();
  let mark = pathMarker(canvas.root, prefix, index);
  const way = (ids) => {
    way.ids = ids;
    mark(ids.map(seen));
    way.on = ids.join();
    showDetails();
  };
  const seen = (id) => index.spec.places.get(id) ?? id;
  const folding = makeFolding(spec, model.get("views") ?? [], {
    show: showView, say: (text) => status.say(text), t,
    ask(collapsed) {
      sync.set("collapsed", collapsed);
      sync.flush();
    },
  });
  const whole = graph.indexGraph(spec, { collapsed: [] });
  const outline = outlineView(index.spec.text ?? "", t);
  const strip = formulaStrip(t);
  const band = phaseBand(t);
  band.show(index.phases, total);
  const panel = sidePanel(t, (name) => {
    parts.legend = name === "legend";
    setPressed(legendButton, name === "legend");
    setPressed(helpButton, name === "help");
    setPressed(exportButton, name === "export");
  });
  const player = makePlayer(() => setStep(step >= total ? 1 : step + 1), (playing) => steps.playing(playing));
  const steps = transport(t, STEP_NAMES, {
    first: () => jump(0), back: () => jump(step - 1), forward, last: () => jump(total),
    play: () => player.toggle(), seek: (to) => jump(to), speed: () => player.nextSpeed(),
  }, band.root);
  const search = searchBox(t, {
    find: (query) => graph.searchNodes(whole, query),
    visit,
    found: (ids) => canvas.setFound(ids),
    closed: () => canvas.root.focus(),
  });
  const outlineButton = button("outline", t("ui_outline"), toggleOutline, { key: "t", pressed: false });
  const predictButton = button("predict", t("ui_predict"), togglePredict, { key: "p", pressed: predict.on });
  const exportButton = button("export", t("ui_export"), toggleExport, { key: "s", pressed: false });
  const legendButton = button("legend", t("ui_legend"), toggleLegend, { key: "L", pressed: false });
  const helpButton = button("help", t("ui_help"), toggleHelp, { key: "?", pressed: false });
  const bar = toolbar(t("ui_toolbar"),
    total > 0 && steps.root,
    h("div.tl-tools", {},
      search.root,
      button("search", t("ui_search"), () => search.open(), { key: "/" }),
      button("zoomOut", t("ui_zoom_out"), () => canvas.viewport.zoom(1 / ZOOM), { key: "-" }),
      button("zoomIn", t("ui_zoom_in"), () => canvas.viewport.zoom(ZOOM), { key: "+" }),
      button("fit", t("ui_fit"), () => canvas.viewport.fit(), { key: "0" }),
      total > 0 && predictButton, outlineButton, exportButton, legendButton, helpButton));
  const body = h("div.tl-body", canvas.root, outline, panel.root);
  const notes = (index.spec.notes ?? []).map((note) => h("p.tl-spec-note", note));
  root.replaceChildren(root.firstChild, bar, strip.root, predict.root, body, ...notes, status.root);

  /** Draw the graph folded in another way; what was selected stays where it is in the window. */
  function showView(next) {
    const old = canvas;
    const before = old.boxOf(selected) && old.viewport.where(old.boxOf(selected));
    Object.assign(index, graph.indexGraph({ ...spec, values: index.spec.values }, next));
    canvas = draw();
    mark = pathMarker(canvas.root, prefix, index);
    if (way.ids) mark(way.ids.map(seen));
    canvas.root.hidden = old.root.hidden;
    old.stop();
    const focused = document.activeElement === old.root;
    old.root.replaceWith(canvas.root);
    if (focused) canvas.root.focus({ preventScroll: true });
    outline.textContent = index.spec.text;
    // A scope's two pills become one title.
    const id = [selected, selected.replace(/g$/, ""), seen(selected)].find((one) => index.nodes.has(one));
    selected = "";
    if (before && canvas.boxOf(id)) canvas.viewport.hold(canvas.boxOf(id), before);
    setStep(step, { echo: false, quiet: true });
    select(id ?? "");
    search.again();
  }

  function visit(id, open) {
    select(seen(id));
    if (open) folding.open(scopesAround(spec, whole.nodes.get(id).scope).map((scope) => scope.id), () => select(seen(id)));
  }

  /** Enter and click: a scope opens or closes, anything else shows its details. */
  function enter() {
    const node = index.nodes.get(selected);
    if (!node?.fold) return showDetails();
    return folding.toggle(node.fold, () => status.say(t(node.open ? "ui_fold_closed" : "ui_fold_opened", { scope: node.fold })));
  }

  function foldAround() {
    const node = index.nodes.get(selected);
    const scope = node?.open ? node.fold : node?.scope;
    if (scope) folding.toggle(scopesAround(spec, scope)[0].id);
  }

  function showDetails() {
    if (!selected) select(graph.eventAt(index, step)?.node ?? index.order[0]);
    if (!selected) return;
    panel.show("details", detailsOf(index, selected, predict.seen(step), t, (id) => {
      select(id);
      showDetails();
    }, way));
  }

  function togglePredict() {
    predict.toggle();
    setPressed(predictButton, predict.on);
    if (predict.on && !outline.hidden) toggleOutline();
    setStep(step);
    predict.focus();
  }

  function toggleLegend() {
    if (panel.name === "legend") panel.close();
    else panel.show("legend", legendOf(index.spec, t));
  }

  function toggleExport() {
    if (panel.name === "export") panel.close();
    else panel.show("export", exportPanel(model, t, canvas.root.querySelector(".tl-svg"), index.spec.summary ?? ""));
  }

  function toggleHelp() {
    if (panel.name === "help") panel.close();
    else panel.show("help", helpOf(KEYS, t));
  }

  function toggleOutline() {
    const words = outline.hidden;
    if (words && predict.on && predict.seen(total) < total) return status.say(t("ui_predict_outline"));
    outline.hidden = !words;
    canvas.root.hidden = words;
    setPressed(outlineButton, words);
    return (words ? outline : canvas.root).focus();
  }

  /** Move to a step; returns whether there is another one after it. */
  function setStep(to, { echo = true, quiet = false } = {}) {
    step = predict.limit(graph.clampStep(index, to));
    const event = graph.eventAt(index, step);
    const hidden = predict.ask(step);
    canvas.setStep(step);
    predict.name(canvas.root);
    strip.show(index, event, hidden);
    band.moveTo(step);
    const spoken = hidden ? t("ui_predict_spoken", { step, all: total, name: index.nodes.get(event.node).label })
      : event?.spoken ?? t("ui_step_start", { all: total });
    steps.set({ position: step, max: total, spoken, shown: t("ui_step_count", { step, all: total }) });
    if (total && !quiet) status.say(spoken);
    if (panel.name === "details") showDetails();
    if (echo) sync.set("step", step);
    return step < total && !hidden;
  }

  function forward() {
    jump(step + 1);
    predict.focus();
  }

  function jump(to) {
    player.stop();
    setStep(to);
  }

  function select(id, { echo = true, tell = echo } = {}) {
    if (id === selected) return;
    cameFrom = selected;
    selected = index.nodes.has(id) ? id : "";
    canvas.setSelected(selected);
    if (panel.name === "details") showDetails();
    if (echo) sync.set("selected", selected);
    if (tell && selected) link.tell(saidOf(index.nodes, selected));
  }

  function walk(direction) {
    const start = graph.eventAt(index, step)?.node ?? index.order[0];
    const next = selected ? graph.neighbour(index, selected, direction, cameFrom) : start;
    if (!next) return;
    select(next);
    status.say(predict.words(next));
  }

  function nextBad() {
    const bad = faultsFirst(index, graph.badNodes(index, predict.seen(step)));
    if (!bad.length) return status.say(t("ui_no_nan"));
    const next = bad[(bad.indexOf(selected) + 1) % bad.length];
    select(next);
    const { fault } = index.nodes.get(next);
    way(!fault ? [] : fault.origin === next ? spreadOf(index, next) : faultPath(index, next));
    return status.say([predict.words(next), fault?.text].filter(Boolean).join(". "));
  }

  function toPhase(phase) {
    const to = graph.phaseStep(index, phase, step);
    if (to === null) status.say(t("ui_no_phase", { phase: t(`phase_${phase}`) }));
    else jump(to);
  }

  function escape() {
    if (way.on) way([]);
    else if (search.isOpen) search.close();
    else if (panel.name && panel.name !== "legend") panel.close();
    else if (!outline.hidden) toggleOutline();
    else leaveToCell(root);
  }

  const stopGuard = guardKeys(root, {
    ArrowDown: () => walk("down"), ArrowUp: () => walk("up"), ArrowLeft: () => walk("left"), ArrowRight: () => walk("right"),
    Enter: enter, "Shift+Enter": foldAround, e: () => folding.all(false), c: () => folding.all(true), ".": forward, ",": () => jump(step - 1), " ": () => total && player.toggle(),
    Home: () => jump(0), End: () => jump(total),
    f: () => toPhase("forward"), b: () => toPhase("backward"), u: () => toPhase("update"),
    "+": () => canvas.viewport.zoom(ZOOM), "=": () => canvas.viewport.zoom(ZOOM), "-": () => canvas.viewport.zoom(1 / ZOOM),
    0: () => canvas.viewport.fit(), t: toggleOutline, "/": () => search.open(), n: nextBad, p: () => total && togglePredict(), s: toggleExport,
    l: toggleLegend, L: toggleLegend, "?": toggleHelp, Escape: escape,
  });

  const setHeight = (height) => body.style.setProperty("--tl-height", `${height || 420}px`);
  setHeight(model.get("height"));
  if (parts.legend) toggleLegend();
  else panel.close();
  select(model.get("selected"), { echo: false });
  setStep(step, { echo: false });
  root.dataset.tlReady = "true";

  const stop = () => {
    player.stop();
    stopGuard();
    folding.stop();
    canvas.stop();
  };
  const hear = (said) => {
    const id = nodeOf(whole.nodes, said);
    if (id) select(seen(id), { tell: false });
  };
  return { setStep, select, setHeight, hear, fold: (collapsed) => folding.go(collapsed), addView: folding.add, stop };
}

export default () => ({ render });
