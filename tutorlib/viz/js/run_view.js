// What the two views of a run share: they start alike, keep their place when more updates come, and follow links alike.
import { freshPrefix, h } from "./dom.js";
import { joinLink, placeOf } from "./links.js";
import { translator } from "./messages.js";
import { hidePaired } from "./paired_output.js";
import { keepFocus, makeShell } from "./shell.js";
import { listen, makeSync } from "./sync.js";

/** The names of a transport that moves over updates. */
export const UPDATE_NAMES = {
  first: "ui_first_update", back: "ui_update_back", backKey: "←", forward: "ui_update_forward", forwardKey: "→",
  last: "ui_last_update", slider: "ui_update_slider",
};

/**
 * Renders a view and returns what takes it away. `kind` is a word for its styles, `name` the message that names it, `place` the trait that holds where it stands, and
 * `buildView(parts, at, selected)` draws a spec; `listens(view, parts)` hears further traits. A view has {at, atEnd,
 * selected, moveTo, select, hear, setHeight, stop}; `Infinity` for `at` is the last update.
 */
export function renderRun({ model, el }, { css, kind, name, place, choices, buildView, listens }) {
  const t = translator(model.get("messages"));
  const shell = makeShell(el, model, css, { label: t(name), kind });
  const sync = makeSync(model);
  const link = joinLink(model, (said) => view.hear(said));
  const parts = { model, t, prefix: freshPrefix(), shell, sync, choices, link };
  let view = buildView(parts, model.get(place), model.get("selected"));
  const heard = (trait, act) => () => !sync.pending(trait) && act(model.get(trait), { echo: false });
  const stopListening = listen(model, {
    spec: () => keepFocus(shell.root, () => {
      const { at, atEnd, selected } = view;
      view.stop();
      view = buildView(parts, atEnd ? Infinity : at, selected);
    }),
    [place]: heard(place, (to, quietly) => view.moveTo(to, quietly)),
    selected: heard("selected", (id, quietly) => view.select(id, quietly)),
    theme: shell.theme.update,
    height: () => view.setHeight(model.get("height")),
    ...listens(() => view, parts, heard),
  });
  const showPaired = hidePaired(shell.root, model.get("key"));

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

/** The view of a run in which nothing has happened yet. */
export function emptyView(root, words) {
  root.replaceChildren(root.firstChild, h("p.tl-empty", words));
  root.dataset.tlReady = "true";
  const nothing = () => {};
  return { at: 0, atEnd: true, selected: "", moveTo: nothing, select: nothing, plot: nothing, hear: nothing, setHeight: nothing, stop: nothing };
}

/** Follow what a linked view says: its `variable` and its `update`, among `variables` [{id, name}] and `updates` numbers. */
export function follow({ variable, update }, { variables, updates, select, moveTo, player }) {
  const wanted = variable && variables.find(({ name }) => name === variable);
  if (wanted) select(wanted.id, { tell: false });
  if (update === undefined) return;
  player.stop();
  moveTo(placeOf(updates, update), { tell: false });
}
