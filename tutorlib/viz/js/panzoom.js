// Where the picture stands in its window: {k, x, y} maps a point p of the picture to k·p + (x, y). Pure arithmetic.

export const SMALLEST = 0.01;
export const LARGEST = 4;

/** The whole picture `[w, h]` centred in a window `[w, h]`, never larger than `largest`. */
export function fit([width, height], [boxWidth, boxHeight], { pad = 20, largest = 1.6 } = {}) {
  const k = Math.min((boxWidth - 2 * pad) / width, (boxHeight - 2 * pad) / height, largest);
  const scale = Math.max(k, SMALLEST);
  return { k: scale, x: (boxWidth - scale * width) / 2, y: (boxHeight - scale * height) / 2 };
}

/** Zoom by `factor` so that the point `[px, py]` of the window stays where it is. */
export function zoomAt(view, [px, py], factor) {
  const k = Math.min(LARGEST, Math.max(SMALLEST, view.k * factor));
  const real = k / view.k;
  return { k, x: px - (px - view.x) * real, y: py - (py - view.y) * real };
}

export function pan(view, dx, dy) {
  return { ...view, x: view.x + dx, y: view.y + dy };
}

const EDGE = 16;

/** A box `[x, y, w, h]` of the picture in the middle at scale `k`, with no more left empty beside the picture than need be. */
export function about(box, size, window, k) {
  const [x, y] = [0, 1].map((i) => {
    const room = window[i] - k * size[i];
    return room > 0 ? room / 2 : Math.min(EDGE, Math.max(room - EDGE, window[i] / 2 - k * (box[i] + box[i + 2] / 2)));
  });
  return { k, x, y };
}

/** The smallest move that brings the box `[x, y, w, h]` of the picture into the window; the same view when it is there. */
export function reveal(view, [x, y, w, h], [boxWidth, boxHeight], pad = 24) {
  const shift = (from, length, window) => {
    if (length + 2 * pad > window) return window / 2 - (from + length / 2);
    if (from < pad) return pad - from;
    if (from + length > window - pad) return window - pad - (from + length);
    return 0;
  };
  const dx = shift(view.k * x + view.x, view.k * w, boxWidth);
  const dy = shift(view.k * y + view.y, view.k * h, boxHeight);
  return dx || dy ? pan(view, dx, dy) : view;
}

/** Where a window looks, free of sizes: the zoom as a factor of the fitting one, the middle as a share of the picture. */
export function relative(view, size, box) {
  const { k } = fit(size, box);
  const middle = (i, offset) => (box[i] / 2 - offset) / (view.k * size[i]);
  return { zoom: view.k / k, x: middle(0, view.x), y: middle(1, view.y) };
}

/** The view of another picture that looks at the same share of it. */
export function follow({ zoom, x, y }, size, box) {
  const k = Math.min(LARGEST, Math.max(SMALLEST, fit(size, box).k * zoom));
  return { k, x: box[0] / 2 - x * k * size[0], y: box[1] / 2 - y * k * size[1] };
}
