import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./load.mjs";

// The modules draw with the page's elements; these tests need only their text.
const nothing = () => undefined;
globalThis.document = {
  createElement: () => ({
    words: "",
    setAttribute: nothing,
    append(text) {
      this.words += text;
    },
  }),
  documentElement: {},
};
globalThis.window = { matchMedia: () => ({ addEventListener: nothing }), addEventListener: nothing };

const {
  plain,
  resolved,
  probability,
  products,
  sumOf,
  agrees,
  meanOf,
  doing,
  adamSteps,
  descended,
  updatedRow,
  softmaxOf,
} = await load(
  "explorer/guide/chapters/step.ts",
  "explorer/guide/chapters/story.ts",
  "explorer/guide/chapters/adam.ts",
);
const { Memory } = await load("explorer/guide/memory.ts");
const text = (words) => words.map((word) => word.words ?? word).join("");

test("numbers are decimals that a reader can copy, with powers of ten only below a millionth", () => {
  assert.deepEqual(
    [0, 0.0000765432, -0.31, 12345.6, 1 / 3, 1.234e-9, -4.5e-7].map((value) => plain(value)),
    ["0", "0.00007654", "−0.31", "12346", "0.3333", "1.23 × 10⁻⁹", "−4.5 × 10⁻⁷"],
  );
});

test("nearly equal numbers are written with the digits in which they differ", () => {
  assert.equal(resolved(-0.00765123, 0.000012345), "−0.0076512");
  assert.equal(probability(0.99999), "0.99999");
  assert.equal(probability(0.25), "0.25");
});

test("a sum of products shows the largest and counts the rest", () => {
  assert.equal(text(products([[2, 3]])), "2 × 3");
  assert.equal(
    text(
      products([
        [1, 0.5],
        [2, -3],
      ]),
    ),
    "2 × (−3) + 1 × 0.5",
  );
  const many = [1, 5, 2, 4, 3].map((value) => [value, 1]);
  assert.equal(text(products(many)), "5 × 1 + 4 × 1 + 3 more (6)");
  assert.equal(text(products([[0, 1]])), "0");
  assert.equal(sumOf(many), 15);
});

test("a mean lists a few values and sums many", () => {
  assert.equal(text(meanOf([1, 2])), "(1 + 2) / 2");
  assert.equal(text(meanOf([1, 2, 3, 4, 5, 6, 7])), "28 / 7");
});

test("a formula agrees with what was recorded up to rounding", () => {
  assert.ok(agrees(1.0001, 1));
  assert.ok(!agrees(1.01, 1));
  assert.ok(!agrees(NaN, 1));
  assert.ok(agrees(1e-6, 0, 1));
});

test("operations are described by what they do", () => {
  assert.equal(doing({ operation: "affine", attributes: { scale: 0.25, shift: 0 } }), "multiplied by 0.25");
  assert.equal(doing({ operation: "affine", attributes: { scale: 1, shift: 0.5 } }), "0.5 added");
  assert.equal(doing({ operation: "affine", attributes: { scale: 1, shift: 0 } }), "unchanged");
  assert.equal(doing({ operation: "softmax", attributes: {} }), "exponentials divided by their sum");
  assert.equal(doing({ operation: "topk", attributes: {} }), "");
});

test("Adam's first step is the learning rate, and a flipped gradient makes the next one short", () => {
  for (const gradient of [3, -0.002])
    assert.ok(Math.abs(adamSteps([gradient], 0.1)[0].change + 0.1 * Math.sign(gradient)) < 1e-6);
  const same = adamSteps([2, 2, 2], 0.1);
  assert.ok(same.every(({ change }) => Math.abs(change + 0.1) < 1e-6));
  const [, flipped] = adamSteps([2, -2], 0.1);
  // m = 0.9 · 0.1 · 2 − 0.1 · 2 = −0.02, corrected by 1 − 0.9² = 0.19.
  assert.ok(Math.abs(flipped.mean + 0.02 / 0.19) < 1e-12);
  assert.ok(Math.abs(flipped.size - 2) < 1e-9);
  assert.ok(Math.abs(flipped.change - (0.1 * 0.02) / 0.19 / 2) < 1e-9);
  assert.equal(descended(1, 2, 0.1), 0.8);
});

test("a row of weights after an update of the query matrix is that of the updated matrix", () => {
  const [inputs, keys, scale, rate] = [
    [
      [1, 2],
      [0.5, -1],
    ],
    [
      [1, 0],
      [0.3, 2],
    ],
    0.5,
    0.2,
  ];
  const gradients = [
    [0.1, -0.2],
    [0.3, 0.05],
  ];
  const matrix = [
    [0.4, 0.1],
    [-0.3, 0.7],
  ]; // query = matrix · x
  const moved = matrix.map((row, d) =>
    row.map((value, i) => value - rate * inputs.reduce((sum, x, t) => sum + gradients[t][d] * x[i], 0)),
  );
  const scoresOf = (of) =>
    keys.map(
      (key) => scale * key.reduce((sum, k, d) => sum + k * (of[d][0] * inputs[1][0] + of[d][1] * inputs[1][1]), 0),
    );
  const after = updatedRow({ scores: scoresOf(matrix), inputs, gradients, keys, scale }, 1, rate);
  scoresOf(moved).forEach((score, key) => assert.ok(Math.abs(score - after.scores[key]) < 1e-12));
  assert.deepEqual(after.weights, softmaxOf(after.scores));
  assert.deepEqual(softmaxOf([0, -Infinity, 0]), [0.5, 0, 0.5]);
});

test("progress is remembered, also where the browser's store throws or is damaged", () => {
  const kept = new Map();
  const store = () => ({ getItem: (key) => kept.get(key) ?? null, setItem: (key, value) => kept.set(key, value) });
  const memory = new Memory("page", store);
  assert.equal(memory.last, null);
  memory.visit("forward/tokens");
  memory.visit("loss/mean");
  const again = new Memory("page", store);
  assert.deepEqual([again.last, again.has("forward/tokens"), again.has("update/adam")], ["loss/mean", true, false]);
  assert.equal(new Memory("other", store).last, null);
  kept.set("page", "{");
  assert.equal(new Memory("page", store).last, null);
  const denied = new Memory("page", () => {
    throw new Error("denied");
  });
  denied.visit("loss/end");
  assert.deepEqual([denied.last, denied.has("loss/end")], ["loss/end", true]);
});
