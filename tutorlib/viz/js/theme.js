// Finds out whether the page around the widget is light or dark, and follows it when it changes.

const FIXED = /^(light|dark)$/;

/** "light" or "dark" for the page that holds the widget. */
export function pageTheme(doc = document) {
  const { body, documentElement: html } = doc;
  if (body?.dataset.jpThemeLight) return body.dataset.jpThemeLight === "true" ? "light" : "dark";
  const code = /\bvscode-(dark|high-contrast|light)\b/.exec(body?.className)?.[1];
  if (code) return code === "light" ? code : "dark";
  const colab = html.getAttribute("theme");
  if (FIXED.test(colab)) return colab;
  return matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
}

/** Keep `root.dataset.tlTheme` right; `choice()` gives the trait "auto", "light" or "dark". Returns {update, stop}. */
export function followTheme(root, choice) {
  const update = () => {
    const wanted = choice();
    root.dataset.tlTheme = FIXED.test(wanted) ? wanted : pageTheme();
  };
  const observer = new MutationObserver(update);
  observer.observe(document.body, { attributes: true, attributeFilter: ["data-jp-theme-light", "class"] });
  observer.observe(document.documentElement, { attributes: true, attributeFilter: ["theme"] });
  const scheme = matchMedia("(prefers-color-scheme: dark)");
  scheme.addEventListener("change", update);
  update();
  const stop = () => {
    observer.disconnect();
    scheme.removeEventListener("change", update);
  };
  return { update, stop };
}

/** Whether the person asked for less movement. */
export function lessMotion() {
  return matchMedia("(prefers-reduced-motion: reduce)").matches;
}
