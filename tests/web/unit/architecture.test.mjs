// The architecture found in the tape of small models, written as a list of [id, operation, module, inputs].
import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./load.mjs";

const { Architecture } = await load("explorer/architecture.ts");

function architecture(nodes, attention, { norms = [], activations = [], predictions = [] } = {}) {
  return new Architecture({
    tape: {
      nodes: nodes.map(([id, operation, module, ...inputs]) => ({
        id,
        operation,
        module,
        inputs: inputs.map((node) => (node === null ? null : { node, output: 0 })),
      })),
    },
    attention: attention.map(([module, kind, rows = 0]) => ({ module, kind, rows })),
    layer_norms: norms.map((module) => ({ module })),
    rms_norms: [],
    activations: activations.map((module) => ({ module })),
    predictions,
  });
}

// "norm > self-attention + 6": a branch and the id of its sum; "| norm 3": a part on the stream.
const words = (steps) =>
  steps.map(({ through, branch, sum }) =>
    through
      ? `| ${through.label} ${through.node}`
      : `${branch.map(({ label }) => label).join(" > ")}${sum ? ` + ${sum.node}` : ""}`,
  );

const gpt = architecture(
  [
    [0, "embedding", "embeddings.token", null],
    [1, "embedding", "embeddings.position", null],
    [2, "add", "embeddings", 0, 1],
    [3, "layer_norm", "encoder.layers.0.norm1", 2],
    [4, "linear", "encoder.layers.0.self_attention.query", 3],
    [5, "linear", "encoder.layers.0.self_attention.output", 4],
    [6, "add", "encoder.layers.0", 2, 5],
    [7, "layer_norm", "encoder.layers.0.norm2", 6],
    [8, "linear", "encoder.layers.0.feed_forward.linear1", 7],
    [9, "gelu", "encoder.layers.0.feed_forward.activation", 8],
    [10, "linear", "encoder.layers.0.feed_forward.linear2", 9],
    [11, "add", "encoder.layers.0", 6, 10],
    [12, "layer_norm", "encoder.norm", 11],
    [13, "matmul", "output", 12],
    [14, "sum", "", 13],
  ],
  [["encoder.layers.0.self_attention", "decoder self"]],
  {
    norms: ["encoder.layers.0.norm1", "encoder.layers.0.norm2", "encoder.norm"],
    activations: ["encoder.layers.0.feed_forward.activation"],
    predictions: [{ node: 13 }],
  },
);

test("a decoder-only model is one stack of blocks between its embeddings and its output layer", () => {
  assert.equal(gpt.stacks.length, 1);
  const [{ before, blocks, after }] = gpt.stacks;
  assert.deepEqual(words(before), ["| token embedding 0", "positions + 2"]);
  assert.deepEqual(
    blocks.map(({ name, module }) => [name, module]),
    [["Block 1", "encoder.layers.0"]],
  );
  assert.deepEqual(words(blocks[0].steps), ["norm > self-attention + 6", "norm > feed-forward + 11"]);
  assert.deepEqual(
    blocks[0].steps[1].branch.map(({ node, module }) => [node, module]),
    [
      [7, "encoder.layers.0.norm2"],
      [10, "encoder.layers.0.feed_forward"],
    ],
  );
  assert.deepEqual(words(after), ["| final norm 12", "| output layer 13"]);
});

test("names do not repeat a module's path", () => {
  for (const [module, name] of [
    ["encoder.layers.0.self_attention", "Block 1, self-attention"],
    ["encoder.layers.0.feed_forward.activation", "Block 1, feed-forward activation"],
    ["encoder.layers.0.norm2 (call 2)", "Block 1, norm 2 (call 2)"],
    ["encoder.norm", "Final norm"],
    ["encoder.layers.0.self_attention.query.weight", "Block 1, self-attention query weight"],
    ["embeddings.token.weight", "Embeddings token weight"],
    ["output", "Output"],
    ["somewhere.else", "somewhere.else"],
  ])
    assert.equal(gpt.nameOf(module), name);
  assert.deepEqual(
    [gpt.groupName("encoder", "encoder"), gpt.groupName("encoder.layers.0", "layers.0")],
    ["blocks", "Block 1"],
  );
  assert.equal(gpt.groupName("encoder.layers.0.norm1", "norm1"), "norm1");
});

test("paths in a text are replaced by names", () => {
  for (const [text, words] of [
    ["without encoder.layers.0.self_attention:2", "without Block 1, self-attention, head 2"],
    ["corrupted, clean encoder.layers.0@2", "corrupted, clean Block 1, token 2"],
    ["matmul #5 in encoder.layers.0.self_attention.output", "matmul #5 in Block 1, self-attention output"],
    ["encoder.norm", "Final norm"],
    ["runs/demo.1/checkpoint-40", "runs/demo.1/checkpoint-40"],
  ])
    assert.equal(gpt.wordsIn(text), words);
  assert.equal(gpt.kindName("encoder.layers.*.self_attention"), "Blocks, self-attention");
  assert.equal(gpt.kindName("encoder.layers.*"), "Blocks");
  assert.equal(gpt.kindName("embeddings"), "Embeddings");
});

const block = (stack, first, from, memory) => [
  [first, "linear", `${stack}.layers.0.self_attention`, from],
  [first + 1, "add", `${stack}.layers.0`, from, first],
  [first + 2, "layer_norm", `${stack}.layers.0.norm1`, first + 1],
  ...(memory === undefined
    ? []
    : [
        [first + 3, "linear", `${stack}.layers.0.cross_attention`, first + 2, memory],
        [first + 4, "add", `${stack}.layers.0`, first + 2, first + 3],
        [first + 5, "layer_norm", `${stack}.layers.0.norm2`, first + 4],
      ]),
];

test("an encoder-decoder is two stacks, and norms after a sum are on the stream", () => {
  const both = architecture(
    [
      [0, "embedding", "source_embedding", null],
      ...block("encoder", 1, 0),
      [4, "embedding", "target_embedding", null],
      [5, "add", "positions", 4],
      ...block("decoder", 6, 5, 3),
      [12, "linear", "generator", 11],
    ],
    [
      ["encoder.layers.0.self_attention", "encoder self", 0],
      ["decoder.layers.0.self_attention", "decoder self", 1],
      ["decoder.layers.0.cross_attention", "cross", 1],
    ],
    { norms: ["encoder.layers.0.norm1", "decoder.layers.0.norm1", "decoder.layers.0.norm2"] },
  );
  assert.deepEqual(
    both.stacks.map(({ name, text }) => [name, text]),
    [
      ["Encoder", 0],
      ["Decoder", 1],
    ],
  );
  const [encoder, decoder] = both.stacks;
  assert.deepEqual(words(encoder.before), ["| token embedding 0"]);
  assert.deepEqual(words(encoder.blocks[0].steps), ["self-attention + 2", "| norm 3"]);
  assert.deepEqual(words(encoder.after), []);
  assert.deepEqual(words(decoder.before), ["| token embedding 4", "| add positions 5"]);
  assert.deepEqual(words(decoder.blocks[0].steps), [
    "self-attention + 7",
    "| norm 8",
    "cross-attention + 10",
    "| norm 11",
  ]);
  assert.deepEqual(words(decoder.after), ["| generator 12"]);
  assert.equal(both.nameOf("decoder.layers.0.cross_attention"), "Decoder block 1, cross-attention");
  assert.equal(both.kindName("decoder.layers.*"), "Decoder blocks");
  assert.equal(both.groupName("decoder", "decoder"), "decoder");
});

test("attention and feed-forward in parallel are separate branches", () => {
  const neox = architecture(
    [
      [0, "embedding", "embedding", null],
      [1, "layer_norm", "layers.0.norm1", 0],
      [2, "linear", "layers.0.attention", 1],
      [3, "layer_norm", "layers.0.norm2", 0],
      [4, "linear", "layers.0.mlp", 3],
      [5, "add", "layers.0", 2, 4],
      [6, "add", "layers.0", 0, 5],
    ],
    [["layers.0.attention", "decoder self"]],
    { norms: ["layers.0.norm1", "layers.0.norm2"] },
  );
  const [{ blocks }] = neox.stacks;
  assert.deepEqual(words(blocks[0].steps), ["norm > self-attention + 5", "norm > feed-forward + 6"]);
});

test("a tape without attention has no architecture", () => {
  assert.deepEqual(architecture([[0, "linear", "layers.0", null]], []).stacks, []);
});

test("a norm before the blocks is not called final", () => {
  const [{ before, after }] = architecture(
    [
      [0, "embedding", "src_embedding", null],
      [1, "layer_norm", "src_norm", 0],
      [2, "linear", "encoder.layers.0.self_attention", 1],
      [3, "add", "encoder.layers.0", 1, 2],
      [4, "layer_norm", "last_norm", 3],
    ],
    [["encoder.layers.0.self_attention", "encoder self"]],
    { norms: ["src_norm", "last_norm"] },
  ).stacks;
  assert.deepEqual(words(before), ["| token embedding 0", "| norm 1"]);
  assert.deepEqual(words(after), ["| final norm 4"]);
});
