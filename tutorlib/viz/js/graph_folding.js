// Which scopes are folded: keeps the views that Python sent, and asks for others. Draws nothing.
import { placesOf } from "./graph_fold.js";

export const MOST = 1000;
const PATIENCE = 2500;

const keyOf = (collapsed) => collapsed.join("\n");

/**
 * `show(view)` draws a view; `ask(collapsed)` sends a wish to Python; `say` speaks. `go(collapsed, then)` shows that
 * folding, at once where its view is known, and calls `then` once it is shown.
 */
export function makeFolding(spec, views, { show, ask, say, t }) {
  const known = new Map([spec, ...views].filter((view) => view.collapsed).map((view) => [keyOf(view.collapsed), view]));
  const order = (spec.graph.scopes ?? []).map((scope) => scope.id);
  let now = spec.collapsed ?? [];
  let wanted = null;
  let timer = null;

  const arrive = (view, then) => {
    clearTimeout(timer);
    wanted = null;
    now = view.collapsed;
    show(view);
    then?.();
  };
  const go = (collapsed, then) => {
    const set = new Set(collapsed);
    const next = order.filter((id) => set.has(id));
    if (keyOf(next) === keyOf(now)) return then?.();
    const seen = new Set(placesOf(spec, next).values()).size;
    if (seen > MOST) return say(t("ui_fold_too_many", { n: seen, most: MOST }));
    const view = known.get(keyOf(next));
    ask(next);
    if (view) return arrive(view, then);
    wanted = { key: keyOf(next), then };
    say(t("ui_fold_asking"));
    clearTimeout(timer);
    timer = setTimeout(() => say(t("ui_fold_no_kernel")), PATIENCE);
    return undefined;
  };
  return {
    go,
    toggle: (id, then) => go(now.includes(id) ? now.filter((other) => other !== id) : [...now, id], then),
    all: (folded) => go(folded ? order : []),
    open: (ids, then) => go(now.filter((id) => !ids.includes(id)), then),
    /** A view came from Python. */
    add(view) {
      if (!view.collapsed) return;
      known.set(keyOf(view.collapsed), view);
      if (wanted?.key === keyOf(view.collapsed)) arrive(view, wanted.then);
    },
    stop: () => clearTimeout(timer),
  };
}
