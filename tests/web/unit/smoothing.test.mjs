// The probability that label smoothing asks of the correct class.
import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./load.mjs";

const { smoothedTarget, smoothingNote } = await load("shared/smoothing.ts");

test("the smoothed loss is smallest at the smoothed target", () => {
  const [smoothing, classes] = [0.2, 5];
  // (1 − s)(−ln p) + s · mean(−ln p_k), if the other classes share the rest evenly
  const loss = (p) => {
    const own = -Math.log(p);
    const other = -Math.log((1 - p) / (classes - 1));
    return (1 - smoothing) * own + (smoothing * (own + (classes - 1) * other)) / classes;
  };
  const best = smoothedTarget(smoothing, classes);
  assert.ok(Math.abs(best - 0.84) < 1e-12);
  for (const other of [best - 0.01, best + 0.01, 0.999]) assert.ok(loss(best) < loss(other));
  assert.equal(smoothedTarget(0, 7), 1);
});

test("the note has the numbers", () => {
  assert.ok(smoothingNote(0.05, 208).includes("1 − 0.05 + 0.05/208 = 0.9502"));
});
