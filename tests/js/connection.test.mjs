import assert from "node:assert/strict";
import { test } from "node:test";
import { isGone } from "../../tutorlib/viz/js/connection.js";

test("a notebook that tells nothing of its kernel is taken to have one", () => {
  assert.equal(isGone(undefined), false);
});

test("a kernel is gone when it was shut down or has died, not while it works", () => {
  const session = (status) => ({ session: { kernel: { status } } });
  assert.deepEqual(["idle", "busy", "dead"].map((status) => isGone(session(status))), [false, false, true]);
  assert.equal(isGone({ session: null }), true);
  assert.equal(isGone({ session: { kernel: null } }), true);
});
