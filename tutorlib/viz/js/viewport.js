// Moves a picture under mouse, pen and fingers: drag to pan, Ctrl+wheel or pinch to zoom around the pointer.
// It moves the `<svg>` itself by CSS: a transform inside the SVG would lay out every text again in each frame.
import { about, fit, pan, reveal, zoomAt } from "./panzoom.js";
import { lessMotion } from "./theme.js";

const GLIDE = 180;
const TEXT_LEGIBLE = 0.42;
const LEGIBLE = 0.5;
const READABLE = 0.6;
const COMFORTABLE = 0.85;
const MARGIN = 40;
const DRAG_STARTS = 4;

/**
 * `root` is the window, `layer` the moved picture, `size` the picture's [w, h]. `moved(view, size, box)` hears when a
 * person drags or zooms, `drawn(view, window)` of every move.
 */
export function makeViewport(root, layer, size, moved = null, drawn = null) {
  let view = { k: 1, x: 0, y: 0 };
  let touched = false;
  let frame = 0;
  const box = () => [root.clientWidth, root.clientHeight];

  const apply = () => {
    frame = 0;
    layer.style.transform = `translate(${view.x.toFixed(2)}px,${view.y.toFixed(2)}px) scale(${view.k.toFixed(4)})`;
    root.classList.toggle("tl-far", view.k < TEXT_LEGIBLE);
    drawn?.(view, box());
  };
  const set = (next) => {
    view = next;
    if (!frame) frame = requestAnimationFrame(apply);
  };
  let glide = 0;
  const glideTo = (next) => {
    cancelAnimationFrame(glide);
    if (lessMotion()) return set(next);
    const [from, start] = [view, performance.now()];
    const move = (now) => {
      const share = Math.min(1, Math.max(0, (now - start) / GLIDE));
      const ease = 1 - (1 - share) ** 3;
      const mix = (key) => from[key] + (next[key] - from[key]) * ease;
      set({ k: mix("k"), x: mix("x"), y: mix("y") });
      if (share < 1) glide = requestAnimationFrame(move);
    };
    glide = requestAnimationFrame(move);
    return undefined;
  };

  const jump = (next) => {
    touched = true;
    cancelAnimationFrame(glide);
    set(next);
  };

  const local = (event) => {
    const { left, top } = root.getBoundingClientRect();
    return [event.clientX - left, event.clientY - top];
  };
  const byHand = (next) => {
    touched = true;
    set(next);
    moved?.(view, size, box());
  };
  const onWheel = (event) => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    event.stopPropagation();
    const unit = event.deltaMode === 1 ? 16 : 1;
    byHand(zoomAt(view, local(event), Math.exp(-event.deltaY * unit * 0.002)));
  };
  const pointers = new Map();
  let dragged = 0;
  const onDown = (event) => {
    if (event.button !== 0) return;
    pointers.set(event.pointerId, local(event));
    dragged = 0;
  };
  const onMove = (event) => {
    const before = pointers.get(event.pointerId);
    if (!before) return;
    const now = local(event);
    dragged += Math.hypot(now[0] - before[0], now[1] - before[1]);
    if (dragged < DRAG_STARTS) return;
    if (!root.hasPointerCapture(event.pointerId)) root.setPointerCapture(event.pointerId);
    const other = [...pointers].find(([id]) => id !== event.pointerId)?.[1];
    pointers.set(event.pointerId, now);
    if (!other) return byHand(pan(view, now[0] - before[0], now[1] - before[1]));
    const spread = (point) => Math.hypot(point[0] - other[0], point[1] - other[1]) || 1;
    const centre = [(now[0] + other[0]) / 2, (now[1] + other[1]) / 2];
    return byHand(zoomAt(view, centre, spread(now) / spread(before)));
  };
  const onUp = (event) => pointers.delete(event.pointerId);
  const onClick = (event) => {
    if (dragged >= DRAG_STARTS) event.stopPropagation();
    dragged = 0;
  };
  const heard = [
    ["wheel", onWheel, { passive: false }], ["pointerdown", onDown], ["pointermove", onMove], ["pointerup", onUp],
    ["pointercancel", onUp], ["click", onClick, true],
  ];
  for (const [name, act, how] of heard) root.addEventListener(name, act, how);

  const whole = () => fit(size, box());
  let start = null;
  /** The whole graph, or, when that would be too small to read, a cut around where the eye should start: of all its width if that can be read. */
  const first = () => {
    const view = whole();
    if (view.k >= LEGIBLE || !start) return view;
    touched = true;
    const wide = (root.clientWidth - MARGIN) / size[0];
    return about(start, size, box(), wide > READABLE && wide < COMFORTABLE ? wide : COMFORTABLE);
  };
  const resized = new ResizeObserver(() => {
    if (!touched && root.clientWidth) set(first());
  });
  resized.observe(root);

  return {
    fit() {
      touched = false;
      start = null;
      glideTo(whole());
    },
    zoom(factor) {
      touched = true;
      glideTo(zoomAt(view, box().map((length) => length / 2), factor));
    },
    reveal(target) {
      start ??= target;
      if (!touched) return;
      const next = reveal(view, target, box());
      if (next === view) return;
      glideTo(next);
    },
    /** Where the corner of a box stands in the window, and the scale. */
    where: ([x, y]) => [view.k * x + view.x, view.k * y + view.y, view.k],
    /** Put the corner of a box where `where` said that of another one was. */
    hold: ([x, y], [left, top, k]) => jump({ k, x: left - k * x, y: top - k * y }),
    /** Bring a box and what is around it into view at a size that can be read, unless all of the picture can. */
    look(target) {
      start = target;
      if (!root.clientWidth || whole().k >= LEGIBLE) return;
      touched = true;
      glideTo(about(target, size, box(), Math.min(COMFORTABLE, ...[0, 1].map((i) => (0.8 * box()[i]) / target[i + 2]))));
    },
    centre([x, y]) {
      const [w, height] = box();
      jump({ ...view, x: w / 2 - view.k * x, y: height / 2 - view.k * y });
    },
    stop() {
      resized.disconnect();
      cancelAnimationFrame(frame);
      cancelAnimationFrame(glide);
    },
  };
}
