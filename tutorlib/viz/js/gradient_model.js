// What GradientView knows about its spec before it draws: scales, verdicts, the next NaN, sentences. Pure.
import { short } from "./numbers.js";

export const FEWEST_DECADES = 4;

export function clampStep(spec, step) {
  return Math.min(spec.steps.length - 1, Math.max(0, Math.round(Number(step) || 0)));
}

/** Whether a cell holds a gradient with NaN or an infinity in it. */
export function isBadCell(cell) {
  return cell.norm !== null && cell.nan + cell.pos_inf + cell.neg_inf > 0;
}

/** "missing", "nan", "zero", "tiny", "huge" or "" for a cell, by the bands of the spec. */
export function verdictOf(cell, bands) {
  if (cell.norm === null) return "missing";
  if (isBadCell(cell)) return "nan";
  if (!cell.q.length) return "zero";
  if (cell.q[2] < bands.tiny) return "tiny";
  return cell.q[2] > bands.huge ? "huge" : "";
}

/** The whole decades [low, high] that hold all numbers that are greater than 0; never fewer than four. */
export function decades(numbers) {
  const sizes = numbers.map(Number).filter((number) => number > 0 && Number.isFinite(number));
  if (!sizes.length) return [-FEWEST_DECADES, 0];
  const high = Math.ceil(Math.log10(Math.max(...sizes))) || 0;
  return [Math.min(Math.floor(Math.log10(Math.min(...sizes))), high - FEWEST_DECADES), high];
}

/** A function from a size to a share of the axis, 0 … 1, and the ticks [[share, text], …]. */
export function axis(numbers, log, room = 8) {
  if (log) {
    const [low, high] = decades(numbers);
    const every = Math.max(1, Math.ceil((high - low) / room));
    const ticks = [];
    for (let power = low; power <= high; power += every) ticks.push([(power - low) / (high - low), `1e${power}`]);
    return { place: (size) => (size > 0 ? clip((Math.log10(size) - low) / (high - low)) : 0), ticks };
  }
  const most = Math.max(0, ...numbers.map(Number).filter(Number.isFinite)) || 1;
  return { place: (size) => clip(size / most), ticks: [0, 0.25, 0.5, 0.75, 1].map((share) => [share, short(share * most, 3)]) };
}

const clip = (share) => Math.min(1, Math.max(0, share));

/** The norms of all cells on one scale: a function from a norm to 0 … 1, and the two ends. */
export function heatScale(spec, log) {
  const norms = Object.values(spec.cells).flat().map((cell) => (cell.norm === null ? NaN : Number(cell.norm)));
  const good = norms.filter((norm) => Number.isFinite(norm) && (norm > 0 || !log));
  const scaled = (norm) => (log ? Math.log10(norm) : norm);
  const low = good.length ? Math.min(...good) : 0;
  const high = good.length ? Math.max(...good) : 0;
  const wide = scaled(high) - scaled(low);
  return { low, high, share: (norm) => (norm <= 0 || !(wide > 0) ? 0 : clip((scaled(norm) - scaled(low)) / wide)) };
}

/** Where the next NaN or infinity is, {layer, step}, looking on from a cell and from the start again; null for none. */
export function nextBad(spec, layer, step) {
  const rows = spec.layers.map(({ id }) => id);
  const all = spec.steps.flatMap((_, at) => rows.map((id) => ({ layer: id, step: at })));
  const here = step * rows.length + rows.indexOf(layer);
  const ahead = [...all.slice(here + 1), ...all.slice(0, here + 1)];
  return ahead.find((spot) => isBadCell(spec.cells[spot.layer][spot.step])) ?? null;
}

/** A layer at a step as a sentence. */
export function sentence(spec, layer, step, t) {
  const cell = spec.cells[layer.id][step];
  const { update } = spec.steps[step];
  if (cell.norm === null) return t("ui_gradient_spoken_none", { update, name: layer.name, why: cell.why });
  const text = t("ui_gradient_spoken", {
    update, name: layer.name, norm: short(cell.norm), median: cell.q.length ? short(cell.q[2]) : "–", ratio: short(cell.ratio),
  });
  const verdict = verdictOf(cell, spec.bands);
  if (!verdict) return text;
  return [text, t(`ui_gradient_is_${verdict}`, { nan: cell.nan, inf: cell.pos_inf + cell.neg_inf })].join(" ");
}

/** What histogram.js draws for a cell: symmetric-log bins, the same for all steps of a layer. */
export function histogramOf(layer, cell) {
  const most = layer.edges.at(-1);
  const hist = { lo: -most, hi: most, counts: cell.counts };
  for (const key of ["zero", "nan", "neg_inf", "pos_inf"]) hist[key] = cell[key];
  const ends = [layer.edges[12], layer.edges[6], layer.edges[0]].map((edge) => short(edge, 2));
  const ticks = [[0, `−${ends[0]}`], [0.25, `−${ends[1]}`], [0.5, `±${ends[2]}`], [0.75, ends[1]], [1, ends[0]]];
  return { hist, ticks };
}
