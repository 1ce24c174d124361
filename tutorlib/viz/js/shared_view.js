// SharedView: shared variables over updates, with a scrubber. Everything it shows is in its traits.
import { chart } from "./chart.js";
import { contourView } from "./contour.js";
import { button, setPressed, toolbar, transport } from "./controls.js";
import { h, HIDDEN, put } from "./dom.js";
import { helpOf } from "./help.js";
import { guardKeys, leaveToCell } from "./keyguard.js";
import "./more_icons.js";
import { makePlayer } from "./player.js";
import { emptyView, follow, renderRun, UPDATE_NAMES } from "./run_view.js";
import css from "./shared.css";
import * as shared from "./shared_model.js";
import { momentView } from "./shared_moment.js";
import { variableRows } from "./shared_rows.js";
import { outlineView, sidePanel } from "./shell.js";
import { short } from "./numbers.js";

const KEYS = [
  [["←", "→"], "ui_help_update"], [["Shift", "←", "→"], "ui_help_ten"], [["PgUp", "PgDn"], "ui_help_event"],
  [["Home", "End"], "ui_help_ends_update"], [["Space"], "ui_help_play"], [["↑", "↓"], "ui_help_variable"],
  [["d"], "ui_help_delta"], [["b"], "ui_help_rewind"], [["l"], "ui_help_log"], [["t"], "ui_help_table"], [["?"], "ui_help_help"], [["Esc"], "ui_help_leave"],
];
const NAMED_TICKS = 6;
function buildView({ model, t, prefix, shell, sync, choices, link }, startFrame, startSelected) {
  const { root, status } = shell;
  const spec = model.get("spec");
  const last = spec.frames.length - 1;
  const ids = spec.variables.map((variable) => variable.id);
  if (last < 0 || !ids.length) return emptyView(root, spec.summary || t("ui_no_updates"));
  let at = shared.clampFrame(spec, startFrame === Infinity ? last : startFrame);
  let selected = ids.includes(startSelected) ? startSelected : ids[0];
  let followers = [];
  const when = shared.whenOf(spec);
  const variable = () => spec.variables.find(({ id }) => id === selected);

  const rows = variableRows(spec, t, prefix, (id) => select(id));
  const moment = h("div.tl-moment");
  const charts = h("div.tl-charts");
  const main = h("div.tl-story", { tabindex: "0", role: "region", "aria-label": t("ui_variable") }, moment, charts);
  const outline = outlineView(spec.text ?? "", t);
  const player = makePlayer(() => moveTo(at >= last ? 0 : at + 1), (playing) => scrubber.playing(playing));
  const scrubber = transport(t, UPDATE_NAMES, {
    first: () => jump(0), back: () => jump(at - 1), forward: () => jump(at + 1), last: () => jump(last),
    play: () => player.toggle(), seek: (to) => jump(to), speed: () => player.nextSpeed(),
  }, tickBand());
  const deltaButton = button("delta", t("ui_delta_toggle"), toggleDelta, { key: "d", pressed: choices.delta });
  const logButton = button("log", t("ui_log_toggle"), toggleLog, { key: "l", pressed: choices.log });
  const outlineButton = button("outline", t("ui_table"), toggleOutline, { key: "t", pressed: false });
  const rewindButton = button("rewind", t("ui_rewind"), askRewind, { key: "b" });
  rewindButton.disabled = !spec.rewind?.can;
  if (spec.rewind?.why) rewindButton.title = spec.rewind.why;
  const helpButton = button("help", t("ui_help"), toggleHelp, { key: "?", pressed: false });
  const panel = sidePanel(t, (name) => setPressed(helpButton, name === "help"));
  panel.close();
  const bar = toolbar(t("ui_toolbar"), h("div.tl-summary.tl-note", spec.summary ?? ""),
    h("div.tl-tools", rewindButton, deltaButton, logButton, outlineButton, helpButton));
  const body = h("div.tl-body", rows.root, main, outline, panel.root);
  const foot = h("div.tl-foot", scrubber.root);
  root.replaceChildren(root.firstChild, bar, body, foot, status.root);

  function tickBand() {
    const found = shared.ticks(spec);
    const named = found.length <= NAMED_TICKS;
    const marks = found.map(({ frame, kind, text }) =>
      h("span", { class: `tl-tick tl-tick-${kind}`, title: text, style: `--at:${last ? frame / last : 0}` }, kind === "nan" ? "!" : named && text));
    return h("div.tl-ticks", HIDDEN, marks);
  }

  function drawCharts() {
    const lines = shared.lines(spec, variable());
    const isNorm = lines.length === 1 && !shared.isSingle(variable());
    const loss = shared.losses(spec);
    const title = t(isNorm ? "ui_chart_norm" : "ui_chart_value", { name: variable().name });
    const narrow = Boolean(spec.contour || loss);
    const drawn = (curves, title, others) => chart(curves, {
      title, label: t("ui_chart_spoken", { title, all: last }), log: choices.log, seek: jump, when, others, narrow,
    });
    followers = [drawn(lines, title, shared.otherLines(spec, variable(), lines.length))];
    const second = shared.losses(spec, true);
    if (loss) followers.push(drawn([{ name: "", series: loss }], t("ui_chart_loss"), second ? [{ name: "", series: second }] : []));
    const column = followers.map((follower) => follower.root);
    if (spec.contour) {
      const [a, b] = spec.contour.names;
      followers.push(contourView(spec.contour, {
        title: t("ui_contour", { a, b }), label: t("ui_contour_spoken", { a, b, low: short(spec.contour.low), high: short(spec.contour.high) }), seek: jump,
      }));
    }
    put(charts, spec.contour ? [followers.at(-1).root, h("div", { class: "tl-column" }, column)] : column);
  }

  function askRewind() {
    if (rewindButton.disabled) return status.say(spec.rewind?.why || t("ui_rewind"));
    player.stop();
    status.say(t("ui_rewind_asked", { update: spec.frames[at].update }));
    model.set("wanted", spec.frames[at].update);
    return model.save_changes();
  }

  const hear = (said) => follow(said, { variables: spec.variables, updates: spec.frames.map((frame) => frame.update), select, moveTo, player });

  function toggleDelta() {
    choices.delta = !choices.delta;
    setPressed(deltaButton, choices.delta);
    show();
  }

  function toggleLog() {
    choices.log = !choices.log;
    setPressed(logButton, choices.log);
    drawCharts();
    show();
  }

  function toggleOutline() {
    const words = outline.hidden;
    outline.hidden = !words;
    rows.root.hidden = main.hidden = words;
    setPressed(outlineButton, words);
    (words ? outline : rows.root).focus();
  }

  function toggleHelp() {
    if (panel.name === "help") panel.close();
    else panel.show("help", helpOf(KEYS, t));
  }

  function show() {
    const frame = spec.frames[at];
    rows.moveTo(at);
    for (const follower of followers) follower.moveTo(at);
    put(moment, momentView(spec, variable(), at, t, choices.delta));
    const spoken = t("ui_update_spoken", {
      update: frame.update, all: spec.frames[last].update, name: variable().name, norm: short(frame.norm?.[selected]),
      change: shared.percent(frame.change?.[selected]),
    });
    scrubber.set({ position: at, max: last, spoken, shown: t("ui_step_count", { step: frame.update, all: spec.frames[last].update }) });
    status.say(spoken);
  }

  /** Move to a frame; returns whether there is another one after it. */
  function moveTo(to, { echo = true, tell = true } = {}) {
    at = shared.clampFrame(spec, to);
    show();
    if (echo) sync.set("frame", at);
    if (tell) link.tell({ update: spec.frames[at].update });
    return at < last;
  }

  function jump(to) {
    if (to === null) return;
    player.stop();
    moveTo(to);
  }

  function select(id, { echo = true, tell = true } = {}) {
    if (!ids.includes(id)) return;
    selected = id;
    rows.select(id);
    drawCharts();
    show();
    if (echo) sync.set("selected", id);
    if (tell) link.tell({ variable: variable().name });
  }

  const nextVariable = (way) => select(ids[ids.indexOf(selected) + way]);

  function escape() {
    if (panel.name) panel.close();
    else if (!outline.hidden) toggleOutline();
    else leaveToCell(root);
  }

  const stopGuard = guardKeys(root, {
    ArrowLeft: () => jump(at - 1), ArrowRight: () => jump(at + 1),
    "Shift+ArrowLeft": () => jump(at - 10), "Shift+ArrowRight": () => jump(at + 10),
    PageUp: () => jump(shared.eventFrom(spec, at, -1)), PageDown: () => jump(shared.eventFrom(spec, at, 1)),
    Home: () => jump(0), End: () => jump(last), " ": () => last > 0 && player.toggle(),
    ArrowUp: () => nextVariable(-1), ArrowDown: () => nextVariable(1),
    d: toggleDelta, b: askRewind, l: toggleLog, t: toggleOutline, "?": toggleHelp, Escape: escape,
  });

  const setHeight = (height) => body.style.setProperty("--tl-height", `${height || 420}px`);
  setHeight(model.get("height"));
  select(selected, { echo: false, tell: false });
  root.dataset.tlReady = "true";

  return {
    moveTo, select, setHeight, hear,
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
    },
  };
}

export default () => ({
  render: (page) => renderRun(page, {
    css, kind: "shared", name: "ui_shared_view", place: "frame", choices: { delta: true, log: false }, buildView,
    listens: (view, { model, shell }) => ({ notice: () => model.get("notice") && shell.status.say(model.get("notice")) }),
  }),
});
