// A search field with the number of hits; Enter goes to the next one.
import { button } from "./controls.js";
import { h, put } from "./dom.js";

/**
 * `find(query)` → ids, `visit(id, open)` shows one (`open`: also inside folded scopes), `found(ids)` marks them,
 * `closed()` is called when the person is done.
 */
export function searchBox(t, { find, visit, found, closed }) {
  let hits = [];
  let at = -1;
  const count = h("span.tl-count", { role: "status" });
  const input = h("input", {
    type: "search", class: "tl-search-input", "aria-label": t("ui_search"), placeholder: t("ui_search_hint"), spellcheck: "false",
  });
  const root = h("div.tl-search", { role: "search", hidden: true }, input, count,
    button("previous", t("ui_search_previous"), () => go(-1), { key: "Shift+Enter" }),
    button("next", t("ui_search_next"), () => go(1), { key: "Enter" }));
  const show = () => {
    const text = !input.value.trim() ? "" : t(hits.length ? "ui_search_count" : "ui_search_none", { at: at + 1, all: hits.length });
    put(count, text);
  };
  const go = (step, open = true) => {
    if (!hits.length) return;
    at = (at + step + hits.length) % hits.length;
    visit(hits[at], open);
    show();
  };
  input.addEventListener("input", () => {
    hits = find(input.value);
    at = -1;
    found(input.value.trim() ? hits : null);
    if (hits.length) go(1, false);
    show();
  });
  input.addEventListener("keydown", (event) => {
    if (event.key === "Enter") go(event.shiftKey ? -1 : 1);
    if (event.key !== "Escape") return;
    event.stopPropagation();
    close();
  });
  const close = () => {
    root.hidden = true;
    found(null);
    closed();
  };
  return {
    root,
    open() {
      root.hidden = false;
      input.focus();
      input.select();
    },
    close,
    /** Mark the hits again, in a picture drawn anew. */
    again: () => !root.hidden && input.value.trim() && found(hits),
    get isOpen() {
      return !root.hidden;
    },
  };
}
