// What follows the softmax of one query: its weights times the value vectors, and the operations that use their sum.
import type { Attention, Data, PackedTensor, TapeNode, TapeOutput } from "../data";
import { within } from "../architecture";
import { tensor, type Numbers } from "../tensor";
import { dot, tableRow } from "./relative";

// One query of one head.
export interface Combination {
  weights: Numbers; // after dropout, if there is any
  hidden: boolean[]; // keys that the mask hides
  dropped: boolean; // whether dropout changed the weights
  values: Numbers[]; // of the keys; with relative positions, their rows of the table are added
  products: number[][]; // weight times value
  sum: number[];
  recorded: Numbers; // the head's output
  arriving: Numbers | null; // gradient of the head's output
  dots: number[] | null; // of that gradient and the values: the gradients of the weights
  recordedDots: Numbers | null;
}

// The weights after dropout, [1, H, Tq, Tk]; undefined without dropout.
function droppedWeights({ tape }: Data, { module, heads, values }: Attention): TapeOutput | undefined {
  const [, queries, keys] = values.probabilities?.shape ?? [];
  const shape = [1, heads, queries, keys].join();
  return tape.nodes.findLast(
    (node) => node.module === module && node.operation.includes("dropout") && node.outputs[0]!.shape.join() === shape,
  )?.outputs[0];
}

// Null if the page stores no value vectors.
export function combine(data: Data, block: Attention, output: number, head: number, query: number): Combination | null {
  const gradients = block.gradients[output];
  const changed = droppedWeights(data, block);
  const [value, context] = [tensor(block.values.value), tensor(block.values.context)];
  const weights = changed ? rowOf(changed.value, query, 0, head) : tensor(block.values.probabilities)?.row(query, head);
  if (!value || !context || !weights) return null;
  const table = tensor(block.relative?.values);
  const values = Array.from(weights, (_, key): Numbers => {
    const v = value.row(key, head);
    const added = table?.row(tableRow(block.relative!.values, query, key));
    return added ? v.map((one, d) => one + added[d]!) : v;
  });
  const products = values.map((v, key) => Array.from(v, (one) => weights[key]! * one));
  const recorded = context.row(query, head);
  const arriving = tensor(gradients?.context)?.row(query, head) ?? null;
  const mask = tensor(block.values.mask)?.row(query, head);
  return {
    weights,
    hidden: values.map((_, key) => mask?.[key] === -Infinity),
    dropped: changed !== undefined,
    values,
    products,
    sum: Array.from(recorded, (_, d) => products.reduce((sum, product) => sum + product[d]!, 0)),
    recorded,
    arriving,
    dots: arriving && values.map((v) => dot(arriving, v)),
    recordedDots: changed
      ? rowOf(changed.gradients[output], query, 0, head)
      : (tensor(gradients?.probabilities)?.row(query, head) ?? null),
  };
}

// One row of the plane at `places`; null if the page does not store it.
export function rowOf(packed: PackedTensor | null | undefined, row: number, ...places: number[]): Float32Array | null {
  const made = tensor(packed);
  return made && row < (made.storedShape.at(-2) ?? 1) ? made.row(row, ...places) : null;
}

// Heads with the same value vectors as this one, as in grouped-query attention; only the head itself in others.
export function headsSharingValues(block: Attention, head: number): number[] {
  const value = tensor(block.values.value);
  if (!value) return [head];
  const own = value.plane(head).values;
  return Array.from({ length: block.heads }, (_, other) => other).filter((other) => {
    const { values } = value.plane(other);
    return other === head || Array.from(own).every((one, index) => one === values[index]);
  });
}

// The operations after attention's weighted sums.
export interface OutputSteps {
  joined: Operand; // the heads' outputs side by side
  projected: Operand; // by W_O
  weight: number | null; // index of the leaf W_O
  residual: { stream: Operand; added: Operand; sum: Operand; beside: string[] } | null;
}

export interface Operand {
  node: TapeNode;
  output: TapeOutput;
}

// Those of the module's last call. Null if its output layer is not on the tape.
export function outputSteps({ tape }: Data, module: string): OutputSteps | null {
  const path = `${module}.output`;
  const last = tape.nodes.findLastIndex((node) => within(node.module, path));
  if (last < 0) return null;
  let first = last;
  while (first > 0 && within(tape.nodes[first - 1]!.module, path)) --first;
  const run = tape.nodes.slice(first, last + 1);
  const own = new Set(run.map(({ id }) => id));
  const byId = new Map(tape.nodes.map((node) => [node.id, node]));
  const operand = (id: number, output: number): Operand => {
    const node = byId.get(id)!;
    return { node, output: node.outputs[output]! };
  };
  const sources = run.flatMap(({ inputs }) => inputs);
  const source = sources.find((one) => one && "node" in one && !own.has(one.node));
  if (!source || !("node" in source)) return null;
  const leaves = sources.flatMap((one) => (one && "leaf" in one ? [one.leaf] : []));
  return {
    joined: operand(source.node, source.output),
    projected: operand(tape.nodes[last]!.id, 0),
    weight: leaves.find((leaf) => tape.leaves[leaf]!.shape.length === 2) ?? null,
    residual: residualOf(tape.nodes, tape.nodes[last]!, operand),
  };
}

// The first sum of a vector computed from attention's output and one that does not depend on it, the residual stream.
// beside: modules between the two, such as a norm.
function residualOf(
  nodes: TapeNode[],
  projected: TapeNode,
  operand: (id: number, output: number) => Operand,
): OutputSteps["residual"] {
  const after = new Set([projected.id]);
  const beside = new Set<string>();
  const shape = projected.outputs[0]!.shape.join();
  for (const node of nodes.slice(nodes.indexOf(projected) + 1)) {
    const sources = node.inputs.flatMap((one) => (one && "node" in one ? [one] : []));
    const own = sources.find((one) => after.has(one.node));
    if (!own) continue;
    const other = sources.find((one) => !after.has(one.node));
    after.add(node.id);
    const stream = other && operand(other.node, other.output);
    if (node.operation === "add" && stream?.output.shape.join() === shape)
      return { stream, added: operand(own.node, own.output), sum: operand(node.id, 0), beside: [...beside] };
    beside.add(node.module);
  }
  return null;
}
