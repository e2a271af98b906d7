import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./load.mjs";

const { norm, numberRepeatedCalls, Plane, planeOf, range, setSharedData, tensor } = await load("explorer/tensor.ts");

function packed(shape, values, more = {}) {
  const bytes = Buffer.alloc(4 * values.length);
  values.forEach((value, i) => bytes.writeFloatLE(value, 4 * i));
  return { shape, data: bytes.toString("base64"), ...more };
}
const count = (size) => Array.from({ length: size }, (_, i) => i);
const listed = ({ values }) => [...values];

test("a tensor is decoded from base64 of little-endian float32", () => {
  assert.deepEqual(listed(tensor({ shape: [2], data: "AACAPwAAIMA=" })), [1, -2.5]);
  assert.deepEqual(tensor(packed([2, 2], [0.5, -Infinity, 3, NaN])).shape, [2, 2]);
  assert.deepEqual(listed(tensor(packed([4], [0.5, -Infinity, 3, NaN]))), [0.5, -Infinity, 3, NaN]);
});

test("a tensor is decoded once, and null gives null", () => {
  const one = packed([1], [1]);
  assert.equal(tensor(one), tensor(one));
  assert.notEqual(tensor(one), tensor(packed([1], [1])));
  assert.equal(tensor(null), null);
  assert.equal(tensor(undefined), null);
});

test("data given by index is looked up in the shared list", () => {
  setSharedData([packed([1], [7]).data, packed([1], [8]).data]);
  assert.deepEqual(listed(tensor({ shape: [1], data: 1 })), [8]);
});

test("a truncated tensor has the shape of its stored values", () => {
  const cut = tensor(packed([4, 9], count(6), { cut: [2, 3] }));
  assert.deepEqual([cut.shape, cut.storedShape, cut.truncated], [[4, 9], [2, 3], true]);
  assert.deepEqual([...cut.row(1)], [3, 4, 5]);
  assert.equal(tensor(packed([2, 3], count(6))).truncated, false);
});

test("a plane is NaN out of bounds", () => {
  const plane = new Plane(2, 3, count(6));
  assert.deepEqual([plane.at(0, 0), plane.at(1, 2)], [0, 5]);
  for (const [row, column] of [
    [2, 0],
    [-1, 1],
    [0, 3],
    [1, -1],
  ])
    assert.equal(plane.at(row, column), NaN, `${row}, ${column}`);
});

test("the extremes of a plane ignore values that are not finite", () => {
  const plane = new Plane(1, 5, [-Infinity, 2, -3, NaN, Infinity]);
  assert.deepEqual([plane.maxAbs(), plane.low()], [3, -3]);
  assert.deepEqual([new Plane(1, 2, [0.5, 0.25]).maxAbs(), new Plane(1, 2, [0.5, 0.25]).low()], [0.5, 0]);
});

test("a plane is selected by the indices of the leading axes", () => {
  const values = Float32Array.from(count(24));
  assert.deepEqual(listed(planeOf([2, 3, 2, 2], values, [1, 2])), [20, 21, 22, 23]);
  assert.deepEqual(listed(planeOf([2, 3, 2, 2], values, [0, 1])), [4, 5, 6, 7]);
  const { rows, columns } = planeOf([2, 3, 4], values, [1]);
  assert.deepEqual([rows, columns], [3, 4]);
});

test("missing leading indices are 0", () => {
  const values = Float32Array.from(count(24));
  assert.deepEqual(listed(planeOf([2, 3, 2, 2], values, [2])), [8, 9, 10, 11]);
  assert.deepEqual(listed(planeOf([2, 3, 2, 2], values, [])), [0, 1, 2, 3]);
});

test("an axis of size 1 is broadcast", () => {
  const values = Float32Array.from(count(12));
  assert.deepEqual(listed(planeOf([1, 3, 2, 2], values, [5, 1])), [4, 5, 6, 7]);
  const mask = tensor(packed([1, 1, 3], [7, 8, 9]));
  assert.deepEqual([...mask.row(2, 4)], [7, 8, 9]);
});

test("scalars and vectors are planes of one row", () => {
  const scalar = tensor(packed([], [4])).plane();
  assert.deepEqual([scalar.rows, scalar.columns, scalar.at(0, 0)], [1, 1, 4]);
  const vector = tensor(packed([3], [1, 2, 3])).plane();
  assert.deepEqual([vector.rows, vector.columns, vector.at(0, 2)], [1, 3, 3]);
});

test("the norm and the range are those of the whole tensor", () => {
  assert.equal(norm(packed([3], [3, -Infinity, 4])), 5);
  assert.deepEqual(range(packed([4], [3, NaN, -4, Infinity])), [-4, 3]);
  const cut = packed([9], [3, 4], { cut: [2], norm: 50, low: -7, high: 8 });
  assert.deepEqual([norm(cut), range(cut)], [50, [-7, 8]]);
  assert.deepEqual(range(packed([1], [NaN])), [Infinity, -Infinity]);
});

test("calls of the same module are numbered from the second on", () => {
  const calls = ["a", "b", "a", "a"].map((module) => ({ module }));
  numberRepeatedCalls(calls);
  assert.deepEqual(
    calls.map(({ module }) => module),
    ["a", "b", "a (call 2)", "a (call 3)"],
  );
});
