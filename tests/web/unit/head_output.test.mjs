// What follows the softmax of a query: weighted values, and the operations that use their sum.
import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./load.mjs";

// The page's modules need a document only to draw.
const listener = { addEventListener: () => undefined };
globalThis.window ??= { ...listener, matchMedia: () => listener };
const { combine, headsSharingValues, outputSteps, rowOf } = await load("explorer/views/head_output_data.ts");

function pack(shape, values) {
  const bytes = Buffer.alloc(4 * values.length);
  values.forEach((value, i) => bytes.writeFloatLE(value, 4 * i));
  return { shape, data: bytes.toString("base64") };
}

// Two heads, one query, two keys, value vectors of two numbers.
const block = () => ({
  module: "m",
  heads: 2,
  values: {
    probabilities: pack([2, 1, 2], [0.25, 0.75, 0.5, 0.5]),
    value: pack([2, 2, 2], [4, 8, -4, 0, 4, 8, -4, 0]),
    context: pack([2, 1, 2], [-2, 2, 0, 4]),
    mask: pack([1, 1, 2], [0, -Infinity]),
  },
  gradients: [
    { context: pack([2, 1, 2], [1, 2, 0, 1]), probabilities: pack([2, 1, 2], [20, -4, 8, 0]) },
    { context: null, probabilities: null },
  ],
});
const empty = { tape: { nodes: [], leaves: [] } };

test("a head's output is the weighted sum of the values, and its gradient gives those of the weights", () => {
  const { products, sum, recorded, dots, recordedDots, hidden, dropped } = combine(empty, block(), 0, 0, 0);
  assert.deepEqual(products, [
    [1, 2],
    [-3, 0],
  ]);
  assert.deepEqual(
    [sum, [...recorded]],
    [
      [-2, 2],
      [-2, 2],
    ],
  );
  assert.deepEqual(
    [dots, [...recordedDots]],
    [
      [20, -4],
      [20, -4],
    ],
  );
  assert.deepEqual([hidden, dropped], [[false, true], false]);
  const other = combine(empty, block(), 1, 1, 0);
  assert.deepEqual([other.sum, other.arriving, other.dots, other.recordedDots], [[0, 4], null, null, null]);
  assert.equal(combine(empty, { ...block(), values: { ...block().values, value: null } }, 0, 0, 0), null);
});

test("relative positions are added to the values", () => {
  const values = pack([3, 2], [9, 9, 1, 0, 0, 1]); // distances -1, 0, 1
  const { products } = combine(empty, { ...block(), relative: { keys: values, values } }, 0, 0, 0);
  assert.deepEqual(products, [
    [1.25, 2],
    [-3, 0.75],
  ]);
});

test("the weights are those after dropout", () => {
  const output = { shape: [1, 2, 1, 2], value: pack([1, 2, 1, 2], [0.5, 0, 1, 0]), gradients: [null, null] };
  const data = { tape: { nodes: [{ module: "m", operation: "dropout", outputs: [output] }], leaves: [] } };
  const { sum, dropped, recordedDots } = combine(data, block(), 0, 0, 0);
  assert.deepEqual([sum, dropped, recordedDots], [[2, 4], true, null]);
});

test("heads with the same values share them", () => {
  assert.deepEqual(headsSharingValues(block(), 0), [0, 1]);
  const values = { ...block().values, value: pack([2, 1, 2], [4, 8, 4, 7]) };
  assert.deepEqual(headsSharingValues({ ...block(), values }, 1), [1]);
});

test("a row that is not stored is null", () => {
  const part = { ...pack([1, 3, 2], [1, 2, 3, 4]), cut: [1, 2, 2] };
  assert.deepEqual([...rowOf(part, 1)], [3, 4]);
  assert.equal(rowOf(part, 2), null);
  assert.equal(rowOf(null, 0), null);
});

const from = (id) => ({ node: id, output: 0 });
const node = (id, module, operation, ...inputs) => ({
  id,
  module,
  operation,
  inputs,
  outputs: [{ shape: [1, 3, 4], gradients: [] }],
});
// Two calls of a shared attention, whose last output is normalized before the residual sum.
const nodes = [
  node(3, "embeddings", "embedding", { leaf: 0 }),
  node(5, "b.attention", "reshape", from(3)),
  node(6, "b.attention.output", "matmul", from(5), { leaf: 1 }),
  node(7, "b", "add", from(3), from(6)),
  node(8, "b.attention", "reshape", from(7)),
  node(9, "b.attention.output", "matmul", from(8), { leaf: 1 }),
  node(10, "b.attention.output", "add", from(9), { leaf: 2 }),
  node(11, "b.norm", "mul", from(10), { leaf: 3 }),
  node(12, "b.norm", "add", from(11), { leaf: 3 }),
  node(13, "b", "add", from(12), from(7)),
];
const leaf = (name, shape) => ({ name, shape });
const leaves = [
  leaf("x", []),
  leaf("b.attention.output.weight", [4, 4]),
  leaf("b.attention.output.bias", [4]),
  leaf("g", [4]),
];

test("the operations after attention are those of its last call", () => {
  const { joined, projected, weight, residual } = outputSteps({ tape: { nodes, leaves } }, "b.attention");
  assert.deepEqual([joined.node.id, projected.node.id, weight], [8, 10, 1]);
  const { stream, added, sum, beside } = residual;
  assert.deepEqual([stream.node.id, added.node.id, sum.node.id], [7, 12, 13]);
  assert.deepEqual(beside, ["b.norm"]);
});

test("an attention without an output layer or a residual sum has none", () => {
  assert.equal(outputSteps({ tape: { nodes, leaves } }, "b"), null);
  const alone = nodes.slice(0, 3);
  assert.equal(outputSteps({ tape: { nodes: alone, leaves } }, "b.attention").residual, null);
});
