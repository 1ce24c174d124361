// Draws a thumbnail on a canvas. Values that are not finite are hatched, never blank.
import { decode, diverging, NOT_FINITE, symmetric } from "./colours.js";
import { h } from "./dom.js";

/** A canvas of `thumb` whose longer side is at most `pixels` device-independent pixels. */
export function heatmap(thumb, pixels, attributes = {}) {
  const cell = Math.max(1, Math.floor((2 * pixels) / Math.max(thumb.rows, thumb.cols)));
  const canvas = h("canvas", { width: thumb.cols * cell, height: thumb.rows * cell, ...attributes });
  paint(canvas.getContext("2d"), thumb, cell);
  return canvas;
}

const urls = new WeakMap();

/** The same picture as a data URL, for an SVG `<image>`; kept so that stepping back paints nothing again. */
export function heatmapUrl(thumb) {
  if (!urls.has(thumb)) urls.set(thumb, heatmap(thumb, 48).toDataURL());
  return urls.get(thumb);
}

function paint(context, thumb, cell) {
  const bytes = symmetric(decode(thumb), thumb.lo, thumb.hi);
  bytes.forEach((byte, i) => {
    const x = (i % thumb.cols) * cell;
    const y = Math.floor(i / thumb.cols) * cell;
    if (byte === NOT_FINITE) hatch(context, x, y, cell);
    else {
      const [r, g, b] = diverging(byte);
      context.fillStyle = `rgb(${r} ${g} ${b})`;
      context.fillRect(x, y, cell, cell);
    }
  });
}

function hatch(context, x, y, cell) {
  context.fillStyle = "#FDE0E0";
  context.fillRect(x, y, cell, cell);
  context.save();
  context.beginPath();
  context.rect(x, y, cell, cell);
  context.clip();
  context.strokeStyle = "#C8102E";
  context.lineWidth = Math.max(1, cell / 8);
  for (let shift = -cell; shift < cell; shift += Math.max(3, cell / 3)) {
    context.moveTo(x + shift, y + cell);
    context.lineTo(x + shift + cell, y);
  }
  context.stroke();
  context.restore();
}
