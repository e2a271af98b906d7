// What the library writes into the page, and tensors that are decoded when they are first looked at.
export interface Packed {
  shape: number[];
  data: string | number; // base64 of little-endian float32, or its place in what is shared
  cut?: number[]; // the shape of what is kept of a tensor that was too large
  columns?: number[]; // which places of the last axis are kept, where not the first
  low?: number; // of the whole, where not all is kept
  high?: number;
  norm?: number;
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

// What the places along an axis are, where that is known.
export type Axis = { text: number; start?: number } | "heads" | "vocabulary" | null;

export interface TapeOutput {
  shape: number[];
  dtype: string;
  axes: Axis[] | null;
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

// Some rows of what a layer was given and gave.
export interface Layer {
  module: string;
  text: number | null; // whose tokens the rows are
  rows: number; // there were
  input: Packed;
  output: Packed;
  gradient_output: (Packed | null)[];
  gradient_input: (Packed | null)[];
}

export interface Norm extends Layer {
  eps: number;
  weight: Packed | null;
  bias: Packed | null;
}

export interface Activation extends Layer {
  function: string;
}

export interface Rotary extends Layer {
  width: number; // of a head
  turned: number; // of its columns
  theta: number;
  pairing: "halves" | "interleaved";
}

// What a loss says of each position: some tokens of each, the likeliest first, and what their scores get.
export interface Prediction {
  node: number; // of the tape, whose output the scores are
  text: number | null; // whose tokens the positions read
  start: number; // the first of these
  vocabulary: number;
  targets: number[];
  tokens: number[]; // as many each position as the logits have columns
  names: Record<string, string>;
  log_sums: number[]; // ln Σ exp over the whole vocabulary
  logits: Packed;
  gradients: (Packed | null)[];
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
  predictions: (Prediction | null)[]; // one an output
  attention: Attention[];
  tape: { nodes: TapeNode[]; leaves: Leaf[]; root: number };
  layer_norms: Norm[];
  rms_norms: Norm[];
  activations: Activation[];
  rotaries: Rotary[];
  nudges: Nudges | null;
  gradcheck: Gradcheck | null;
  shared: string[]; // data that stand more than once
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

// The last two axes of such values where the axes in front have these places; missing ones are 0, and an axis of size 1
// stands for all places.
export function planeOf<V extends Float32Array | Float64Array>(held: number[], values: V, places: number[]): Plane {
  const columns = held.at(-1) ?? 1;
  const rows = held.at(-2) ?? 1;
  let start = 0;
  const leading = held.slice(0, -2);
  leading.forEach((size, axis) => {
    const place = places[places.length - leading.length + axis] ?? 0;
    start = start * size + (size === 1 ? 0 : place);
  });
  const length = rows * columns;
  return new Plane(rows, columns, values.subarray(start * length, (start + 1) * length));
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
    return planeOf(this.held, this.values, places);
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

// Of the whole.
export function norm(packed: Packed): number {
  if (packed.norm !== undefined) return packed.norm;
  return Math.sqrt(tensor(packed).values.reduce((sum, value) => sum + (Number.isFinite(value) ? value * value : 0), 0));
}

// The smallest and the largest finite number of the whole.
export function range(packed: Packed): [number, number] {
  if (packed.low !== undefined && packed.high !== undefined) return [packed.low, packed.high];
  let [low, high] = [Infinity, -Infinity];
  for (const value of tensor(packed).values)
    if (Number.isFinite(value)) [low, high] = [Math.min(low, value), Math.max(high, value)];
  return [low, high];
}

let shared: string[] = [];
export function share(strings: string[]) {
  shared = strings;
}

const decoded = new WeakMap<Packed, Tensor>();

export function tensor(packed: Packed): Tensor;
export function tensor(packed: Packed | null | undefined): Tensor | null;
export function tensor(packed: Packed | null | undefined): Tensor | null {
  if (!packed) return null;
  let made = decoded.get(packed);
  if (!made) {
    const text = atob(typeof packed.data === "number" ? shared[packed.data]! : packed.data);
    const view = new DataView(new ArrayBuffer(text.length));
    for (let i = 0; i < text.length; ++i) view.setUint8(i, text.charCodeAt(i));
    const values = Float32Array.from({ length: text.length / 4 }, (_, i) => view.getFloat32(4 * i, true));
    made = new Tensor(packed.shape, packed.cut ?? packed.shape, values);
    decoded.set(packed, made);
  }
  return made;
}
