// Lines over updates as SVG path data. Pure; a null is a gap, so a NaN is never drawn over.

const LOG_FLOOR = 1e-12;
// Rounding errors are not a curve.
const NOISE = 1e-9;
const r = (number) => Math.round(number * 10) / 10;

/** The range of the numbers in `series`, widened when it has no height to speak of. */
export function rangeOf(series) {
  const numbers = series.filter((value) => value !== null);
  if (!numbers.length) return [0, 1];
  const [lo, hi] = [Math.min(...numbers), Math.max(...numbers)];
  if (hi - lo > NOISE * Math.max(Math.abs(lo), Math.abs(hi))) return [lo, hi];
  const half = Math.abs(lo) / 2 || 0.5;
  return [lo - half, hi + half];
}

/** log10 of magnitudes, for the log scale. */
export function logarithms(series) {
  return series.map((value) => (value === null ? null : Math.log10(Math.max(Math.abs(value), LOG_FLOOR))));
}

/**
 * Functions that place frame `i` and `value` in a box `[x, y, w, h]`; `range` is that of all lines in the box, `shares`
 * where each frame stands between left (0) and right (1), evenly by default.
 */
export function scales(series, [x, y, w, h], range = rangeOf(series), shares = null) {
  const [lo, hi] = range;
  const last = Math.max(1, series.length - 1);
  return { x: (i) => x + w * (shares ? shares[i] : i / last), y: (value) => y + h - (h * (value - lo)) / (hi - lo), lo, hi };
}

/**
 * Path data through all numbers; a lone number between two gaps becomes a dot. Where `branches` changes from one frame to
 * the next (a rewind), a new line starts.
 */
export function linePath(series, box, range, shares = null, branches = null) {
  const place = scales(series, box, range, shares);
  const cut = (i) => series[i] === undefined || series[i] === null;
  const breaks = (i) => branches !== null && branches[i] !== branches[i - 1];
  let d = "";
  series.forEach((value, i) => {
    if (value === null) return;
    const starts = cut(i - 1) || breaks(i);
    const lonely = starts && (cut(i + 1) || breaks(i + 1));
    d += `${starts ? "M" : "L"}${r(place.x(i))} ${r(place.y(value))}`;
    if (lonely) d += "h0.01";
  });
  return d;
}

/** Heights for labels that want to stand at `wanted`, moved down where they would overlap, in the order given. */
export function spread(wanted, gap) {
  const order = wanted.map((y, i) => [y, i]).sort((a, b) => a[0] - b[0]);
  const placed = [];
  let free = -Infinity;
  for (const [y, i] of order) {
    placed[i] = Math.max(y, free);
    free = placed[i] + gap;
  }
  return placed;
}
