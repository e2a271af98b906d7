// The width of labels, in letters.
import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./load.mjs";

const { lettersWide } = await load("explorer/widgets/letters.ts");
const { shortened } = await load("explorer/widgets/switches.ts");

test("ideographs and emoji are two letters wide, and marks over letters none", () => {
  for (const [text, width] of [
    ["", 0],
    ["world", 5],
    ["مرحبا", 5],
    ["注意力", 6],
    ["モデル", 6],
    ["😀", 2],
    ["e\u0301", 1],
    ["a\u200db", 2],
    ["한글", 4],
  ])
    assert.equal(lettersWide(text), width, text);
});

test("a label is cut where it gets too wide", () => {
  assert.equal(shortened("attention", 9), "attention");
  assert.equal(shortened("attention", 8), "attenti…");
  assert.equal(shortened("注意力机制", 10), "注意力机制");
  assert.equal(shortened("注意力机制", 9), "注意力机…");
  assert.equal(shortened("a\tb\n", 9), "a⇥b⏎");
});
