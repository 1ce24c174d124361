// Hides the static picture that belongs to a live view while the view is on the page, and shows it again afterwards.

const viewsOver = new WeakMap();
const OUTPUTS = ".jp-OutputArea, .output_area, .cell";
const SETTLED = 5000;

/**
 * Hide the picture marked `data-tutorlib=key` among the outputs around `root`; returns a function that brings it back.
 * Only there: another notebook on the page may have a picture with the same key.
 */
export function hidePaired(root, key) {
  const hidden = new Set();
  const hide = () => {
    if (!key || !root.isConnected) return;
    const scope = root.closest(OUTPUTS) ?? document;
    for (const figure of scope.querySelectorAll(`[data-tutorlib="${CSS.escape(key)}"]`)) {
      const box = figure.closest(".jp-OutputArea-child") ?? figure;
      if (hidden.has(box)) continue;
      hidden.add(box);
      viewsOver.set(box, (viewsOver.get(box) ?? 0) + 1);
      box.style.display = "none";
    }
  };
  hide();
  // The notebook may put the view or the picture on the page a moment later.
  const observer = new MutationObserver(hide);
  observer.observe(document.body, { childList: true, subtree: true });
  const settled = setTimeout(() => observer.disconnect(), SETTLED);
  return () => {
    observer.disconnect();
    clearTimeout(settled);
    for (const box of hidden) {
      const left = viewsOver.get(box) - 1;
      viewsOver.set(box, left);
      if (left === 0) box.style.display = "";
    }
  };
}
