// The list of keys.
import { h } from "./dom.js";

/** `keys` is [[["." , "Space"], "ui_id"], …]. */
export function helpOf(keys, t) {
  return [
    h("h3", t("ui_help")),
    h("dl.tl-keys", keys.map(([names, id]) =>
      h("div", h("dt", names.map((name) => h("kbd", name))), h("dd", t(id))))),
  ];
}
