// GradientView: the gradients of a run, by layer and by step, in three plots. Everything it shows is in its traits.
import { button, setPressed, toolbar, transport } from "./controls.js";
import { h, put } from "./dom.js";
import { flowPlot } from "./gradient_flow.js";
import { heatPlot } from "./gradient_heat.js";
import * as gradient from "./gradient_model.js";
import { gradientTable } from "./gradient_table.js";
import css from "./gradient.css";
import { helpOf } from "./help.js";
import { histogram } from "./histogram.js";
import { guardKeys, leaveToCell } from "./keyguard.js";
import "./more_icons.js";
import { makePlayer } from "./player.js";
import { emptyView, follow, renderRun, UPDATE_NAMES } from "./run_view.js";
import { sidePanel } from "./shell.js";

const KEYS = [
  [["←", "→"], "ui_help_update"], [["↑", "↓"], "ui_help_layer"], [["f", "r", "h"], "ui_help_plots"], [["Home", "End"], "ui_help_ends_update"],
  [["Space"], "ui_help_play"], [["n"], "ui_help_nan"], [["l"], "ui_help_log"], [["t"], "ui_help_numbers"], [["?"], "ui_help_help"], [["Esc"], "ui_help_leave"],
];
// A plot fills the view between these widths in px.
const [LEAST, MOST, MOST_BINS] = [300, 1100, 760];
const PLOTS = { flow: "f", heat: "r", histogram: "h" };

function buildView({ model, t, shell, sync, choices, link }, startStep, startSelected) {
  const { root, status } = shell;
  const spec = model.get("spec");
  const last = spec.steps.length - 1;
  const ids = spec.layers.map((layer) => layer.id);
  if (last < 0 || !ids.length) return emptyView(root, spec.summary);
  let at = gradient.clampStep(spec, startStep === Infinity ? last : startStep);
  let selected = ids.includes(startSelected) ? startSelected : ids[0];
  let shown = model.get("view") in PLOTS ? model.get("view") : "flow";

  const plot = h("div.tl-plot", { role: "img", tabindex: "0" });
  const table = h("div.tl-scroll.tl-table-box", { tabindex: "0", role: "region", "aria-label": t("ui_gradient_numbers"), hidden: true });
  const player = makePlayer(() => moveTo(at >= last ? 0 : at + 1), (playing) => scrubber.playing(playing));
  const scrubber = transport(t, UPDATE_NAMES, {
    first: () => jump(0), back: () => jump(at - 1), forward: () => jump(at + 1), last: () => jump(last),
    play: () => player.toggle(), seek: (to) => jump(to), speed: () => player.nextSpeed(),
  });
  const plotButtons = Object.fromEntries(Object.entries(PLOTS).map(([name, key]) =>
    [name, button(name, t(`ui_gradient_${name}_plot`), () => showPlot(name), { key, pressed: false })]));
  const logButton = button("log", t("ui_log_toggle"), toggleLog, { key: "l", pressed: choices.log });
  const tableButton = button("table", t("ui_gradient_numbers"), toggleTable, { key: "t", pressed: false });
  const helpButton = button("help", t("ui_help"), toggleHelp, { key: "?", pressed: false });
  const panel = sidePanel(t, (name) => setPressed(helpButton, name === "help"));
  panel.close();
  const bar = toolbar(t("ui_toolbar"), h("div.tl-summary.tl-note", spec.summary ?? ""),
    h("div.tl-tools", Object.values(plotButtons), logButton, tableButton, helpButton));
  const body = h("div.tl-body", plot, table, panel.root);
  root.replaceChildren(root.firstChild, bar, body, h("div.tl-foot", scrubber.root), status.root);

  let width = MOST;
  /** Take the width that the plot has now; returns whether it is another one. */
  function measure() {
    const { paddingLeft, paddingRight } = getComputedStyle(plot);
    const before = width;
    const room = Math.round(plot.clientWidth - parseFloat(paddingLeft) - parseFloat(paddingRight));
    if (plot.clientWidth) width = Math.max(LEAST, Math.min(MOST, room));
    return width !== before;
  }
  const resized = new ResizeObserver(() => requestAnimationFrame(() => measure() && draw()));
  resized.observe(plot);

  const layer = () => spec.layers.find(({ id }) => id === selected);

  function draw() {
    const on = { choose: (id) => select(id), visit: (id, step) => (select(id, { draws: false }), jump(step)) };
    const seen = { step: at, selected, log: choices.log, width };
    if (shown === "flow") put(plot, flowPlot(spec, seen, t, on));
    else if (shown === "heat") put(plot, heatPlot(spec, seen, t, on));
    else put(plot, histogramPlot());
    put(table, gradientTable(spec, at, selected, t));
    logButton.disabled = shown === "histogram";
    for (const [name, node] of Object.entries(plotButtons)) setPressed(node, name === shown);
    const spoken = gradient.sentence(spec, layer(), at, t);
    plot.setAttribute("aria-label", `${t(`ui_gradient_${shown}_plot`)}. ${spec.summary} ${spoken}`);
    scrubber.set({ position: at, max: last, spoken, shown: t("ui_step_count", { step: spec.steps[at].update, all: spec.steps[last].update }) });
    status.say(spoken);
  }

  function histogramPlot() {
    const cell = spec.cells[selected][at];
    const title = h("h3", layer().name, h("span.tl-note", t("ui_gradient_of_update", { update: spec.steps[at].update })));
    if (cell.norm === null) return [title, h("p.tl-missing-note", cell.why)];
    const { hist, ticks } = gradient.histogramOf(layer(), cell);
    const before = at > 0 ? spec.cells[selected][at - 1].counts : null;
    return [
      title, histogram(hist, t, { width: Math.min(width, MOST_BINS), height: 240, ticks, before: before ? { counts: before } : undefined, label: layer().name }),
      h("p.tl-note", t(before ? "ui_gradient_bins_before" : "ui_gradient_bins")),
    ];
  }

  /** Move to a step; returns whether there is another one after it. */
  function moveTo(to, { echo = true, tell = true } = {}) {
    at = gradient.clampStep(spec, to);
    draw();
    if (echo) sync.set("step", at);
    if (tell) link.tell({ update: spec.steps[at].update });
    return at < last;
  }

  function jump(to) {
    player.stop();
    moveTo(to);
  }

  function select(id, { echo = true, tell = true, draws = true } = {}) {
    if (!ids.includes(id)) return;
    selected = id;
    if (draws) draw();
    if (echo) sync.set("selected", id);
    if (tell) link.tell({ variable: layer().name });
  }

  function showPlot(name, { echo = true } = {}) {
    if (!(name in PLOTS)) return;
    shown = name;
    if (!table.hidden) toggleTable();
    draw();
    if (echo) sync.set("view", name);
  }

  function toggleLog() {
    if (shown === "histogram") return;
    choices.log = !choices.log;
    setPressed(logButton, choices.log);
    draw();
  }

  function toggleTable() {
    table.hidden = !table.hidden;
    plot.hidden = !table.hidden;
    setPressed(tableButton, !table.hidden);
    (table.hidden ? plot : table).focus();
  }

  function toggleHelp() {
    if (panel.name === "help") panel.close();
    else panel.show("help", helpOf(KEYS, t));
  }

  function nextBad() {
    const found = gradient.nextBad(spec, selected, at);
    if (!found) return status.say(t("ui_gradient_no_nan"));
    select(found.layer, { draws: false });
    return jump(found.step);
  }

  function escape() {
    if (panel.name) panel.close();
    else if (!table.hidden) toggleTable();
    else leaveToCell(root);
  }

  const hear = (said) => follow(said, { variables: spec.layers, updates: spec.steps.map((step) => step.update), select, moveTo, player });
  const another = (way) => select(ids[ids.indexOf(selected) + way]);
  const stopGuard = guardKeys(root, {
    ArrowLeft: () => jump(at - 1), ArrowRight: () => jump(at + 1), "Shift+ArrowLeft": () => jump(at - 10), "Shift+ArrowRight": () => jump(at + 10),
    ArrowUp: () => another(-1), ArrowDown: () => another(1), Home: () => jump(0), End: () => jump(last), " ": () => last > 0 && player.toggle(),
    f: () => showPlot("flow"), r: () => showPlot("heat"), h: () => showPlot("histogram"), n: nextBad, l: toggleLog, t: toggleTable,
    "?": toggleHelp, Escape: escape,
  });
  const setHeight = (height) => body.style.setProperty("--tl-height", `${height || 500}px`);
  setHeight(model.get("height"));
  measure();
  draw();
  root.dataset.tlReady = "true";

  return {
    moveTo, select, setHeight, hear,
    plot: showPlot,
    get atEnd() {
      return at === last;
    },
    get at() {
      return at;
    },
    get selected() {
      return selected;
    },
    stop() {
      player.stop();
      stopGuard();
      resized.disconnect();
    },
  };
}

export default () => ({
  render: (page) => renderRun(page, {
    css, kind: "gradient", name: "ui_gradient_view", place: "step", choices: { log: true }, buildView,
    listens: (view, parts, heard) => ({ view: heard("view", (name, quietly) => view().plot(name, quietly)) }),
  }),
});
