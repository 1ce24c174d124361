// Reads what a learner guesses and compares it with a value, as `tutorlib/viz/guesses.py` does: both are tested on the
// same table. Pure.

const NAMED = { nan: NaN, inf: Infinity, infinity: Infinity, true: 1, false: 0 };
const NUMBER = /^(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/;
// Relative, and absolute in units of the dtype's precision: 0.1 + 0.2 − 0.3 is 0 to a learner.
const PRECISION = { float64: 2.3e-16, float16: 9.8e-4 };
const RELATIVE = { float16: 1e-2 };

/** [{value, digits}] for numbers in brackets or not, with fractions and Bengali digits; null for anything else. */
export function parseGuess(text) {
  const plain = text.toLowerCase()
    .replace(/[০-৯]/g, (digit) => String(digit.charCodeAt(0) - 0x9e6))
    .replace(/−/g, "-").replace(/∞/g, "inf").replace(/\s*\/\s*/g, "/").replace(/([+-])\s+/g, "$1");
  const numbers = plain.split(/[\s,;[\]()]+/).filter(Boolean).map(parseNumber);
  return numbers.includes(null) ? null : numbers;
}

function parseNumber(word) {
  const sign = word[0] === "-" ? -1 : 1;
  const body = word.replace(/^[+-]/, "");
  if (Object.hasOwn(NAMED, body)) return { value: sign * NAMED[body], digits: Infinity };
  const parts = body.split("/");
  if (parts.length > 2 || !parts.every((part) => NUMBER.test(part))) return null;
  if (parts.length === 2) return { value: (sign * Number(parts[0])) / Number(parts[1]), digits: Infinity };
  const digits = body.split("e")[0].replace(".", "").replace(/^0+(?=\d)/, "").length;
  return { value: sign * Number(body), digits };
}

function compare({ value, digits }, truth, dtype) {
  if (Object.is(value, truth) || value === truth) return "right";
  if (!Number.isFinite(value - truth) || !dtype.startsWith("float")) return "wrong";
  const gap = Math.abs(value - truth);
  const fine = PRECISION[dtype] ?? 1.2e-7;
  if (gap <= (RELATIVE[dtype] ?? 1e-3) * Math.abs(truth) + 16 * fine) return "right";
  const power = Number(truth.toExponential(17).split("e")[1]);
  if (gap > 0.5 * 10 ** (power - digits + 1) * (1 + 1e-9)) return "wrong";
  return digits >= 2 ? "right" : "close";
}

/**
 * "right", "close" (right so far as it goes), "wrong", "count" (another number of numbers) or "unreadable", for a
 * value of the contract: its numbers, or, where it has too many, its shape.
 */
export function judge(text, value) {
  const guess = parseGuess(text);
  if (!guess || (!guess.length && (value.numbers?.length || !/[([]/.test(text)))) return "unreadable";
  const truth = (value.numbers ?? value.shape).map(Number);
  if (guess.length !== truth.length) return "count";
  const found = guess.map((one, i) => compare(one, truth[i], value.numbers ? value.dtype : "int64"));
  return ["wrong", "close"].find((verdict) => found.includes(verdict)) ?? "right";
}
