// Single elements of the page's tensors: their values, their gradients, and the edits that change them.
import type { Data, Leaf, Norm, PackedTensor, TapeNode } from "../data";
import { tensor } from "../tensor";
import type { Edit } from "./protocol";

// The element of a tensor at an index of its full shape, of which the first axes may be left out if their size is 1; null
// if the page does not store it.
export function elementAt(packed: PackedTensor | null | undefined, index: number[]): number | null {
  const made = tensor(packed);
  if (!packed || !made) return null;
  const { columns } = packed;
  const { storedShape } = made;
  let place = 0;
  for (const [axis, size] of storedShape.entries()) {
    const wanted = index[index.length - storedShape.length + axis] ?? 0;
    const at = columns && axis === storedShape.length - 1 ? columns.indexOf(wanted) : wanted;
    if (at < 0 || at >= size) return null;
    place = place * size + at;
  }
  return made.values[place] ?? null;
}

// Whether two tensors of the page are the same values in the same layout, apart from axes of size 1.
function same(a: PackedTensor, b: PackedTensor | null | undefined): boolean {
  if (!b) return false;
  const shape = ({ shape }: PackedTensor) => shape.filter((size) => size !== 1).join();
  return a === b || (a.data === b.data && shape(a) === shape(b));
}

// The index of an element in a tensor of the same elements, which may be split into other axes.
function reshaped(index: number[], from: number[], to: number[]): number[] {
  let place = 0;
  for (const [axis, size] of from.entries()) place = place * size + (index[index.length - from.length + axis] ?? 0);
  return to
    .toReversed()
    .map((size) => {
      const at = place % size;
      place = Math.floor(place / size);
      return at;
    })
    .reverse();
}

// The operation of an unedited forward whose output this is, also if an edit added to it.
function original(data: Data, node: TapeNode): TapeNode | null {
  if (!data.tape.nodes.some(({ recorded }) => typeof recorded === "number")) return node;
  let at: TapeNode | undefined = node;
  while (at && typeof at.recorded !== "number") {
    const source: TapeNode["inputs"][number] | undefined = at.inputs[0];
    at = source && "node" in source ? data.tape.nodes.find(({ id }) => id === source.node) : undefined;
  }
  return at ?? null;
}

export interface Element {
  value: number;
  least?: number; // sensible ends of a slider
  most?: number;
  edit(value: number): Edit;
}

// The element of one of the data's tensors that an edit can change; null if none can. index: as of elementAt().
export function elementOf(data: Data, packed: PackedTensor | null | undefined, index: number[]): Element | null {
  const value = elementAt(packed, index);
  if (!packed || value === null || !Number.isFinite(value)) return null;
  for (const { module, values } of data.attention) {
    if (module.includes(" (call ")) continue; // the engine's edits apply to the first call
    const [head, query, key] = index.slice(-3) as [number, number, number];
    const place = { module, head, query, key };
    if (same(packed, values.probabilities))
      return { value, least: 0, most: 1, edit: (to) => ({ kind: "weight", ...place, value: to }) };
    if (same(packed, values.scores)) return { value, edit: (to) => ({ kind: "score", ...place, value: to }) };
  }
  const norms = [...data.layer_norms, ...data.rms_norms];
  const leaf = leafOf(data, packed, norms);
  if (leaf) {
    const at = reshaped(index, packed.shape, leaf.shape);
    return { value, edit: (to) => ({ kind: "parameter", name: leaf.name, index: at, value: to }) };
  }
  const found = nodeOf(data, packed, norms);
  const node = found && original(data, found);
  if (!node) return null;
  const at = reshaped(index, packed.shape, node.outputs[0]!.shape);
  const recorded = node.recorded ?? node.id;
  return { value, edit: (to) => ({ kind: "value", recorded, index: at, value: to }) };
}

// Whether two tensors have the same elements, perhaps in other axes.
function fits(packed: PackedTensor, other: PackedTensor | null | undefined): boolean {
  const whole = !packed.cut && !packed.columns && !other?.cut;
  return same(packed, other) || (whole && other?.data === packed.data);
}

// Weights and inputs of norms are also found by their place in the model, since the page may store less of them elsewhere.
function leafOf(data: Data, packed: PackedTensor, norms: Norm[]): Leaf | undefined {
  const parameters = data.tape.leaves.filter(({ kind }) => kind === "parameter");
  const norm = norms.find(({ weight }) => weight === packed);
  return parameters.find(({ name, value }) => (norm ? name === `${norm.module}.weight` : fits(packed, value)));
}

function nodeOf(data: Data, packed: PackedTensor, norms: Norm[]): TapeNode | undefined {
  const { nodes } = data.tape;
  const found = nodes.find(({ outputs }) => fits(packed, outputs[0]?.value));
  const norm = norms.find(({ input }) => input === packed);
  if (found || !norm) return found;
  const source = nodes.find(({ module }) => module === norm.module)?.inputs[0];
  return source && "node" in source ? nodes.find(({ id }) => id === source.node) : undefined;
}

// The operation that a value edit changes.
export function operationOf(data: Data, recorded: number): TapeNode | undefined {
  return data.tape.nodes.find((node) => (node.recorded ?? node.id) === recorded);
}
