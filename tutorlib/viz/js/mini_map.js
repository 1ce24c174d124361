// A small picture of the whole of a large graph, with the part that is in the window; dragging it moves the window.
import { h } from "./dom.js";

export const FROM = 100;
const WIDTH = 168;
const HEIGHT = 112;
const SHARP = 2;
// Kinds that are drawn in the colour of another.
const ALIKE = { output: "op", scope: "op", update: "shared" };

/** {root, moved, stop}: `moved(view, window)` is called whenever the window moves over the picture. */
export function miniMap(index, viewport) {
  const [width, height] = index.spec.layout.size;
  const scale = Math.min(WIDTH / width, HEIGHT / height);
  const [w, tall] = [Math.max(24, width * scale), Math.max(24, height * scale)];
  const size = `width:${w}px;height:${tall}px`;
  const canvas = h("canvas", { width: w * SHARP, height: tall * SHARP, style: size });
  const frame = h("div.tl-map-frame");
  let theme = null;
  const go = (event) => {
    const { left, top } = root.getBoundingClientRect();
    viewport.centre([(event.clientX - left) / scale, (event.clientY - top) / scale]);
  };
  const root = h("div.tl-map", {
    "aria-hidden": "true", style: size,
    onpointerdown(event) {
      event.stopPropagation();
      root.setPointerCapture(event.pointerId);
      go(event);
    },
    onpointermove: (event) => root.hasPointerCapture(event.pointerId) && go(event),
  }, canvas, frame);

  const paint = () => {
    const style = getComputedStyle(root);
    const colour = (kind) => style.getPropertyValue(`--tl-${ALIKE[kind] ?? kind}-s`);
    const pen = canvas.getContext("2d");
    pen.clearRect(0, 0, canvas.width, canvas.height);
    for (const node of index.nodes.values()) {
      const box = index.spec.layout.nodes[node.id];
      if (!box || node.open) continue;
      pen.fillStyle = colour(node.kind);
      const [x, y, bw, bh] = box.map((length) => length * scale * SHARP);
      pen.fillRect(x, y, Math.max(2, bw), Math.max(1.5, bh));
    }
  };
  const moved = (view, [boxWidth, boxHeight]) => {
    const now = root.closest("[data-tl-theme]")?.dataset.tlTheme;
    if (now !== theme) {
      theme = now;
      paint();
    }
    const share = scale / view.k;
    frame.style.cssText = ["left", "top", "width", "height"]
      .map((side, i) => `${side}:${[-view.x, -view.y, boxWidth, boxHeight][i] * share}px`).join(";");
  };
  return { root, moved };
}
