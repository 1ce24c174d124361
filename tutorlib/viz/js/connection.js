// Says when the kernel is gone: a view goes on showing and stepping, but Python hears nothing of it any more.
import { h } from "./dom.js";

// What the notebook's widget manager puts on the element of a view that was parted from its kernel, as by a restart.
const PARTED = ".jupyter-widgets-disconnected";

/** Whether the kernel that a notebook's session context speaks to is gone; false where nothing is known of it. */
export function isGone(context) {
  return Boolean(context) && /^(dead)?$/.test(context.session?.kernel?.status ?? "");
}

/** {root, stop}: a line that is there only while `model`, shown in the notebook's element `el`, has lost its kernel. */
export function connectionNote(el, model, t) {
  const root = h("p.tl-spec-note.tl-deaf", { hidden: true }, t("ui_disconnected"));
  const context = model.widget_manager?.context?.sessionContext;
  const look = () => {
    root.hidden = !(el.matches(PARTED) || isGone(context));
  };
  const observer = new MutationObserver(look);
  observer.observe(el, { attributes: true });
  context?.statusChanged.connect(look);
  look();
  return {
    root,
    stop() {
      observer.disconnect();
      context?.statusChanged.disconnect(look);
    },
  };
}
