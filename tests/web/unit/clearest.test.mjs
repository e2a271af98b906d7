// The head that the head view opens with, and the sentence about it.
import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./load.mjs";

// The page's modules need a document only to draw.
const listener = { addEventListener: () => undefined };
globalThis.window ??= { ...listener, matchMedia: () => listener };
const { clearestHead, relativeEntropy, finding, percentage, Plane } = await load(
  "explorer/clearest.ts",
  "explorer/views/finding.ts",
  "explorer/tensor.ts",
);

function attention(module, kind, ...heads) {
  const [rows, columns] = [heads[0].length, heads[0][0].length];
  const values = heads.flat(2);
  const bytes = Buffer.alloc(4 * values.length);
  values.forEach((value, i) => bytes.writeFloatLE(value, 4 * i));
  const probabilities = { shape: [heads.length, rows, columns], data: bytes.toString("base64") };
  return { module, kind, rows: 0, columns: 0, heads: heads.length, values: { probabilities } };
}

const texts = [{ tokens: ["the", "cat", "sat"] }];
const even = [
  [1, 0, 0],
  [0.4, 0.6, 0],
  [0.3, 0.4, 0.3],
];
const toFirst = [
  [1, 0, 0],
  [1, 0.0001, 0],
  [0.98, 0.01, 0.01],
];
const clear = [
  [1, 0, 0],
  [0.1, 0.9, 0],
  [0.01, 0.97, 0.02],
];

test("the entropy of a row is relative to that of equal weights", () => {
  assert.ok(Math.abs(relativeEntropy([0.25, 0.25, 0.25, 0.25]) - 1) < 1e-12);
  assert.ok(Math.abs(relativeEntropy([0.5, 0.5, 0, 0]) - 1) < 1e-12);
  assert.ok(relativeEntropy([0.999, 0.001]) < 0.02);
  assert.ok(Number.isNaN(relativeEntropy([1, 0, 0])));
});

test("the clearest head is not one that mostly attends to the first token", () => {
  const blocks = [attention("a", "decoder self", even, toFirst), attention("b", "decoder self", even, clear)];
  const { block, head, row } = clearestHead(blocks, texts);
  assert.deepEqual([block.module, head, row], ["b", 1, 2]);
  const [only] = blocks;
  assert.equal(clearestHead([attention("c", "encoder self", toFirst)], texts).head, 0);
  assert.equal(clearestHead([only], texts).head, 0);
});

test("an encoder-decoder opens with its last cross-attention, where the first key is not special", () => {
  const blocks = [
    attention("self", "encoder self", clear),
    attention("first", "cross", clear, clear),
    attention("last", "cross", even, toFirst),
    attention("more", "decoder self", clear),
  ];
  const { block, head, row } = clearestHead(blocks, texts);
  assert.deepEqual([block.module, head, row], ["last", 1, 1]);
  assert.equal(clearestHead([], []), null);
});

test("a head that mostly attends to a special token comes last", () => {
  const blocks = [attention("a", "cross", toFirst, even)];
  assert.equal(clearestHead(blocks, texts).head, 0);
  assert.equal(clearestHead(blocks, [{ tokens: ["[CLS]", "cat", "sat"] }]).head, 1);
  assert.equal(clearestHead(blocks, [{ tokens: ["</s>", "cat", "sat"] }]).head, 1);
});

test("a sentence states the largest weight", () => {
  const plane = (rows) => new Plane(rows.length, rows[0].length, rows.flat());
  const names = [
    ["the", "cat", "sat"],
    ["the", "cat", "sat"],
  ];
  const weights = () => plane(clear);
  const one = new Map([[1, plane(clear)]]);
  assert.equal(finding(one, weights, 2, names, null), "The query “sat” puts 97% of its weight on “cat”.");
  const both = new Map([
    [0, plane(even)],
    [1, plane(clear)],
  ]);
  assert.equal(
    finding(both, (head) => both.get(head), 1, names, null),
    "The query “cat” puts 90% of its weight on “cat” in head 1.",
  );
  const gradients = new Map([
    [
      1,
      plane([
        [0, -9, 0], // masked
        [0.2, 0, 0],
        [0, -0.5, 0],
      ]),
    ],
  ]);
  assert.equal(
    finding(gradients, weights, null, names, "loss"),
    "The largest gradient, −0.5000: a little more weight of “sat” on “cat” would lower the loss.",
  );
  assert.equal(finding(new Map([[0, plane([[0, 0, 0]])]]), weights, null, names, "loss"), "");
});

test("a weight below 1 is not shown as 100%", () => {
  assert.deepEqual([1, 0.9999, 0.994, 0.5, 0.001, 0].map(percentage), [
    "100%",
    "more than 99%",
    "99%",
    "50%",
    "less than 1%",
    "0%",
  ]);
});
