// Where the reader is, carried over to other data.
import assert from "node:assert/strict";
import { test } from "node:test";
import { explored } from "../fake_engine.mjs";
import { load } from "./load.mjs";

const { carried } = await load("explorer/place.ts");

const state = { view: "head", row: null, subject: null, step: null, output: 0 };

// The part of an app that carried() needs, showing the first attention.
function app(text, more = {}, edits = []) {
  const data = explored(text, edits);
  const tokens = (index) => (index === null ? [] : data.texts[index].tokens);
  const block = () => data.attention[0];
  return {
    data,
    state: { ...state, ...more },
    tokens,
    block,
    norms: () => [],
    layers: () => [],
    prediction: () => null,
  };
}

test("a query stays at its token, and is not selected if the token is gone", () => {
  const row = (text) => carried(app("eins zwei drei", { row: 1 }), app(text)).row;
  assert.equal(row("null zwei drei vier"), 1);
  assert.equal(row("drei eins zwei"), 2);
  assert.equal(row("eins drei"), null);
});

test("an operation and a leaf stay selected by module, kind and occurrence", () => {
  const before = app("eins zwei drei");
  const node = before.data.tape.nodes.findLast(({ operation }) => operation === "layer_norm");
  const after = app("eins");
  // Operations that an edit added, which come first here, do not count.
  after.data.tape.nodes.unshift({ ...node, id: 9999, recorded: null });
  for (const one of after.data.tape.nodes) if (one.id !== 9999) one.id += 100;
  before.state.subject = { node: node.id };
  assert.deepEqual(carried(before, after).subject, { node: node.id + 100 });
  const leaf = before.data.tape.leaves.findIndex(({ name }) => name === "generator.bias");
  before.state.subject = { leaf };
  after.data.tape.leaves.reverse();
  const { subject } = carried(before, after);
  assert.equal(after.data.tape.leaves[subject.leaf].name, "generator.bias");
});

test("the output is the one of the same name, else the first", () => {
  const before = app("eins zwei", { output: 1 });
  const after = app("eins");
  after.data.outputs.reverse();
  assert.equal(carried(before, after).output, 0);
  after.data.outputs = [{ name: "other", value: 1 }];
  assert.equal(carried(before, after).output, 0);
});
