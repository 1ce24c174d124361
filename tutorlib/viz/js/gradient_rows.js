// The rows of a plot with one layer each: name, highlight of the selected one, a place to click.
import { s } from "./dom.js";

/** `place` = {top, height, width, name}: where the rows are, and how wide the column of names is. */
export function rowsOf(spec, selected, place, { choose }) {
  return spec.layers.map((layer, row) => {
    const y = place.top + row * place.height;
    const chosen = layer.id === selected;
    return s("g", { class: `tl-layer ${chosen ? "tl-picked" : ""}`, "data-layer": layer.name, onclick: () => choose(layer.id) },
      s("rect.tl-row-back", { x: 0, y: y + 1, width: place.width, height: place.height - 2, rx: 5 }),
      s("text.tl-layer-name", { x: place.name - 12, y: y + place.height / 2 + 4.5, "text-anchor": "end" },
        layer.name.length > 18 ? `${layer.name.slice(0, 8)}…${layer.name.slice(-9)}` : layer.name, s("title", layer.name)));
  });
}
