// Draws how the numbers of an array are spread: bins, and beside them zeros, NaN and both infinities, never dropped.
import { h, s } from "./dom.js";
import { short } from "./numbers.js";

export const APART = ["zero", "nan", "neg_inf", "pos_inf"];
const TOP = 16;
const SLOT = 24;

/** Heights in px of counts under one scale; a bar of at least one number can always be seen. */
export function barHeights(counts, most, room) {
  return counts.map((count) => (count ? Math.max(2, (count / (most || 1)) * room) : 0));
}

/**
 * A figure of `hist` = {lo, hi, counts, zero, nan, neg_inf, pos_inf}. `before` is another one on the same bins, drawn as
 * an outline. `ticks` = [[share of the axis, text], …]; by default the two ends. `label` starts the spoken sentence.
 */
export function histogram(hist, t, { width = 268, height = 104, ticks, before, label = t("ui_histogram") } = {}) {
  const { lo, hi, counts } = hist;
  const apart = APART.map((key) => hist[key]);
  const ends = ticks ?? (lo === null ? [] : lo === hi ? [[0.52, short(lo)]] : [[0, short(lo)], [1, short(hi)]]);
  const wide = width - APART.length * SLOT - 8;
  const room = height - TOP - 18;
  const floor = TOP + room;
  const most = Math.max(...counts, ...apart, ...(before?.counts ?? []));
  const step = wide / counts.length;
  const bar = (x, w, tall, kind) => tall > 0 && s("rect", { x, y: floor - tall, width: w, height: tall, class: `tl-bar ${kind}` });
  const word = (x, y, text, anchor = "middle", kind = "") => s("text", { x, y, "text-anchor": anchor, class: `tl-axis ${kind}` }, text);
  const old = before && barHeights(before.counts, most, room);
  const spoken = t("ui_histogram_spoken", {
    label, n: counts.reduce((a, b) => a + b, 0), lo: short(lo), hi: short(hi),
    zero: hist.zero, nan: hist.nan, neg: hist.neg_inf, pos: hist.pos_inf,
  });
  return s("svg.tl-hist", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": spoken },
    barHeights(counts, most, room).map((tall, i) => bar(i * step + 0.5, step - 1, tall, "")),
    old && s("path.tl-before", { d: `M0 ${floor}${old.map((tall, i) => `V${floor - tall}H${(i + 1) * step}`).join("")}V${floor}` }),
    s("path.tl-grid", { d: `M0 ${floor + 0.5}H${wide}` }),
    ends.map(([share, text]) =>
      word(share * wide, height - 4, text, share < 0.1 ? "start" : share > 0.9 ? "end" : "middle")),
    barHeights(apart, most, room).map((tall, i) => {
      const kind = i && apart[i] ? "tl-warning" : "";
      const x = wide + 8 + i * SLOT;
      return [
        bar(x + 3, SLOT - 6, tall, kind),
        s("path.tl-grid", { d: `M${x + 1} ${floor + 0.5}h${SLOT - 2}` }),
        word(x + SLOT / 2, floor - tall - 4, apart[i], "middle", kind),
        word(x + SLOT / 2, height - 4, t(`ui_bar_${APART[i]}`), "middle", kind),
      ];
    }));
}
