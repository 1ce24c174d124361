// What both widgets share around their own content: the root with its style, theme and language, the side panel.
import { button, statusLine } from "./controls.js";
import { connectionNote } from "./connection.js";
import { h, put } from "./dom.js";
import { translator } from "./messages.js";
import { followTheme } from "./theme.js";

/** {root, status, theme, stop}: an empty widget root inside `el`, dressed for its page. */
export function makeShell(el, model, css, { label, kind }) {
  const root = h("section", {
    class: `tl-root tl-${kind}`, "aria-label": label, lang: model.get("lang") || "en", "data-tl-ready": "false",
    // Scoped: other views on the page use some of the same class names for other things. An older browser shows views
    // that stand alone as they should be, and small faults where several kinds stand together.
  }, h("style", globalThis.CSSScopeRule ? `@scope(:has(>.tl-${kind})){${css}}` : css));
  const line = statusLine();
  const connection = connectionNote(el, model, translator(model.get("messages")));
  const status = { root: h("div", connection.root, line.root), say: line.say };
  el.append(root);
  const theme = followTheme(root, () => model.get("theme"));
  const stop = () => {
    theme.stop();
    connection.stop();
  };
  return { root, status, theme, stop };
}

const FOCUSABLE = "button,input,[tabindex]";

/** Rebuild what is inside `root` and put the focus on the control that stands where the focused one stood. */
export function keepFocus(root, rebuild) {
  const at = [...root.querySelectorAll(FOCUSABLE)].indexOf(document.activeElement);
  rebuild();
  if (at >= 0) root.querySelectorAll(FOCUSABLE)[at]?.focus({ preventScroll: true });
}

/** A panel that shows one of several contents and can be closed. `shown(name)` hears of each change, "" = closed. */
export function sidePanel(t, shown) {
  const body = h("div.tl-panel-body", { tabindex: "0", role: "region", "aria-label": t("ui_panel") });
  const root = h("aside.tl-panel");
  let name = "";
  const close = () => {
    name = "";
    root.hidden = true;
    shown(name);
  };
  root.append(button("close", t("ui_close"), close), body);
  return {
    root,
    show(next, contents) {
      const same = name === next;
      name = next;
      root.hidden = false;
      const top = same ? body.scrollTop : 0;
      put(body, contents);
      body.scrollTop = top;
      shown(name);
    },
    close,
    get name() {
      return name;
    },
  };
}

/** The picture as words, scrollable; the text is the one Python prints. */
export function outlineView(text, t) {
  return h("pre.tl-outline.tl-scroll", { tabindex: "0", role: "region", "aria-label": t("ui_outline"), hidden: true }, text);
}
