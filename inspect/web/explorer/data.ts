// What the library writes into the page.
export interface PackedTensor {
  shape: number[];
  data: string | number; // base64 of little-endian float32, or its place in what is shared
  cut?: number[]; // the shape of what is kept of a tensor that was too large
  columns?: number[]; // which places of the last axis are kept, where not the first
  low?: number; // of the whole, where not all is kept
  high?: number;
  norm?: number;
}

// What a vision model reads as a text: its tokens are the class, and patches row by row.
export interface Image {
  rows: number; // of patches
  columns: number;
  channels: number;
  height: number; // pixels
  width: number;
  pixels: string; // base64 of bytes, [channels, height, width]
}

export interface Text {
  name: string;
  tokens: string[];
  segments?: number[] | null;
  image?: Image;
}

export type AttentionPart = "query" | "key" | "value" | "scores" | "mask" | "probabilities" | "context";
export type AttentionTensors = Record<AttentionPart, PackedTensor | null>;

export interface Attention {
  module: string;
  kind: string;
  layer: number;
  heads: number;
  rows: number;
  columns: number;
  scale: number;
  values: AttentionTensors;
  gradients: AttentionTensors[];
  relative?: Relative;
}

// The tables of relative positions, [2k + 1, D]: row c + k is added to keys and values at distance c from the query.
export interface Relative {
  keys: PackedTensor;
  values: PackedTensor;
  gradients: { keys: PackedTensor | null; values: PackedTensor | null }[];
}

export type Source = { node: number; output: number } | { leaf: number } | null;

// What the places along an axis are, where that is known.
export type Axis = { text: number; start?: number } | "heads" | "vocabulary" | null;

export interface TapeOutput {
  shape: number[];
  dtype: string;
  axes: Axis[] | null;
  value: PackedTensor | null;
  gradients: (PackedTensor | null)[];
}

export interface TapeNode {
  id: number;
  operation: string;
  attributes: Record<string, boolean | number | number[] | string>;
  module: string;
  line: string;
  inputs: Source[];
  outputs: TapeOutput[];
  contributions: (PackedTensor | null)[][]; // to each input, one an output
  saved: { what: string; shape: number[]; bytes: number }[];
  saved_bytes: number;
  forward_us: number | null;
  backward_us: (number | null)[]; // one an output
  formula: { forward?: string; backward?: string[] };
  guilty?: { error: number | null; text: string } | null;
}

export interface Leaf {
  name: string;
  kind: string;
  shape: number[];
  dtype: string;
  value: PackedTensor | null;
  gradients: (PackedTensor | null)[];
}

// The first rows of what a layer was given and gave.
export interface Layer {
  module: string;
  text: number | null; // whose tokens the rows are
  rows: number; // there were
  input: PackedTensor;
  output: PackedTensor;
  gradient_output: (PackedTensor | null)[];
  gradient_input: (PackedTensor | null)[];
}

// How many rows of a layer the page has.
export const storedRows = ({ input }: Layer) => input.shape.at(-2) ?? 1;

export interface Norm extends Layer {
  eps: number;
  weight: PackedTensor | null;
  bias: PackedTensor | null;
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
  logits: PackedTensor;
  gradients: (PackedTensor | null)[];
}

export interface Gradcheck {
  passed: boolean;
  text: string;
  rows: { name: string; shape: number[]; error: number | null; ok: boolean }[];
  guilty: number[];
}

export interface NudgeTarget {
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
  places: NudgeTarget[];
  gradients: PackedTensor;
  changes: PackedTensor;
  effects: PackedTensor;
  cuts: Cut[];
}

// One run of the page's texts: of this model, another one, a checkpoint, or without a head.
export interface Frame {
  name: string;
  texts?: string[][] | null; // what it reads, where on purpose something else than the page
  values: (number | null)[]; // of the outputs
  attention: { module: string; weights: PackedTensor }[];
  log_p: (PackedTensor | null)[]; // one an output: ln p of the tokens below
}

export interface Runs {
  of: number; // how many there were
  modules: number; // whose weights are kept, the last ones
  modules_of: number; // of so many
  tokens: (number[] | null)[]; // as many each position as the runs have columns
  names: Record<string, string>;
  frames: Frame[];
}

// Some modules, or some heads of them, each put back from the clean run into the corrupted one: values [modules, columns,
// outputs], where the columns are the tokens of a text and all of them together, or heads.
export interface PatchGrid {
  name: string;
  modules: string[];
  text: number;
  heads: number; // 0: the columns are tokens
  values: PackedTensor;
}

export interface Patching {
  clean: number[]; // outputs
  corrupted: number[];
  texts: string[][]; // what the corrupted run reads
  grids: PatchGrid[];
}

export interface Data {
  title: string;
  made_by: string;
  model: { kind: string; class: string; parameters: number; tree: string };
  texts: Text[];
  outputs: { name: string; value: number | null }[]; // null: not finite
  predictions: (Prediction | null)[]; // one an output
  attention: Attention[];
  tape: { nodes: TapeNode[]; leaves: Leaf[]; roots: number[] }; // roots: one an output
  layer_norms: Norm[];
  rms_norms: Norm[];
  activations: Activation[];
  rotaries: Rotary[];
  nudges: Nudges | null;
  runs: Runs | null;
  patching: Patching | null;
  gradcheck: Gradcheck | null;
  shared: string[]; // data that stand more than once
}
