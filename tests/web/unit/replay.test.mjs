import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./load.mjs";
import { packed, tape } from "./tape.mjs";

const { Replay, summed } = await load("explorer/tape/replay.ts");
const loss = new Replay({ tape }, 0);
const pick = new Replay({ tape }, 1);
const ids = (steps) => steps.map(({ node, backward }) => `${backward ? "back " : ""}${node.id}`);

test("a replay records every node, then steps backward through those that the gradient reaches", () => {
  assert.deepEqual(ids(loss.steps), [
    "10",
    "11",
    "12",
    "13",
    "14",
    "15",
    ..."14 13 12 11 10".split(" ").map((id) => `back ${id}`),
  ]);
  assert.deepEqual(ids(pick.steps.slice(6)), ["back 15", "back 12", "back 10"]);
  assert.deepEqual([loss.recorded, pick.recorded, pick.output], [6, 6, 1]);
});

test("a node without a gradient is not replayed", () => {
  const nodes = tape.nodes.map((node) =>
    node.id === 11 ? { ...node, outputs: [{ gradients: [null, null] }], contributions: [[null, null]] } : node,
  );
  const { steps } = new Replay({ tape: { ...tape, nodes } }, 0);
  assert.deepEqual(ids(steps.slice(6)), ["back 14", "back 13", "back 12", "back 10"]);
});

test("a node without a stored gradient is replayed if it passes one on", () => {
  const nodes = tape.nodes.map((node) => (node.id === 11 ? { ...node, outputs: [{ gradients: [null, null] }] } : node));
  const { steps } = new Replay({ tape: { ...tape, nodes } }, 0);
  assert.ok(ids(steps).includes("back 11"));
});

test("backward steps are indexed by node", () => {
  assert.deepEqual(
    [14, 13, 12, 11, 10, 15].map((id) => loss.backwardStep(id)),
    [6, 7, 8, 9, 10, undefined],
  );
});

test("contributions arrive in the order of the backward steps", () => {
  const parts = loss.contributions({ node: 10, output: 0 });
  assert.deepEqual(
    parts.map(({ node, input, step }) => [node.id, input, step]),
    [
      [12, 0, 8],
      [11, 0, 9],
    ],
  );
  assert.deepEqual([...summed(parts)], [4, 6]);
  assert.deepEqual(
    loss.contributions({ leaf: 0 }).map(({ step }) => step),
    [10],
  );
  assert.deepEqual(loss.contributions({ leaf: 1 }), []);
  assert.deepEqual(loss.contributions({ node: 10, output: 1 }), []);
});

test("each output has its own contributions", () => {
  const parts = pick.contributions({ node: 10, output: 0 });
  assert.deepEqual(
    parts.map(({ node, step }) => [node.id, step]),
    [[12, 7]],
  );
  assert.deepEqual([...summed(parts)], [-1, -1]);
  assert.equal(loss.sentTo(tape.nodes[5], 0), null);
  assert.equal(pick.sentTo(tape.nodes[5], 0), tape.nodes[5].contributions[0][1]);
  assert.equal(pick.sentTo(tape.nodes[5], 7), null);
});

test("a step past the end is clamped to the last", () => {
  assert.equal(pick.at(2).node.id, 12);
  assert.equal(pick.at(99), pick.steps.at(-1));
});

test("contributions of different sizes have no sum, and neither does an empty list", () => {
  assert.equal(summed([{ value: packed(1, 2) }, { value: packed(1) }]), null);
  assert.equal(summed([]), null);
  assert.equal(summed([{ value: null }]), null);
  assert.deepEqual([...summed([{ value: null }, { value: packed(1, 2) }])], [1, 2]);
});
