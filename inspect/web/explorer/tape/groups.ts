// The tape's operations and leaves, grouped by module. Groups fold and unfold.
import type { Data, TapeNode } from "../data";

export interface Item {
  key: string; // "n17" for node 17, "l3" for leaf 3
  group: Group;
  index: number; // index in tape.nodes or tape.leaves
  kind: "node" | "leaf";
}

export interface Group {
  key: string; // "g" followed by the path
  path: string;
  name: string; // the last part of the path
  parent: Group | null;
  groups: Group[];
  items: Item[];
}

export const isItem = (of: Item | Group): of is Item => "kind" in of;

// An edge from an operand to an operation that uses it.
export interface Link {
  from: Item;
  to: Item;
  input: number; // index among the operation's inputs
  output: number; // index among the operand's outputs
}

// Splits a module path, keeping indices with their list: encoder, layers.0, self_attention.
export function moduleParts(path: string): string[] {
  if (path === "") return [];
  const all: string[] = [];
  for (const part of path.split(".")) {
    const before = /^\d+$/.test(part) ? all.pop() : undefined;
    all.push(before === undefined ? part : `${before}.${part}`);
  }
  return all;
}

// The module that first uses each leaf, by leaf index.
function firstUsers(nodes: TapeNode[]): Map<number, string> {
  const users = new Map<number, string>();
  for (const { inputs, module } of nodes)
    for (const source of inputs)
      if (source && "leaf" in source && !users.has(source.leaf)) users.set(source.leaf, module);
  return users;
}

export class Groups {
  readonly root: Group = { key: "g", path: "", name: "", parent: null, groups: [], items: [] };
  readonly nodes = new Map<number, Item>(); // by id
  readonly leaves: Item[] = [];
  readonly links: Link[] = [];
  readonly open = new Set<Group>([this.root]);
  private readonly byPath = new Map<string, Group>([["", this.root]]);

  constructor({ tape }: Data) {
    const users = firstUsers(tape.nodes);
    tape.leaves.forEach(({ kind, name }, index) => {
      // Parameters belong to the module in their name, constants to the module that uses them first.
      const path =
        kind === "parameter" ? name.split(".").slice(0, -1).join(".") : kind === "constant" ? users.get(index) : "";
      this.leaves.push(this.add({ key: `l${index}`, index, kind: "leaf" }, path ?? ""));
    });
    tape.nodes.forEach(({ id, module }, index) => {
      this.nodes.set(id, this.add({ key: `n${id}`, index, kind: "node" }, module));
    });
    for (const node of tape.nodes)
      node.inputs.forEach((source, input) => {
        const from = source && ("node" in source ? this.nodes.get(source.node) : this.leaves[source.leaf]);
        const to = this.nodes.get(node.id)!;
        if (from) this.links.push({ from, to, input, output: "node" in source ? source.output : 0 });
      });
    this.unfoldSome(32);
  }

  private add(item: Omit<Item, "group">, path: string): Item {
    const made = { ...item, group: this.group(moduleParts(path)) };
    made.group.items.push(made);
    return made;
  }

  private group(path: string[]): Group {
    const whole = path.join(".");
    const known = this.byPath.get(whole);
    if (known) return known;
    const parent = this.group(path.slice(0, -1));
    const made = { key: `g${whole}`, path: whole, name: path.at(-1)!, parent, groups: [], items: [] };
    parent.groups.push(made);
    this.byPath.set(whole, made);
    return made;
  }

  all(): Group[] {
    return [...this.byPath.values()];
  }

  // Unfolds level by level while at most `most` boxes are visible.
  unfoldSome(most: number) {
    this.open.clear();
    this.open.add(this.root);
    let level = [this.root];
    let seen = this.root.groups.length + this.root.items.length;
    while (level.length > 0) {
      const next = level.flatMap(({ groups }) => groups);
      const more = next.reduce((sum, { groups, items }) => sum + groups.length + items.length - 1, 0);
      if (seen + more > most) return;
      for (const group of next) this.open.add(group);
      seen += more;
      level = next;
    }
  }

  count(group: Group): number {
    const own = group.items.filter(({ kind }) => kind === "node").length;
    return group.groups.reduce((sum, inner) => sum + this.count(inner), own);
  }

  // Returns the outermost folded group around an item, or the item itself.
  shown(item: Item): Item | Group {
    let folded: Group | null = null;
    for (let group: Group | null = item.group; group; group = group.parent) if (!this.open.has(group)) folded = group;
    return folded ?? item;
  }

  // The innermost unfolded groups, comma-separated as in the page's address; "*" if all are unfolded.
  openPaths(): string {
    const all = this.all();
    if (all.every((group) => this.open.has(group))) return "*";
    const inner = all.filter((group) => this.open.has(group) && !group.groups.some((one) => this.open.has(one)));
    return inner.map(({ path }) => path).join(",");
  }

  setOpenPaths(paths: string) {
    this.open.clear();
    this.open.add(this.root);
    for (const group of this.all()) if (paths === "*") this.open.add(group);
    for (const path of paths.split(","))
      for (let group = this.byPath.get(path) ?? null; group; group = group.parent) this.open.add(group);
  }

  reveal(item: Item) {
    for (let group: Group | null = item.group; group; group = group.parent) this.open.add(group);
  }

  // The visible contents of an unfolded group: unfolded groups (outer before inner), folded groups, items.
  visible(group: Group = this.root): { groups: Group[]; folded: Group[]; items: Item[] } {
    const found = { groups: [] as Group[], folded: [] as Group[], items: [...group.items] };
    for (const inner of group.groups) {
      if (!this.open.has(inner)) {
        found.folded.push(inner);
        continue;
      }
      const deeper = this.visible(inner);
      found.groups.push(inner, ...deeper.groups);
      found.folded.push(...deeper.folded);
      found.items.push(...deeper.items);
    }
    return found;
  }
}
