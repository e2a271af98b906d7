// The model's architecture as the tape recorded it: stacks of blocks with their attention, feed-forward and norms, and
// names for modules that do not require knowing the source code.
import type { Data, TapeNode } from "./data";

export type PartKind = "embedding" | "attention" | "feed-forward" | "norm" | "sum" | "output" | "other";

// A module or a residual sum.
export interface Part {
  kind: PartKind;
  label: string;
  module: string;
  node: number; // id of the operation that computes its output
}

// A step along the residual stream: either a part that the stream passes through, or a branch whose output is added.
export interface Step {
  through: Part | null;
  branch: Part[]; // in the order of computation
  sum: Part | null;
}

export interface Block {
  name: string; // "Block 1", or "Encoder block 1" if there are several stacks
  module: string;
  steps: Step[];
}

export interface Stack {
  name: string; // "", or "Encoder" if there are several stacks
  path: string; // of its list of blocks: encoder.layers
  text: number; // index of the text that it reads
  before: Step[];
  blocks: Block[];
  after: Step[];
}

export const capital = (text: string) => text.replace(/^./, (letter) => letter.toUpperCase());

// "self_attention" to "self-attention", "norm1" to "norm 1".
function readable(part: string): string {
  const known: Record<string, string> = { feed_forward: "feed-forward" };
  return (
    known[part] ??
    part
      .replace(/_attention$/, "-attention")
      .replaceAll("_", " ")
      .replace(/(?<=[a-z])(?=\d)/, " ")
  );
}

// Splits a module path at its first index: encoder.layers.0.norm1 to "encoder.layers", 0 and "norm1".
function indexed(module: string): { list: string; index: number; rest: string } | null {
  const found = /^(.*?)\.(\d+)(?:\.(.*))?$/.exec(module);
  return found && { list: found[1]!, index: Number(found[2]), rest: found[3] ?? "" };
}

export const within = (module: string, outer: string) => module === outer || module.startsWith(`${outer}.`);
const through = (part: Part): Step => ({ through: part, branch: [], sum: null });

export class Architecture {
  readonly stacks: Stack[] = [];
  private readonly norms: Set<string>;
  private readonly outermost: Set<string>; // first parts of the paths on the tape
  private readonly places: Map<number, number>; // of operations in the tape, by id

  constructor(private readonly data: Data) {
    const { nodes } = data.tape;
    this.norms = new Set([...data.layer_norms, ...data.rms_norms].map(({ module }) => module));
    this.outermost = new Set(nodes.map(({ module }) => module.split(".")[0]!).filter(Boolean));
    this.places = new Map(nodes.map(({ id }, place) => [id, place]));
    const lists = new Set<string>();
    for (const { module } of nodes) {
      const list = indexed(module)?.list;
      if (list !== undefined && data.attention.some(({ module: inner }) => within(inner, list))) lists.add(list);
    }
    const several = lists.size > 1;
    for (const path of lists) {
      const name = several ? capital(readable(path.split(".").at(-2) ?? path)) : "";
      const attention = data.attention.find((block) => within(block.module, path));
      this.stacks.push({
        name,
        path,
        text: attention?.rows ?? 0,
        before: [],
        blocks: this.blocks(path, name),
        after: [],
      });
    }
    this.addSurroundings();
  }

  // The name of a module or parameter: "Block 1, self-attention". Paths that are not on the tape are returned as they are.
  nameOf(module: string): string {
    const known = this.blockNameOf(module);
    if (known) return known;
    const outside = this.stacks.length > 0 && this.outermost.has(module.split(".")[0]!);
    return outside ? capital(module.split(".").map(readable).join(" ")) : module;
  }

  // The name of a module within a block, of a final norm or of an embedding's norm.
  blockNameOf(module: string): string | null {
    const [, path, call] = /^(.*?)( \(call \d+\))?$/.exec(module)!;
    const { list, index, rest } = indexed(path!) ?? {};
    const stack = this.stacks.find((one) => one.path === list);
    const name = stack ? blockName(stack.name, index!) : null;
    if (name) return [name, ...(rest ? [rest.split(".").map(readable).join(" ")] : [])].join(", ") + (call ?? "");
    if (/embed[^.]*\.norm$/.test(path!)) return `Embedding norm${call ?? ""}`;
    const owner = this.stacks.find(
      (one) => path === `${outerOf(one.path)}.norm` || (path === "norm" && outerOf(one.path) === ""),
    );
    return owner ? capital(`${owner.name} final norm`.trim().toLowerCase()) + (call ?? "") : null;
  }

  // The name of the same module in all blocks: decoder.layers.*.cross_attention to "Decoder blocks, cross-attention".
  kindName(pattern: string): string {
    const first = pattern.replace("*", "0");
    const name = first === pattern ? null : this.blockNameOf(first);
    return name ? capital(name.replace(/block 1/i, "blocks")) : this.nameOf(pattern);
  }

  // Replaces paths in a text by names: "without decoder.layers.1.cross_attention:3" to "without decoder
  // block 2, cross-attention, head 3".
  wordsIn(text: string): string {
    if (/^[\w.]+$/.test(text)) return this.nameOf(text);
    return text.replace(
      /([a-z_]\w*(?:\.\w+)*\.\d+(?:\.\w+)*)(?::(\d+))?(?:@(\d+))?/gi,
      (whole, path: string, head?: string, token?: string) => {
        const name = this.blockNameOf(path);
        if (!name) return whole;
        return name + (head === undefined ? "" : `, head ${head}`) + (token === undefined ? "" : `, token ${token}`);
      },
    );
  }

  // The name of a group of the tape: that of its block, or "blocks" for the encoder of a model with a single stack.
  groupName(path: string, name: string): string {
    const { list, index, rest } = indexed(path) ?? {};
    const stack = this.stacks.find((one) => one.path === list);
    if (stack && rest === "") return blockName("", index!);
    const [only] = this.stacks;
    return this.stacks.length === 1 && only && path !== "" && path === outerOf(only.path) ? "blocks" : name;
  }

  private blocks(path: string, stack: string): Block[] {
    const inside = new Map<number, TapeNode[]>();
    for (const node of this.data.tape.nodes) {
      const found = indexed(node.module);
      if (found?.list === path) inside.set(found.index, [...(inside.get(found.index) ?? []), node]);
    }
    return [...inside].map(([index, nodes]) => {
      const module = `${path}.${index}`;
      return { name: blockName(stack, index), module, steps: this.stepsOf(module, nodes) };
    });
  }

  // Parts of a block in the order of computation; its own additions are the residual sums.
  private stepsOf(block: string, nodes: TapeNode[]): Step[] {
    const parts: Part[] = [];
    for (const { id, module, operation } of nodes) {
      if (module === block) {
        if (operation === "add") parts.push({ kind: "sum", label: "residual sum", module, node: id });
        continue;
      }
      const child = `${block}.${module.slice(block.length + 1).split(".")[0]!}`;
      const known = parts.find((part) => part.module === child);
      if (known) known.node = id;
      else parts.push({ ...this.described(child), module: child, node: id });
    }
    const steps: Step[] = [];
    const open = () => steps.find(({ branch, sum }) => branch.length > 0 && !sum);
    parts.forEach((part, place) => {
      const last = steps.at(-1);
      if (part.kind === "sum") {
        const unsummed = open();
        if (unsummed) unsummed.sum = part;
        else steps.push({ through: null, branch: [], sum: part });
      } else if (part.kind === "norm" && this.onStream(part, parts.slice(place + 1))) steps.push(through(part));
      else if (last && last.branch.length > 0 && !last.sum && !startsBranch(last.branch, part, parts[place + 1]))
        last.branch.push(part);
      else steps.push({ through: null, branch: [part], sum: null });
    });
    return steps;
  }

  // Whether a norm's output is the input of the next residual sum, or of the next block (post-norm).
  private onStream(norm: Part, later: Part[]): boolean {
    const sum = later.find(({ kind }) => kind === "sum");
    if (!sum) return true;
    const { inputs } = this.data.tape.nodes[this.places.get(sum.node)!]!;
    return inputs.some((source) => source && "node" in source && source.node === norm.node) && later[0] !== sum;
  }

  private described(module: string): { kind: PartKind; label: string } {
    const { attention, activations } = this.data;
    const name = module.split(".").at(-1)!;
    const found = attention.find((block) => within(block.module, module));
    if (found) return { kind: "attention", label: found.kind === "cross" ? "cross-attention" : "self-attention" };
    if (this.norms.has(module) || /norm/i.test(name)) return { kind: "norm", label: "norm" };
    if (activations.some((layer) => within(layer.module, module)) || /feed_?forward|mlp|ffn/i.test(name))
      return { kind: "feed-forward", label: "feed-forward" };
    return { kind: "other", label: readable(name) };
  }

  // Adds what comes before and after the blocks: embeddings, final norms, the output layer.
  private addSurroundings() {
    const { nodes } = this.data.tape;
    const stackOf = (module: string) => this.stacks.findIndex(({ path }) => within(module, path));
    const ends = this.stacks.map(({ path }) => nodes.findLastIndex(({ module }) => within(module, path)));
    // The stacks that each operation depends on.
    const needs: Set<number>[] = [];
    nodes.forEach(({ module, inputs }, place) => {
      const all = inputs.flatMap((one) => (one && "node" in one ? [...(needs[this.places.get(one.node)!] ?? [])] : []));
      needs[place] = new Set(all);
      const own = stackOf(module);
      if (own >= 0) needs[place].add(own);
    });
    nodes.forEach((node, place) => {
      if (node.module === "" || stackOf(node.module) >= 0) return;
      const used = Math.max(-1, ...needs[place]!);
      if (used >= 0) this.addTo(this.stacks[used]!.after, node, "final norm");
      else {
        const next = this.stacks[ends.findIndex((end) => end > place)];
        if (next) this.addTo(next.before, node, "norm");
      }
    });
    const prediction = this.data.predictions.find(Boolean);
    const last = this.stacks.at(-1)?.after.at(-1)?.through;
    if (prediction && last && last.kind !== "norm") Object.assign(last, { kind: "output", label: "output layer" });
  }

  private addTo(steps: Step[], { id, module, operation }: TapeNode, norm: string) {
    const last = steps.at(-1);
    const part = last?.through ?? last?.branch[0];
    const beside = last?.branch.length === 1 && !last.sum;
    if (operation === "add" && beside && module !== part?.module)
      return void (last.sum = { kind: "sum", label: "sum", module, node: id });
    if (part && !last?.sum && (within(module, part.module) || (within(part.module, module) && part.kind !== "norm")))
      if (operation !== "embedding") return void Object.assign(part, { node: id });
    const made = { ...this.surrounding(module, operation, norm), module, node: id };
    const first = steps.length === 0 || operation !== "embedding";
    steps.push(first ? through(made) : { through: null, branch: [made], sum: null });
  }

  // norm: the label of a norm that is not an embedding's.
  private surrounding(module: string, operation: string, norm: string): { kind: PartKind; label: string } {
    const name = module.split(".").at(-1)!;
    if (this.norms.has(module)) return { kind: "norm", label: module.includes("embed") ? "norm" : norm };
    if (name.includes("position"))
      return { kind: "embedding", label: operation === "embedding" ? "positions" : "add positions" };
    if (/segment|token_type/.test(name)) return { kind: "embedding", label: "segments" };
    if (operation === "embedding") return { kind: "embedding", label: "token embedding" };
    if (module.includes("embed")) return { kind: "embedding", label: "patch embedding" };
    return { kind: "other", label: readable(name) };
  }
}

const outerOf = (path: string) => path.split(".").slice(0, -1).join(".");
const blockName = (stack: string, index: number) =>
  stack === "" ? `Block ${index + 1}` : `${stack} block ${index + 1}`;

const isMain = (part: Part | undefined) => part?.kind === "attention" || part?.kind === "feed-forward";

// Whether a branch with its attention or feed-forward ends before this part, as in blocks that compute the two in parallel.
function startsBranch(branch: Part[], part: Part, next: Part | undefined): boolean {
  return branch.some(isMain) && (isMain(part) || (part.kind === "norm" && isMain(next)));
}
