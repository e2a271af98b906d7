// What the library writes into the page, and tensors that are decoded when they are first looked at.
export interface Packed {
  shape: number[];
  data: string; // base64 of little-endian float32
  cut?: number[]; // the shape of what is kept of a tensor that was too large
}

export interface Text {
  name: string;
  tokens: string[];
  segments?: number[] | null;
}

export type Part = "query" | "key" | "value" | "scores" | "mask" | "probabilities" | "context";
export type Parts = Record<Part, Packed | null>;

export interface Attention {
  module: string;
  kind: string;
  layer: number;
  heads: number;
  rows: number;
  columns: number;
  scale: number;
  values: Parts;
  gradients: Parts[];
}

export type Source = { node: number; output: number } | { leaf: number } | null;

export interface TapeOutput {
  shape: number[];
  dtype: string;
  value: Packed | null;
  gradients: (Packed | null)[];
}

export interface TapeNode {
  id: number;
  operation: string;
  attributes: Record<string, boolean | number | number[] | string>;
  module: string;
  line: string;
  inputs: Source[];
  outputs: TapeOutput[];
  contributions: (Packed | null)[];
  saved: { what: string; shape: number[]; bytes: number }[];
  saved_bytes: number;
  forward_us: number | null;
  backward_us: number | null;
  formula: { forward?: string; backward?: string[] };
  guilty?: { error: number | null; text: string } | null;
}

export interface Leaf {
  name: string;
  kind: string;
  shape: number[];
  dtype: string;
  value: Packed | null;
  gradients: (Packed | null)[];
}

export interface LayerNorm {
  module: string;
  text: number | null; // whose tokens the rows are
  eps: number;
  input: Packed;
  weight: Packed | null;
  bias: Packed | null;
  gradient_output: (Packed | null)[];
  gradient_input: (Packed | null)[];
}

export interface Gradcheck {
  passed: boolean;
  text: string;
  rows: { name: string; shape: number[]; error: number | null; ok: boolean }[];
  guilty: number[];
}

export interface Place {
  kind: "weight" | "score" | "activation";
  node: number; // whose first output it is in
  index: number[]; // [0, head, row, column] of weights and scores
  value: number;
}

export interface Cut {
  kind: "head" | "key" | "row";
  module: string;
  head: number;
  place: number;
  predicted: number[]; // an output each
  effects: number[];
  moved: number; // |y' - y| / |y| of the module's output
}

// What was pulled at, by place: gradients [places, outputs], changes [places, n], effects [places, outputs, n].
export interface Nudges {
  dtype: string; // what it was worked out in
  places: Place[];
  gradients: Packed;
  changes: Packed;
  effects: Packed;
  cuts: Cut[];
}

export interface Data {
  title: string;
  made_by: string;
  model: { kind: string; class: string; parameters: number; tree: string };
  texts: Text[];
  outputs: { name: string; value: number | null }[]; // null: not finite
  attention: Attention[];
  tape: { nodes: TapeNode[]; leaves: Leaf[]; root: number };
  layer_norms: LayerNorm[];
  nudges: Nudges | null;
  gradcheck: Gradcheck | null;
}

// A matrix of what a tensor holds; `at` gives NaN outside.
export class Plane {
  constructor(
    readonly rows: number,
    readonly columns: number,
    readonly values: ArrayLike<number>,
  ) {}

  at(row: number, column: number): number {
    return this.values[row * this.columns + column] ?? NaN;
  }

  // The largest finite size.
  size(): number {
    let size = 0;
    for (let i = 0; i < this.values.length; ++i) {
      const value = Math.abs(this.values[i]!);
      if (value > size && value < Infinity) size = value;
    }
    return size;
  }

  low(): number {
    let low = 0;
    for (let i = 0; i < this.values.length; ++i) {
      const value = this.values[i]!;
      if (value < low && value > -Infinity) low = value;
    }
    return low;
  }
}

export class Tensor {
  // held: the shape of `values`.
  constructor(
    readonly shape: number[],
    readonly held: number[],
    readonly values: Float32Array,
  ) {}

  get cut(): boolean {
    return this.held.some((size, axis) => size !== this.shape[axis]);
  }

  // The last two axes where the others have these places; places that are missing are 0. An axis of size 1 stands for all
  // places, as in broadcasting.
  plane(...places: number[]): Plane {
    const columns = this.held.at(-1) ?? 1;
    const rows = this.held.at(-2) ?? 1;
    let start = 0;
    const leading = this.held.slice(0, -2);
    leading.forEach((size, axis) => {
      const place = places[places.length - leading.length + axis] ?? 0;
      start = start * size + (size === 1 ? 0 : place);
    });
    const length = rows * columns;
    return new Plane(rows, columns, this.values.subarray(start * length, (start + 1) * length));
  }

  // One row of such a plane.
  row(row: number, ...places: number[]): Float32Array {
    const { rows, columns, values } = this.plane(...places);
    const from = rows === 1 ? 0 : row * columns;
    return (values as Float32Array).subarray(from, from + columns);
  }
}

// A module that was called more than once has a name for each call.
export function distinct(calls: { module: string }[]) {
  const seen = new Map<string, number>();
  for (const call of calls) {
    const times = (seen.get(call.module) ?? 0) + 1;
    seen.set(call.module, times);
    if (times > 1) call.module = `${call.module} (call ${times})`;
  }
}

// Of what is kept.
export function norm(of: Tensor): number {
  return Math.sqrt(of.values.reduce((sum, value) => sum + value * value, 0));
}

const decoded = new WeakMap<Packed, Tensor>();

export function tensor(packed: Packed): Tensor;
export function tensor(packed: Packed | null | undefined): Tensor | null;
export function tensor(packed: Packed | null | undefined): Tensor | null {
  if (!packed) return null;
  let made = decoded.get(packed);
  if (!made) {
    const text = atob(packed.data);
    const view = new DataView(new ArrayBuffer(text.length));
    for (let i = 0; i < text.length; ++i) view.setUint8(i, text.charCodeAt(i));
    const values = Float32Array.from({ length: text.length / 4 }, (_, i) => view.getFloat32(4 * i, true));
    made = new Tensor(packed.shape, packed.cut ?? packed.shape, values);
    decoded.set(packed, made);
  }
  return made;
}
