// CompareView: two graphs side by side, node matched to node. Everything it shows is in its first traits.
import { button, setPressed, toolbar, transport } from "./controls.js";
import css from "./compare.css";
import { clockOf } from "./compare_clock.js";
import { SIGNS } from "./compare_marks.js";
import * as compare from "./compare_model.js";
import { makePane } from "./compare_pane.js";
import { freshPrefix, h, HIDDEN, put } from "./dom.js";
import * as graph from "./graph_model.js";
import { helpOf } from "./help.js";
import { guardKeys, leaveToCell } from "./keyguard.js";
import { translator } from "./messages.js";
import "./more_icons.js";
import { hidePaired } from "./paired_output.js";
import { follow, relative } from "./panzoom.js";
import { makePlayer } from "./player.js";
import { searchBox } from "./search_box.js";
import { keepFocus, makeShell, outlineView, sidePanel } from "./shell.js";
import { listen, makeSync } from "./sync.js";

const KEYS = [
  [["F6"], "ui_help_pane"], [["m"], "ui_help_mismatch"], [["↓", "↑"], "ui_help_follow"], [["←", "→"], "ui_help_rank"],
  [[".", ","], "ui_help_step"], [["Space"], "ui_help_play"], [["Home", "End"], "ui_help_ends"],
  [["+", "-", "0"], "ui_help_zoom"], [["/"], "ui_help_search"], [["n"], "ui_help_nan"], [["t"], "ui_help_outline"],
  [["?"], "ui_help_help"], [["Esc"], "ui_help_leave"],
];
const STEP_NAMES = {
  first: "ui_first_step", back: "ui_step_back", backKey: ",", forward: "ui_step_forward", forwardKey: ".", last: "ui_last_step",
};
const ZOOM = 1.3;

function render({ model, el }) {
  const t = translator(model.get("messages"));
  const prefix = freshPrefix();
  const shell = makeShell(el, model, css, { label: t("ui_compare_view"), kind: "compare" });
  const sync = makeSync(model);
  let view = build();
  const stopListening = listen(model, {
    spec: () => keepFocus(shell.root, () => {
      view.stop();
      view = build();
    }),
    step: () => !sync.pending("step") && view.setStep(model.get("step"), { echo: false }),
    selected: () => !sync.pending("selected") && view.selectText(model.get("selected")),
    theme: shell.theme.update,
    height: () => view.setHeight(model.get("height")),
  });
  const showPaired = hidePaired(shell.root, model.get("key"));

  function build() {
    return buildView({ model, t, prefix, shell, sync });
  }

  return () => {
    sync.flush();
    stopListening();
    view.stop();
    shell.stop();
    showPaired();
    shell.root.remove();
  };
}

function buildView({ model, t, prefix, shell, sync }) {
  const { root, status } = shell;
  const spec = model.get("spec");
  const last = spec.steps.length - 1;
  let step = compare.clampStep(spec, model.get("step"));
  let match = null;
  let side = "left";
  let selected = null;

  const panes = Object.fromEntries(compare.SIDES.map((name) => [name, makePane(spec, name, t, prefix, {
    choose: (where, id) => {
      side = where;
      select(where, id);
      status.say(panes[where].label(id, match));
    },
    moved: (where, ...seen) => {
      const { canvas, index } = panes[compare.other(where)];
      const { k, x, y } = follow(relative(...seen), index.spec.layout.size, [canvas.root.clientWidth, canvas.root.clientHeight]);
      canvas.viewport.hold([0, 0], [x, y, k]);
    },
    focused: (where) => {
      side = where;
    },
  })]));
  const strip = h("div.tl-strip", HIDDEN);
  const outline = outlineView(spec.text, t);
  const player = makePlayer(() => setStep(step >= last ? 0 : step + 1), (playing) => steps.playing(playing));
  const slider = spec.compare === "log" ? "ui_rewrite_slider" : "ui_moment_slider";
  const steps = transport(t, { ...STEP_NAMES, slider }, {
    first: () => jump(0), back: () => jump(step - 1), forward: () => jump(step + 1), last: () => jump(last),
    play: () => player.toggle(), seek: (to) => jump(to), speed: () => player.nextSpeed(),
  });
  const search = searchBox(t, {
    find: (query) => compare.SIDES.flatMap((name) => graph.searchNodes(panes[name].index, query).map((id) => `${name} ${id}`)),
    visit: (text) => select(...compare.parseSelected(text)),
    found: (found) => {
      for (const name of compare.SIDES) {
        const own = found?.map(compare.parseSelected).filter(([where]) => where === name).map(([, id]) => id);
        panes[name].canvas.setFound(own ?? null);
      }
    },
    closed: () => panes[side].canvas.root.focus(),
  });
  const outlineButton = button("outline", t("ui_outline"), toggleOutline, { key: "t", pressed: false });
  const helpButton = button("help", t("ui_help"), toggleHelp, { key: "?", pressed: false });
  const panel = sidePanel(t, (name) => setPressed(helpButton, name === "help"));
  panel.close();
  const bar = toolbar(t("ui_toolbar"), last > 0 && steps.root,
    h("div.tl-tools", {},
      search.root,
      button("search", t("ui_search"), () => search.open(), { key: "/" }),
      button("mismatch", t("ui_compare_next"), nextMismatch, { key: "m" }),
      button("zoomOut", t("ui_zoom_out"), () => both((viewport) => viewport.zoom(1 / ZOOM)), { key: "-" }),
      button("zoomIn", t("ui_zoom_in"), () => both((viewport) => viewport.zoom(ZOOM)), { key: "+" }),
      button("fit", t("ui_fit"), () => both((viewport) => viewport.fit()), { key: "0" }),
      outlineButton, helpButton));
  const list = spec.compare === "log" ? rewriteList() : null;
  const clock = spec.compare === "modes" ? clockOf(spec, t, (to) => jump(to)) : null;
  const signs = h("ul.tl-signs", HIDDEN, SIGNS.map(([kind, mark, id]) =>
    h("li", { class: kind }, h("b", mark), t(id))));
  const graphs = h("div.tl-panes", panes.left.root, list?.root, panes.right.root);
  const body = h("div.tl-body", graphs, outline, panel.root);
  const notes = spec.notes.map((note) => h("p.tl-spec-note", note));
  root.replaceChildren(...root.querySelectorAll(":scope > style"), bar, strip, body, clock?.root ?? "", signs,
    told("ui_compare_differences", spec.compare === "graphs" ? spec.differences : []),
    told("ui_compare_near", spec.near.map(({ rule, at, where, why }) => `${rule}, ${at}${where ? ` (${where})` : ""}: ${why}`)),
    ...notes, status.root);

  function told(id, sentences) {
    if (!sentences.length) return "";
    return h("div.tl-told", h("h3", t(id)), h("ul", sentences.map((words) => h("li", words))));
  }

  /** The rewrites between the panes: a list from which one is chosen. */
  function rewriteList() {
    const items = spec.steps.map((entry, at) => h("button", { type: "button", class: "tl-rewrite", onclick: () => jump(at) },
      h("b", at ? `${at}  ${entry.title}` : entry.title), h("span.tl-math", entry.says)));
    const scroll = h("div.tl-rewrites", { role: "group", "aria-label": t("ui_compare_log") }, items);
    const moveTo = (to) => items.forEach((item, at) => {
      if (at === to) item.setAttribute("aria-current", "step");
      else item.removeAttribute("aria-current");
      if (at === to && scroll.clientHeight) {
        const { offsetTop, offsetHeight } = item;
        if (offsetTop < scroll.scrollTop) scroll.scrollTop = offsetTop;
        if (offsetTop + offsetHeight > scroll.scrollTop + scroll.clientHeight) scroll.scrollTop = offsetTop + offsetHeight - scroll.clientHeight;
      }
    });
    return { root: scroll, moveTo };
  }

  function both(act) {
    for (const name of compare.SIDES) act(panes[name].canvas.viewport);
  }

  function toggleHelp() {
    if (panel.name === "help") panel.close();
    else panel.show("help", helpOf(KEYS, t));
  }

  function toggleOutline() {
    const words = outline.hidden;
    outline.hidden = !words;
    graphs.hidden = words;
    setPressed(outlineButton, words);
    (words ? outline : panes[side].canvas.root).focus();
  }

  function showStrip({ title, says, why, where }) {
    const line = spec.compare === "modes" && where;
    put(strip, line && h("span.tl-note", where),
      h(line ? "code" : "span", { class: line ? "tl-line-code" : "tl-strip-name" }, title), says && h("span.tl-math", says),
      why && h("span.tl-note", why), where && !line && h("span.tl-note.tl-from", where));
    strip.hidden = !title;
  }

  /** Move to a step; returns whether there is another one after it. */
  function setStep(to, { echo = true } = {}) {
    step = compare.clampStep(spec, to);
    const entry = spec.steps[step];
    match = { ...compare.matchAt(spec, step), graphs: { left: entry.left.graph, right: entry.right.graph } };
    for (const name of compare.SIDES) panes[name].setStep(step, match);
    showStrip(entry);
    list?.moveTo(step);
    clock?.moveTo(step);
    steps.set({ position: step, max: last, spoken: entry.spoken, shown: t("ui_step_count", { step, all: last }) });
    if (entry.spoken) status.say(entry.spoken);
    if (selected) frame();
    if (echo) sync.set("step", step);
    return step < last;
  }

  function jump(to) {
    player.stop();
    setStep(to);
  }

  /** Frame the chosen node and its partner, and tint what was replaced together with it. */
  function frame() {
    const [where, id] = selected ?? [null, null];
    const theirs = where && match.partner[where].get(id);
    const group = where && match.together[where].get(id);
    compare.SIDES.forEach((name, at) => {
      const chosen = name === where ? id : theirs;
      panes[name].canvas.setSelected(chosen ?? "");
      const with_ = new Set(group?.[at] ?? []);
      for (const [one, { g }] of panes[name].canvas.nodes) g.classList.toggle("tl-with", with_.has(one));
    });
  }

  function select(where, id, { echo = true } = {}) {
    selected = where && panes[where].index.nodes.has(id) ? [where, id] : null;
    frame();
    if (echo) sync.set("selected", selected ? selected.join(" ") : "");
  }

  function walk(direction) {
    const { index } = panes[side];
    const start = selected?.[0] === side ? selected[1] : selected && match.partner[compare.other(side)].get(selected[1]);
    const next = start && index.nodes.has(start) ? graph.neighbour(index, start, direction) : index.order[0];
    if (!next) return;
    select(side, next);
    status.say(panes[side].label(next, match));
  }

  function tell(where, id) {
    side = where;
    select(where, id);
    status.say(panes[where].label(id, match));
  }

  function nextMismatch() {
    const all = compare.mismatches(spec, step);
    if (!all.length) return status.say(t("ui_compare_none"));
    const at = all.findIndex(([where, id]) => selected?.[0] === where && selected[1] === id);
    return tell(...all[(at + 1) % all.length]);
  }

  function nextBad() {
    const all = compare.SIDES.flatMap((name) => graph.badNodes(panes[name].index, spec.steps[step][name].step).map((id) => [name, id]));
    if (!all.length) return status.say(t("ui_no_nan"));
    const at = all.findIndex(([where, id]) => selected?.[0] === where && selected[1] === id);
    return tell(...all[(at + 1) % all.length]);
  }

  function changePane() {
    side = compare.other(side);
    panes[side].canvas.root.focus();
    status.say(spec.titles[side]);
  }

  function escape() {
    if (search.isOpen) search.close();
    else if (panel.name) panel.close();
    else if (!outline.hidden) toggleOutline();
    else leaveToCell(root);
  }

  const stopGuard = guardKeys(root, {
    F6: changePane, m: nextMismatch, n: nextBad,
    ArrowDown: () => walk("down"), ArrowUp: () => walk("up"), ArrowLeft: () => walk("left"), ArrowRight: () => walk("right"),
    Enter: () => selected && status.say(panes[selected[0]].label(selected[1], match)),
    ".": () => jump(step + 1), ",": () => jump(step - 1), " ": () => last > 0 && player.toggle(),
    Home: () => jump(0), End: () => jump(last),
    "+": () => both((viewport) => viewport.zoom(ZOOM)), "=": () => both((viewport) => viewport.zoom(ZOOM)),
    "-": () => both((viewport) => viewport.zoom(1 / ZOOM)), 0: () => both((viewport) => viewport.fit()),
    t: toggleOutline, "/": () => search.open(), "?": toggleHelp, Escape: escape,
  });

  const setHeight = (height) => body.style.setProperty("--tl-height", `${height || 480}px`);
  setHeight(model.get("height"));
  setStep(step, { echo: false });
  const selectText = (text) => select(...(compare.parseSelected(text) ?? [null, ""]), { echo: false });
  selectText(model.get("selected"));
  root.dataset.compare = spec.compare;
  root.dataset.tlReady = "true";

  const stop = () => {
    player.stop();
    stopGuard();
    for (const name of compare.SIDES) panes[name].stop();
  };
  return { setStep, selectText, setHeight, stop };
}

export default () => ({ render });
