// The recording and the replay of the tape, step by step: each node in the order recorded, then backward each that a
// gradient of one output reaches.
import type { Data, PackedTensor, Source, TapeNode } from "../data";
import { tensor, type Tensor } from "../tensor";

export interface Step {
  node: TapeNode;
  backward: boolean;
}

// What one node sends to an operand.
export interface Contribution {
  node: TapeNode;
  input: number;
  step: number;
  value: PackedTensor | null;
}

export type Operand = { node: number; output: number } | { leaf: number };

const keyOf = (operand: Operand) => ("node" in operand ? `${operand.node}:${operand.output}` : `leaf ${operand.leaf}`);

export class Replay {
  readonly steps: Step[];
  readonly recorded: number; // steps forward
  private readonly sent = new Map<string, Contribution[]>();
  private readonly turn = new Map<number, number>(); // backward step by node

  constructor(
    { tape }: Data,
    readonly output: number,
  ) {
    const root = tape.roots[output]!;
    const byId = new Map(tape.nodes.map((node) => [node.id, node]));
    const reached = new Set<TapeNode>();
    const last = tape.nodes.findIndex(({ id }) => id === root);
    const wanted = new Set([root]);
    for (const node of tape.nodes.slice(0, last + 1).reverse()) {
      const arrives = node.outputs.some(({ gradients }) => gradients[output]);
      if (!wanted.has(node.id) || !(arrives || node.contributions.some((one) => one[output]))) continue;
      reached.add(node);
      for (const source of node.inputs)
        if (source && "node" in source && byId.has(source.node)) wanted.add(source.node);
    }
    this.recorded = tape.nodes.length;
    this.steps = [
      ...tape.nodes.map((node) => ({ node, backward: false })),
      ...[...reached].map((node) => ({ node, backward: true })),
    ];
    this.steps.forEach(({ node, backward }, step) => {
      if (!backward) return;
      this.turn.set(node.id, step);
      node.inputs.forEach((source, input) =>
        this.addContribution(source, { node, input, step, value: this.sentTo(node, input) }),
      );
    });
  }

  // What a node's backward sends to an input.
  sentTo(node: TapeNode, input: number): PackedTensor | null {
    return node.contributions[input]?.[this.output] ?? null;
  }

  private addContribution(source: Source, contribution: Contribution) {
    if (!source || !contribution.value) return;
    const key = keyOf(source);
    this.sent.set(key, [...(this.sent.get(key) ?? []), contribution]);
  }

  // The step of that number, or the last where another output's replay had more.
  at(step: number): Step | undefined {
    return this.steps[Math.min(step, this.steps.length - 1)];
  }

  // The step in which a node's backward runs.
  backwardStep(id: number): number | undefined {
    return this.turn.get(id);
  }

  // In the order in which they arrive.
  contributions(operand: Operand): Contribution[] {
    return this.sent.get(keyOf(operand)) ?? [];
  }
}

// The sum of what has arrived, where all of it has one shape.
export function summed(contributions: Contribution[]): Float64Array | null {
  const tensors = contributions.map(({ value }) => tensor(value)).filter((value): value is Tensor => value !== null);
  const first = tensors[0];
  if (!first || tensors.some(({ values }) => values.length !== first.values.length)) return null;
  const sum = new Float64Array(first.values.length);
  for (const { values } of tensors) values.forEach((value, i) => (sum[i]! += value));
  return sum;
}
