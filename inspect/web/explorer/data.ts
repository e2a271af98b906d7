// The JSON that the library embeds in the page (inspect/explorer/explorer_data.h).
export interface PackedTensor {
  shape: number[];
  data: string | number; // base64 of little-endian float32, or an index into Data.shared
  cut?: number[]; // stored shape, if the tensor was too large to store in full
  columns?: number[]; // stored indices of the last axis, if not the first ones
  low?: number; // low, high and norm: of the full tensor, if not all of it is stored
  high?: number;
  norm?: number;
}

// An image read as a sequence of tokens: the class token, then the patches row by row.
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

// Relative position tables, [2k + 1, D]: row c + k is added to keys and values at distance c from the query.
export interface Relative {
  keys: PackedTensor;
  values: PackedTensor;
  gradients: { keys: PackedTensor | null; values: PackedTensor | null }[];
}

export type Source = { node: number; output: number } | { leaf: number } | null;

// What an axis indexes, if known.
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
  recorded?: number | null; // operations recorded before it in a forward without edits; none if an edit added it
  operation: string;
  attributes: Record<string, boolean | number | number[] | string>;
  module: string;
  line: string;
  inputs: Source[];
  outputs: TapeOutput[];
  contributions: (PackedTensor | null)[][]; // [input][output]
  saved: { what: string; shape: number[]; bytes: number }[];
  saved_bytes: number;
  forward_us: number | null;
  backward_us: (number | null)[]; // per output
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

// The first rows of a layer's input and output.
export interface Layer {
  module: string;
  text: number | null; // the text whose tokens the rows are
  rows: number; // in total; input and output may store fewer
  input: PackedTensor;
  output: PackedTensor;
  gradient_output: (PackedTensor | null)[];
  gradient_input: (PackedTensor | null)[];
}

// Number of rows of a layer that the page stores.
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
  turned: number; // columns of a head that are rotated
  theta: number;
  pairing: "halves" | "interleaved";
}

// A loss position by position: the likeliest tokens and the target, with the gradients of their logits.
export interface Prediction {
  node: number; // tape node that outputs the logits
  text: number | null; // the text that the positions read
  start: number; // first position
  classes: "token" | "label" | "position"; // what the logits are of
  rows: string[] | null; // names of the positions if they are not those of a text
  vocabulary: number;
  targets: number[];
  tokens: number[]; // for each position, one per column of the logits
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
  node: number; // the element is in this node's first output
  index: number[]; // [0, head, row, column] for weights and scores
  value: number;
}

export interface Cut {
  kind: "head" | "key" | "row";
  module: string;
  head: number;
  place: number;
  predicted: number[]; // per output
  effects: number[];
  moved: number; // |y' - y| / |y| of the module's output
}

// Nudged elements: gradients [places, outputs], changes [places, n], effects [places, outputs, n].
export interface Nudges {
  dtype: string; // of the computation
  places: NudgeTarget[];
  gradients: PackedTensor;
  changes: PackedTensor;
  effects: PackedTensor;
  cuts: Cut[];
}

// A run on the page's texts: of this model, another one, a checkpoint, or with a head ablated.
export interface Frame {
  name: string;
  texts?: string[][] | null; // its texts, if they differ from the page's on purpose
  values: (number | null)[]; // per output
  attention: { module: string; weights: PackedTensor }[];
  log_p: (PackedTensor | null)[]; // per output: ln p of Runs.tokens
}

export interface Runs {
  of: number; // number of runs; frames may store fewer
  modules: number; // number of last modules whose weights are stored
  modules_of: number; // number of modules
  tokens: (number[] | null)[]; // for each position, one per column of log_p
  names: Record<string, string>;
  frames: Frame[];
}

// Activation patching: each module, or each of its heads, patched from the clean run into the corrupted one. values
// [modules, columns, outputs], where the columns are the tokens of a text followed by all of them at once, or the heads.
export interface PatchGrid {
  name: string;
  modules: string[];
  text: number;
  heads: number; // 0: the columns are tokens
  values: PackedTensor;
}

export interface Patching {
  clean: number[]; // per output
  corrupted: number[];
  texts: string[][]; // of the corrupted run
  grids: PatchGrid[];
}

// The engine compiled to WebAssembly, and the model's files by name; both are base64 of gzip.
export interface Live {
  engine: string;
  files: Record<string, string>;
  tasks: { train: "number_words" | null };
  text: string; // that the page was made from
  target_text: string | null; // null: the model's own translation, or no translator
}

export interface Data {
  title: string;
  made_by: string;
  // label_smoothing: of the training, if known
  model: { kind: string; class: string; parameters: number; tree: string; label_smoothing?: number };
  texts: Text[];
  outputs: { name: string; value: number | null }[]; // null: not finite
  predictions: (Prediction | null)[]; // per output
  attention: Attention[];
  tape: { nodes: TapeNode[]; leaves: Leaf[]; roots: number[] }; // roots: per output
  layer_norms: Norm[];
  rms_norms: Norm[];
  activations: Activation[];
  rotaries: Rotary[];
  nudges: Nudges | null;
  runs: Runs | null;
  patching: Patching | null;
  gradcheck: Gradcheck | null;
  shared: string[]; // base64 data used more than once
  live?: Live | null; // absent or null: a page that only shows what was recorded
}
