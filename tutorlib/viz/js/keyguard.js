// Keeps key presses inside the widget: without it a notebook in command mode would act on them (`b` inserts a cell).

const TEXT_INPUTS = new Set(["text", "search", "number"]);
const RANGE_KEYS = new Set(["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "Home", "End", "PageUp", "PageDown"]);

/** Whether the element under the key press uses the key itself, as a text field uses letters. */
export function usesKey(target, key) {
  const tag = target?.tagName?.toLowerCase();
  if (tag === "input" && target.type === "range") return RANGE_KEYS.has(key);
  if (tag === "textarea" || (tag === "input" && TEXT_INPUTS.has(target.type))) return key !== "Escape";
  if (tag === "button" || tag === "a") return key === " " || key === "Enter";
  return false;
}

/** The name of a key in an `actions` table: the key, with "Shift+" before a named one. */
export function keyName(event) {
  return event.shiftKey && event.key.length > 1 ? `Shift+${event.key}` : event.key;
}

const mark = ({ target }) => {
  target.dataset.lmSuppressShortcuts = true;
};

/**
 * Run `actions[key]()` for key presses inside `root`. An action that returns false lets the key pass on.
 * Keys with Ctrl, Alt or Meta belong to the browser and are left alone.
 */
export function guardKeys(root, actions) {
  mark({ target: root });
  // Notebook 7 looks for shortcuts before a key gets here, from the focused element outwards: that must say it, too.
  root.addEventListener("focusin", mark);
  const onKey = (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || event.key === "Tab") return;
    if (usesKey(event.target, event.key)) {
      event.stopPropagation();
      return;
    }
    const action = actions[keyName(event)];
    if (action && action(event) !== false) event.preventDefault();
    if (action || event.key.length === 1) event.stopPropagation();
  };
  root.addEventListener("keydown", onKey);
  return () => root.removeEventListener("keydown", onKey);
}

/** Hand the focus back to the notebook cell around the widget. */
export function leaveToCell(root) {
  const cell = root.closest(".jp-Cell, .cell, .output_wrapper");
  document.activeElement?.blur();
  if (!cell) return;
  if (!cell.hasAttribute("tabindex")) cell.setAttribute("tabindex", "-1");
  cell.focus({ preventScroll: true });
}
