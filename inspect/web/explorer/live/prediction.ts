// What the gradients of a forward without edits predict for an edit: gradient times change, summed over the elements that
// it changes.
import type { Attention, Data, PackedTensor } from "../data";
import { tensor, type Numbers } from "../tensor";
import { elementAt, operationOf } from "./element";
import type { Edit } from "./protocol";

export interface Predicted {
  gradient: number | null; // of the single changed element
  change: number | null;
  effect: number;
}

function ofElement(
  value: PackedTensor | null | undefined,
  gradient: PackedTensor | null | undefined,
  index: number[],
  to: number,
): Predicted | null {
  const [from, g] = [elementAt(value, index), elementAt(gradient, index)];
  return from === null || g === null ? null : { gradient: g, change: to - from, effect: g * (to - from) };
}

const dot = (a: Numbers, b: Numbers) => Array.from(a).reduce((sum, value, index) => sum + value * b[index]!, 0);

const headsOf = (block: Attention, head: number | undefined) =>
  head === undefined ? Array.from({ length: block.heads }, (_, index) => index) : [head];

function ofMask(block: Attention, output: number, heads: number[], query: number, key: number): number | null {
  let effect = 0;
  for (const head of heads) {
    const p = tensor(block.values.probabilities)?.row(query, head);
    const g = tensor(block.gradients[output]?.probabilities)?.row(query, head);
    if (!p || !g) return null;
    // The weight becomes 0, and the others grow to a sum of 1 again.
    const grow = 1 / (1 - p[key]!) - 1;
    effect += Array.from(p).reduce((sum, value, at) => sum + g[at]! * value * (at === key ? -1 : grow), 0);
  }
  return effect;
}

// Over all queries and keys of the heads: gradient times the change of each score or weight.
function ofHeads(
  block: Attention,
  output: number,
  heads: number[],
  part: "scores" | "probabilities",
  change: (value: number) => number,
): number | null {
  let effect = 0;
  for (const head of heads) {
    const values = tensor(block.values[part])?.plane(head).values;
    const gradients = tensor(block.gradients[output]?.[part])?.plane(head).values;
    if (!values || !gradients) return null;
    effect += dot(
      Array.from(values, (value) => (Number.isFinite(value) ? change(value) : 0)),
      gradients,
    );
  }
  return effect;
}

// Null if the page does not store what the prediction needs.
export function predicted(edit: Edit, data: Data, output: number): Predicted | null {
  if (edit.kind === "position") return null;
  if (edit.kind === "parameter") {
    const leaf = data.tape.leaves.find(({ name, kind }) => kind === "parameter" && name === edit.name);
    return ofElement(leaf?.value, leaf?.gradients[output], edit.index, edit.value);
  }
  if (edit.kind === "value") {
    const made = operationOf(data, edit.recorded)?.outputs[0];
    return ofElement(made?.value, made?.gradients[output], edit.index, edit.value);
  }
  const block = data.attention.find(({ module }) => module === edit.module);
  if (!block) return null;
  if (edit.kind === "score" || edit.kind === "weight") {
    const part = edit.kind === "score" ? "scores" : "probabilities";
    const index = [edit.head, edit.query, edit.key];
    return ofElement(block.values[part], block.gradients[output]?.[part], index, edit.value);
  }
  const heads = headsOf(block, edit.head);
  const effect =
    edit.kind === "mask"
      ? ofMask(block, output, heads, edit.query, edit.key)
      : edit.kind === "temperature"
        ? ofHeads(block, output, heads, "scores", (score) => score / edit.value - score)
        : ofHeads(block, output, heads, "probabilities", (weight) => -weight);
  return effect === null ? null : { gradient: null, change: null, effect };
}
