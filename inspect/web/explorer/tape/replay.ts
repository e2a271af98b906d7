// The steps of recording and backward: every node in recording order, then in reverse every node that the gradient of
// one output reaches.
import type { Data, PackedTensor, Source, TapeNode } from "../data";
import { tensor, type Tensor } from "../tensor";

export interface Step {
  node: TapeNode;
  backward: boolean;
}

// The gradient that a node's backward sends to an operand.
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
  readonly recorded: number; // number of forward steps
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

  // The gradient that a node's backward sends to an input, null if none.
  sentTo(node: TapeNode, input: number): PackedTensor | null {
    return node.contributions[input]?.[this.output] ?? null;
  }

  private addContribution(source: Source, contribution: Contribution) {
    if (!source || !contribution.value) return;
    const key = keyOf(source);
    this.sent.set(key, [...(this.sent.get(key) ?? []), contribution]);
  }

  // The step with this index, clamped to the last: the index may come from another output's replay.
  at(step: number): Step | undefined {
    return this.steps[Math.min(step, this.steps.length - 1)];
  }

  // Index of the step in which a node's backward runs.
  backwardStep(id: number): number | undefined {
    return this.turn.get(id);
  }

  // Contributions to an operand's gradient, in order of arrival.
  contributions(operand: Operand): Contribution[] {
    return this.sent.get(keyOf(operand)) ?? [];
  }
}

// Sum of the contributions, null if there are none or their sizes differ.
export function summed(contributions: Contribution[]): Float64Array | null {
  const tensors = contributions.map(({ value }) => tensor(value)).filter((value): value is Tensor => value !== null);
  const first = tensors[0];
  if (!first || tensors.some(({ values }) => values.length !== first.values.length)) return null;
  const sum = new Float64Array(first.values.length);
  for (const { values } of tensors) values.forEach((value, i) => (sum[i]! += value));
  return sum;
}
