// Hides the static picture that belongs to a live view while the view is on the page, and shows it again afterwards.

const shownBy = new Map();

const boxOf = (figure) => figure.closest(".jp-OutputArea-child") ?? figure;

/** Hide the output marked `data-tutorlib=key`; returns a function that brings it back when no view is left. */
export function hidePaired(key) {
  if (!key) return () => {};
  shownBy.set(key, (shownBy.get(key) ?? 0) + 1);
  const hide = () => {
    for (const figure of document.querySelectorAll(`[data-tutorlib="${CSS.escape(key)}"]`)) {
      boxOf(figure).style.display = "none";
    }
  };
  hide();
  // The notebook may put the picture on the page after the view.
  const observer = new MutationObserver(hide);
  observer.observe(document.body, { childList: true, subtree: true });
  const settle = setTimeout(() => observer.disconnect(), 5000);
  return () => {
    observer.disconnect();
    clearTimeout(settle);
    const left = shownBy.get(key) - 1;
    shownBy.set(key, left);
    if (left > 0) return;
    for (const figure of document.querySelectorAll(`[data-tutorlib="${CSS.escape(key)}"]`)) {
      boxOf(figure).style.display = "";
    }
  };
}
