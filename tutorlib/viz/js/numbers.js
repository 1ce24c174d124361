// Writes numbers the way Python's `format(x, ".4g")` does, so that a value reads the same everywhere.

/** @param {number|string|null} value a finite number, or "NaN", "Infinity", "-Infinity" as JSON carries them */
export function short(value, digits = 4) {
  if (value === null || value === undefined) return "–";
  const number = Number(value);
  if (Number.isNaN(number)) return "nan";
  if (!Number.isFinite(number)) return number > 0 ? "inf" : "-inf";
  if (number === 0) return "0";
  const [mantissa, exponent] = evenTie(number, digits).toExponential(digits - 1).split("e");
  const power = Number(exponent);
  if (power < -4 || power >= digits) {
    const sign = power < 0 ? "-" : "+";
    return `${withoutTrailingZeros(mantissa)}e${sign}${String(Math.abs(power)).padStart(2, "0")}`;
  }
  return withoutTrailingZeros(Number(`${mantissa}e${power}`).toFixed(digits - 1 - power));
}

/** JavaScript rounds 1.0625 away from zero, Python to the even digit: cut such a number where Python would. */
function evenTie(number, digits) {
  const exact = number.toExponential(60);
  const kept = exact.slice(0, exact.indexOf(".") + digits);
  const rest = exact.slice(kept.length, exact.indexOf("e"));
  const isTie = /^50*$/.test(rest) && Number(kept.at(-1)) % 2 === 0;
  return isTie ? Number(kept + exact.slice(exact.indexOf("e"))) : number;
}

/** `(2, ?)` for the shape `[2, null]`. */
export function shapeText(shape) {
  if (!Array.isArray(shape)) return "";
  const dims = shape.map((dim) => (dim === null ? "?" : String(dim)));
  return dims.length === 1 ? `(${dims[0]},)` : `(${dims.join(", ")})`;
}

function withoutTrailingZeros(text) {
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
}
