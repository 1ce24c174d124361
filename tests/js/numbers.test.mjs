import assert from "node:assert/strict";
import { test } from "node:test";
import { shapeText, short } from "../../tutorlib/viz/js/numbers.js";

test("numbers keep four significant digits and no trailing zeros", () => {
  assert.equal(short(6), "6");
  assert.equal(short(0.1 + 0.2), "0.3");
  assert.equal(short(-0.123456), "-0.1235");
  assert.equal(short(1234.5), "1234");
  assert.equal(short(999.96), "1000");
});

test("very large and very small numbers use an exponent of two digits, as Python writes it", () => {
  assert.equal(short(123456), "1.235e+05");
  assert.equal(short(0.00001), "1e-05");
  assert.equal(short(0.0001), "0.0001");
  assert.equal(short(1e100), "1e+100");
});

test("what is not finite is named, also when JSON carries it as a string", () => {
  assert.equal(short("NaN"), "nan");
  assert.equal(short("-Infinity"), "-inf");
  assert.equal(short(null), "–");
});

test("a shape reads as a Python tuple and an unknown size as a question mark", () => {
  assert.equal(shapeText([]), "()");
  assert.equal(shapeText([2]), "(2,)");
  assert.equal(shapeText([null, 3]), "(?, 3)");
});
