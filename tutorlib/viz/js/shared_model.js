// What SharedView knows about its spec before it draws: series, steps, arithmetic, events. Pure.
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

/** Where the frames of both runs stand on a common axis of updates, and to which branch each frame belongs. */
export function whenOf(spec) {
  const own = spec.frames.map((frame) => frame.update);
  const other = spec.other?.updates ?? [];
  const most = Math.max(1, own.at(-1) ?? 1, other.at(-1) ?? 1);
  const share = (updates) => updates.map((update) => update / most);
  return { own: share(own), other: share(other), branches: spec.frames.map((frame) => frame.branch ?? 0) };
}

/** The lines of a variable in the second run, as many as `lines` gives for the first; [] where it is not in it. */
export function otherLines(spec, variable, count) {
  const found = spec.other?.lines[variable.id];
  if (!found) return [];
  if (count > 1) return (found.numbers ?? []).map((series) => ({ name: "", series: series.map(finite) }));
  return [{ name: "", series: found.level.map(finite) }];
}

/** The relative change of a variable in the second run, or null. */
export function otherChanges(spec, variable) {
  return spec.other?.lines[variable.id]?.change.map(finite) ?? null;
}

/** The loss over the frames, of the first run or (`second`) of the other; null where none is known. */
export function losses(spec, second = false) {
  const found = second ? spec.other?.loss ?? [] : spec.frames.map((frame) => frame.loss);
  return found.some((loss) => finite(loss) !== null) ? found.map(finite) : null;
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

/** Ticks above the slider: [{frame, kind: "nan" | "rewind" | "mark" | "set", text}]. */
export function ticks(spec) {
  const found = [];
  spec.frames.forEach((frame, at) => {
    const marks = frame.marks ?? [];
    const bad = frame.event === "nan" || marks.some((mark) => NAMES_OF_BAD.has(String(mark).toLowerCase()));
    if (bad) found.push({ frame: at, kind: "nan", text: "NaN" });
    if (frame.event === "rewind") found.push({ frame: at, kind: "rewind", text: frame.by });
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
