// Finds in a model's tape what the chapters talk about: the attention weight that they follow, and the operations before
// and after it. What a model does not have is null.
import type { App } from "../../app";
import { within } from "../../architecture";
import type { Attention, PackedTensor, TapeNode } from "../../data";
import { tensor } from "../../tensor";

// The attention weight that the chapters follow.
export interface FollowedWeight {
  block: Attention;
  head: number;
  row: number;
  key: number;
}

// A matrix product with a parameter: y = x Wᵀ, or x W if it is stored that way.
export interface Product {
  node: TapeNode;
  leaf: number;
  input: PackedTensor;
}

// One element of a matrix, at indices of its leading axes; NaN if the page does not store it.
export function cellOf(
  packed: PackedTensor | null | undefined,
  row: number,
  column: number,
  ...places: number[]
): number {
  return (
    tensor(packed)
      ?.plane(...places)
      .at(row, column) ?? NaN
  );
}

export class Anatomy {
  readonly followed: FollowedWeight | null;
  private readonly nodes: Map<number, TapeNode>;
  private readonly users = new Map<number, TapeNode[]>();

  constructor(readonly app: App) {
    const { tape } = app.data;
    this.nodes = new Map(tape.nodes.map((node) => [node.id, node]));
    for (const node of tape.nodes)
      for (const source of node.inputs)
        if (source && "node" in source) this.users.set(source.node, [...(this.users.get(source.node) ?? []), node]);
    this.followed = this.follow();
  }

  // The weight whose score has the largest gradient in the last cross-attention, or else the last attention: among those
  // of some size; if there are nudges, the nudged ones; preferably in a head whose query matrix the page stores.
  private follow(): FollowedWeight | null {
    const { app } = this;
    const all = app.data.attention.filter((block) => {
      const gradients = block.gradients[0];
      return tensor(block.values.probabilities) && tensor(gradients?.probabilities) && tensor(gradients?.scores);
    });
    const block = all.findLast(({ kind }) => kind === "cross") ?? all.at(-1);
    if (!block) return null;
    const gradients = tensor(block.gradients[0]!.scores)!;
    const weights = tensor(block.values.probabilities)!;
    const [queries, keys] = gradients.storedShape.slice(-2) as [number, number];
    const nudged = new Set(
      app.data.nudges?.places
        .filter(({ kind, node }) => kind === "weight" && app.operation(node)?.module === block.module)
        .map(({ index: [, head, row, key] }) => (head! * queries + row!) * keys + key!),
    );
    const query = this.product(block, "query");
    const stored = (query && tensor(app.data.tape.leaves[query.leaf]!.value)?.storedShape[0]) ?? Infinity;
    const depth = tensor(block.values.query)?.storedShape.at(-1) ?? 1;
    const headOf = (place: number) => Math.floor(place / (queries * keys));
    const rank = (place: number) => {
      const weight = weights.values[place]!;
      if (!(weight > 0.02) || (nudged.size > 0 && !nudged.has(place))) return -1;
      const whole = (headOf(place) + 1) * depth <= stored || stored < depth;
      return Math.abs(gradients.values[place]!) * (whole ? 1 : 1e-6);
    };
    let [best, size] = [0, -2];
    gradients.values.forEach((_, place) => {
      const here = rank(place);
      if (here > size) [best, size] = [place, here];
    });
    return { block, head: headOf(best), row: Math.floor(best / keys) % queries, key: best % keys };
  }

  input(node: TapeNode | null | undefined, index: number): TapeNode | null {
    const source = node?.inputs[index];
    return source && "node" in source ? (this.nodes.get(source.node) ?? null) : null;
  }

  usersOf(node: TapeNode): TapeNode[] {
    return this.users.get(node.id) ?? [];
  }

  // The softmax of an attention module; a module that is called repeatedly has one per call.
  softmax(block: Attention): TapeNode | null {
    const [, module, call] = /^(.*?)(?: \(call (\d+)\))?$/.exec(block.module)!;
    const all = this.app.data.tape.nodes.filter((node) => node.operation === "softmax" && node.module === module);
    return all[Number(call ?? 1) - 1] ?? null;
  }

  // The product of weights and values: the output of the heads.
  context(block: Attention): TapeNode | null {
    const softmax = this.softmax(block);
    return (softmax && this.usersOf(softmax).find(({ operation }) => operation === "matmul")) ?? null;
  }

  // The product of queries and keys, before it is scaled and masked.
  private scores(block: Attention): TapeNode | null {
    let node = this.input(this.softmax(block), 0);
    for (let hop = 0; node && node.operation !== "matmul" && hop < 12; ++hop) {
      const inputs = [this.input(node, 0), this.input(node, 1)];
      node = inputs.find((one) => one?.module === node!.module) ?? this.input(node, node.operation === "where" ? 1 : 0);
    }
    return node;
  }

  // The scaling of the scores, if it is an operation of its own.
  scaling(block: Attention): TapeNode | null {
    const scores = this.scores(block);
    return (scores && this.usersOf(scores).find(({ operation }) => /^(affine|mul)$/.test(operation))) ?? null;
  }

  // The matrix product that made the queries, or that reads the concatenated outputs of the heads.
  product(block: Attention, part: "query" | "output"): Product | null {
    const module = block.module.split(" (")[0]!;
    let node = part === "query" ? this.input(this.scores(block), 0) : this.context(block);
    for (let hop = 0; node && within(node.module, module) && hop < 16; ++hop) {
      const found = this.productAt(node);
      if (found) return found;
      const before: TapeNode = node;
      node = part === "query" ? (this.input(before, 0) ?? this.input(before, 1)) : (this.usersOf(before)[0] ?? null);
    }
    return null;
  }

  private productAt(node: TapeNode): Product | null {
    const [, matrix] = node.inputs;
    const input = this.input(node, 0)?.outputs[0]?.value;
    if (node.operation !== "matmul" || !matrix || !("leaf" in matrix) || !input) return null;
    return { node, leaf: matrix.leaf, input };
  }

  // The sum of a block's input and the output of its attention.
  residual(block: Attention): TapeNode | null {
    let node: TapeNode | undefined = this.product(block, "output")?.node;
    for (let hop = 0; node && hop < 8; ++hop) {
      [node] = this.usersOf(node);
      if (node?.operation === "add" && this.input(node, 0) && this.input(node, 1)) return node;
    }
    return null;
  }

  // The lookup of the tokens of a text.
  embedding(text: number): TapeNode | null {
    const reads = ({ outputs }: TapeNode) => {
      const axes = outputs[0]?.axes;
      return !axes || axes.some((axis) => axis && typeof axis === "object" && axis.text === text);
    };
    const all = this.app.data.tape.nodes.filter(
      (node) => node.operation === "embedding" && !/position|segment|token_type|type_embed/.test(node.module),
    );
    return all.find(reads) ?? null;
  }

  // The sum of a token's vector and its position's, and the factor before it.
  positions(embedding: TapeNode): { sum: TapeNode; scaling: TapeNode | null; other: PackedTensor } | null {
    let scaling: TapeNode | null = null;
    let node: TapeNode | undefined = embedding;
    for (let hop = 0; node && hop < 3; ++hop) {
      const next: TapeNode | undefined = this.usersOf(node).find(({ operation }) => /^(affine|add)$/.test(operation));
      if (next?.operation === "add") {
        const from: number = node.id;
        const other = next.inputs.find((source) => source && !("node" in source && source.node === from));
        if (!other) return null;
        const made = "node" in other ? this.nodes.get(other.node) : null;
        if (made && !made.module.includes("position")) return null;
        const packed = made
          ? made.outputs[0]!.value
          : this.app.data.tape.leaves["leaf" in other ? other.leaf : 0]!.value;
        return packed && { sum: next, scaling, other: packed };
      }
      scaling = next ?? null;
      node = next;
    }
    return null;
  }
}
