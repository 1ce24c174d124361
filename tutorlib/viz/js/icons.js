// The pictures on buttons, as paths on a 20 × 20 grid. Filled ones are closed shapes; the others are strokes.
import { s } from "./dom.js";

export const STROKES = {
  zoomIn: "M10 4v12M4 10h12",
  zoomOut: "M4 10h12",
  fit: "M3.5 7.5v-4h4M12.5 3.5h4v4M16.5 12.5v4h-4M7.5 16.5h-4v-4",
  outline: "M3.5 5h10M6.5 10h10M6.5 15h10M3.5 10h.01M3.5 15h.01",
  search: "M8.7 3.7a5 5 0 1 0 0 10a5 5 0 1 0 0-10M12.4 12.4l4.1 4.1",
  legend: "M4 4.5h4v4H4zM4 12h4v4H4zM11.5 6.5h5M11.5 14h5",
  help: "M7.4 7.4a2.7 2.7 0 1 1 4 2.3c-.9.5-1.4 1-1.4 2.1M10 15.6h.01",
  predict: "M4 16l.8-3.6L13 4.2l2.8 2.8l-8.2 8.2zM11.2 6l2.8 2.8",
  export: "M10 3v9.5M6 8.8l4 4l4-4M4 16.5h12",
  close: "M5 5l10 10M15 5L5 15",
  copy: "M7.5 7.5h9v9h-9zM12.5 7.5v-4h-9v9h4",
  previous: "M14.5 10l-9.5 0M9 5.5L4.5 10L9 14.5",
  next: "M5 10l10 0M11 5.5l4.5 4.5l-4.5 4.5",
};
const FILLED = {
  play: "M6 3.8v12.4L16.5 10z",
  pause: "M5.2 4h3.4v12H5.2zM11.4 4h3.4v12h-3.4z",
  first: "M4 4.2h2.2v11.6H4zM16 4.2v11.6L7.2 10z",
  last: "M13.8 4.2H16v11.6h-2.2zM4 4.2v11.6L12.8 10z",
};

export function icon(name) {
  const filled = name in FILLED;
  const path = filled
    ? s("path", { d: FILLED[name], fill: "currentColor" })
    : s("path", {
        d: STROKES[name], fill: "none", stroke: "currentColor", "stroke-width": 1.7,
        "stroke-linecap": "round", "stroke-linejoin": "round",
      });
  return s("svg.tl-icon", { viewBox: "0 0 20 20", "aria-hidden": "true", focusable: "false" }, path);
}
