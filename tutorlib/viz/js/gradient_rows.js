// The rows of a plot with one layer each: name, highlight of the selected one, a place to click.
import { s } from "./dom.js";

/** The width of the column of names: in a plot narrower than `NARROW` px a smaller one. */
export const [NAME, NARROW_NAME, NARROW] = [150, 92, 480];
const SIZE = 13;

/** `place` = {top, height, width, name}: where the rows are, and how wide the column of names is. */
export function rowsOf(spec, selected, place, { choose }) {
  return spec.layers.map((layer, row) => {
    const y = place.top + row * place.height;
    const chosen = layer.id === selected;
    return s("g", { class: `tl-layer ${chosen ? "tl-picked" : ""}`, "data-layer": layer.name, onclick: () => choose(layer.id) },
      s("rect.tl-row-back", { x: 0, y: y + 1, width: place.width, height: place.height - 2, rx: 5 }),
      s("text.tl-layer-name", { x: place.name - 12, y: y + place.height / 2 + 4.5, "text-anchor": "end" },
        middleCut(layer.name, Math.floor((place.name - 20) / (SIZE * 0.56))), s("title", layer.name)));
  });
}

/** A long name without its middle: its end tells layers apart. */
function middleCut(name, most) {
  const half = (most - 1) / 2;
  return name.length > most ? `${name.slice(0, Math.floor(half))}…${name.slice(-Math.ceil(half))}` : name;
}
