import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { judge, parseGuess } from "../../tutorlib/viz/js/guess.js";

const TABLE = JSON.parse(readFileSync(new URL("../viz/guesses.json", import.meta.url), "utf8"));

for (const { guess, value, shape, dtype, verdict } of TABLE) {
  test(`"${guess}" for ${JSON.stringify(value ?? shape)} is ${verdict}`, () => {
    const numbers = shape ? null : [value].flat(3).map((one) => (typeof one === "string" ? one : Number(one)));
    assert.equal(judge(guess, { numbers, shape: shape ?? [], dtype }), verdict);
  });
}

test("a division by zero is a number too", () => {
  assert.deepEqual(parseGuess("1/0"), [{ value: Infinity, digits: Infinity }]);
});
