// Tensors of the page, decoded on first use.
import type { PackedTensor } from "./data";

// A list or a typed array.
export type Numbers = ArrayLike<number> & Iterable<number>;

// A matrix view of a tensor's values. at() returns NaN out of bounds.
export class Plane {
  constructor(
    readonly rows: number,
    readonly columns: number,
    readonly values: Numbers,
  ) {}

  at(row: number, column: number): number {
    return column >= 0 && column < this.columns ? (this.values[row * this.columns + column] ?? NaN) : NaN;
  }

  // Largest finite absolute value.
  maxAbs(): number {
    let size = 0;
    for (const value of this.values) if (Math.abs(value) > size && Math.abs(value) < Infinity) size = Math.abs(value);
    return size;
  }

  // Smallest finite value, 0 if none is negative.
  low(): number {
    let low = 0;
    for (const value of this.values) if (value < low && value > -Infinity) low = value;
    return low;
  }
}

// Returns the last two axes of values with shape `held` at the given indices of the leading axes. Missing leading indices
// are 0; an axis of size 1 is broadcast.
export function planeOf(held: number[], values: Float32Array | Float64Array, places: number[]): Plane {
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
  // storedShape: the shape of values, which may be smaller than shape.
  constructor(
    readonly shape: number[],
    readonly storedShape: number[],
    readonly values: Float32Array,
  ) {}

  get truncated(): boolean {
    return this.storedShape.some((size, axis) => size !== this.shape[axis]);
  }

  // The matrix at the given indices of the leading axes, as in planeOf().
  plane(...places: number[]): Plane {
    return planeOf(this.storedShape, this.values, places);
  }

  // One row of plane(...places).
  row(row: number, ...places: number[]): Float32Array {
    const { rows, columns, values } = this.plane(...places);
    const from = rows === 1 ? 0 : row * columns;
    return (values as Float32Array).subarray(from, from + columns);
  }
}

// Renames repeated calls of a module: "m", "m (call 2)".
export function numberRepeatedCalls(calls: { module: string }[]) {
  const seen = new Map<string, number>();
  for (const call of calls) {
    const times = (seen.get(call.module) ?? 0) + 1;
    seen.set(call.module, times);
    if (times > 1) call.module = `${call.module} (call ${times})`;
  }
}

// L2 norm of the full tensor, over its finite values.
export function norm(packed: PackedTensor): number {
  if (packed.norm !== undefined) return packed.norm;
  return Math.sqrt(tensor(packed).values.reduce((sum, value) => sum + (Number.isFinite(value) ? value * value : 0), 0));
}

// Root mean square of the full tensor; null if the page stores only a part and not its norm.
export function rootMeanSquare(packed: PackedTensor | null | undefined): number | null {
  if (!packed || (packed.cut && packed.norm === undefined)) return null;
  return norm(packed) / Math.sqrt(packed.shape.reduce((product, size) => product * size, 1));
}

// Smallest and largest finite value of the full tensor.
export function range(packed: PackedTensor): [number, number] {
  if (packed.low !== undefined && packed.high !== undefined) return [packed.low, packed.high];
  let [low, high] = [Infinity, -Infinity];
  for (const value of tensor(packed).values)
    if (Number.isFinite(value)) [low, high] = [Math.min(low, value), Math.max(high, value)];
  return [low, high];
}

let shared: string[] = [];
export function setSharedData(strings: string[]) {
  shared = strings;
}

const decoded = new WeakMap<PackedTensor, Tensor>();

export function tensor(packed: PackedTensor): Tensor;
export function tensor(packed: PackedTensor | null | undefined): Tensor | null;
export function tensor(packed: PackedTensor | null | undefined): Tensor | null {
  if (!packed) return null;
  let made = decoded.get(packed);
  if (!made) {
    const text = atob(typeof packed.data === "number" ? shared[packed.data]! : packed.data);
    const values = new Float32Array(Math.floor(text.length / 4)); // browsers run on little-endian machines only
    const bytes = new Uint8Array(values.buffer);
    for (let i = 0; i < bytes.length; ++i) bytes[i] = text.charCodeAt(i);
    made = new Tensor(packed.shape, packed.cut ?? packed.shape, values);
    decoded.set(packed, made);
  }
  return made;
}
