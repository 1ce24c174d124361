// What SharedView knows about its spec before it draws: series, steps, arithmetic, events. Pure.
import { isBad } from "./graph_model.js";
import { short } from "./numbers.js";

const NAMES_OF_BAD = new Set(["nan", "inf"]);

export function clampFrame(spec, frame) {
  return Math.min(spec.frames.length - 1, Math.max(0, Math.round(Number(frame) || 0)));
}

/** Numbers as JSON carries them; what is not finite becomes null, a gap in a line. */
function finite(value) {
  if (value === null || value === undefined || value === "") return null;
  const number = Number(value);
  return Number.isFinite(number) ? number : null;
}

const sizeOf = (variable) => variable.shape.reduce((product, dim) => product * (dim ?? 1), 1);

/** Whether a variable holds one number; its line then shows the number itself, not the norm. */
export function isSingle(variable) {
  return sizeOf(variable) === 1;
}

/** The line of a variable over the frames: its value when it is one number, else its norm. */
export function levels(spec, variable) {
  return spec.frames.map((frame) => {
    if (!isSingle(variable)) return finite(frame.norm?.[variable.id]);
    return finite(spec.values[frame.values[variable.id]]?.stats?.mean) ?? finite(frame.norm?.[variable.id]);
  });
}

/**
 * The lines of a variable, [{name, series}]: one for each number where there are few of them, else one for the norm.
 * A line's name is the place of its number, such as "[1]", and "" where there is only one line.
 */
export function lines(spec, variable, most = 6) {
  const size = sizeOf(variable);
  const tables = spec.frames.map((frame) => spec.values[frame.values[variable.id]]?.table);
  if (size < 2 || size > most || tables.some((table) => !table)) return [{ name: "", series: levels(spec, variable) }];
  const columns = variable.shape.at(-1);
  return Array.from({ length: size }, (_, i) => {
    const [row, column] = [Math.floor(i / columns), i % columns];
    return {
      name: variable.shape.length < 2 ? `[${i}]` : `[${row}, ${column}]`,
      series: tables.map((table) => finite(table[row]?.[column])),
    };
  });
}

/** The relative change ‖Δw‖/‖w‖ over the frames. */
export function changes(spec, variable) {
  return spec.frames.map((frame) => finite(frame.change?.[variable.id]));
}

/** Value, change and previous value of a variable at a frame, each a value entry or null. */
export function momentOf(spec, variable, at) {
  const frame = spec.frames[at];
  const value = (ids) => spec.values[ids?.[variable.id]] ?? null;
  return { now: value(frame.values), delta: value(frame.delta), before: at > 0 ? value(spec.frames[at - 1].values) : null };
}

/**
 * The update as arithmetic, number by number: [{before, sign, step, after}], or null when there are too many numbers
 * or frames between the two were dropped.
 */
export function arithmetic({ now, delta, before }, most = 6) {
  if (!now || !delta || !before || now.stats.size > most) return null;
  const numbers = (value) => (value.table ? value.table.flat() : [value.text]);
  const [after, steps, start] = [now, delta, before].map(numbers);
  if (after.length !== steps.length || after.length !== start.length) return null;
  return after.map((text, i) => {
    const negative = steps[i].startsWith("-");
    return { before: start[i], sign: negative ? "−" : "+", step: negative ? steps[i].slice(1) : steps[i], after: text };
  });
}

/** Ticks above the slider: [{frame, kind: "nan" | "mark" | "set", text}]. */
export function ticks(spec) {
  const found = [];
  spec.frames.forEach((frame, at) => {
    const marks = frame.marks ?? [];
    const bad = marks.some((mark) => NAMES_OF_BAD.has(String(mark).toLowerCase())) ||
      Object.values(frame.values).some((id) => isBad(spec.values[id]));
    if (bad) found.push({ frame: at, kind: "nan", text: "NaN" });
    const words = marks.map(String).filter((mark) => !NAMES_OF_BAD.has(mark.toLowerCase()));
    if (words.length) found.push({ frame: at, kind: "mark", text: words.join(", ") });
    else if (!bad && frame.by === "set_value") found.push({ frame: at, kind: "set", text: "set_value" });
  });
  return found;
}

/** The frame of the next event (`direction` 1) or the one before (−1), or null. */
export function eventFrom(spec, at, direction) {
  const frames = ticks(spec).map((tick) => tick.frame);
  const found = direction > 0 ? frames.find((frame) => frame > at) : frames.findLast((frame) => frame < at);
  return found ?? null;
}

/** What a change is as a share: "0.4 %". */
export function percent(change) {
  const number = finite(change);
  return number === null ? "–" : `${short(100 * number, 3)} %`;
}
