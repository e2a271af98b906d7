// What is looked at, and what of it the address of each view holds.
export const viewNames = {
  head: "Heads",
  model: "Model",
  neuron: "Neurons",
  output: "Output",
  tape: "Tape",
  softmax: "Softmax",
  layernorm: "LayerNorm",
  activation: "Feed-forward",
  rotary: "Rotary",
  relative: "Positions",
  nudge: "Nudge",
  runs: "Runs",
  patching: "Patching",
  gradcheck: "Gradient check",
} as const;
export type ViewName = keyof typeof viewNames;

export type NudgeKind = "weight" | "score" | "activation" | "cut";
export const nudgeKinds = ["weight", "score", "activation", "cut"];

export type Subject = { node: number } | { leaf: number };

export interface State {
  view: ViewName;
  block: string; // module of an attention
  heads: number[]; // none: all
  row: number | null; // of the queries, or of the LayerNorm's input
  show: "values" | "gradients";
  output: number; // whose gradients
  filter: string; // "AB": queries of sentence A, keys of sentence B; "*": any
  least: number; // per cent of the largest weight, below which no line is drawn
  norm: string; // module of a LayerNorm or an RMSNorm
  layer: string; // module of an activation or a rotary embedding
  subject: Subject | null; // on the tape
  step: number | null; // of the player
  open: string | null; // modules that are unfolded, innermost ones, with commas; "*": all; null: as at the start
  look: Look; // in every address
  pull: NudgeKind;
  place: number | null; // of what was pulled at
  stop: number | null; // which change of it
  run: number | null; // of those beside each other; null: the last
  against: number; // the run that it is compared with
  tour: number | null; // which step of it; in every address while it goes on
}

export const looks = ["auto", "light", "dark"] as const;
export type Look = (typeof looks)[number];

export type StateKey = Exclude<keyof State, "view">;

// What of the state the address of each view holds.
export const viewKeys: Record<ViewName, StateKey[]> = {
  head: ["block", "heads", "row", "show", "output", "filter", "least"],
  model: ["block", "show", "output"],
  neuron: ["block", "heads", "row", "show", "output"],
  output: ["row", "output"],
  tape: ["subject", "step", "output", "open"],
  softmax: ["block", "heads", "row", "output"],
  layernorm: ["norm", "row", "output"],
  activation: ["layer", "row", "output"],
  rotary: ["layer", "heads", "row", "output"],
  nudge: ["block", "heads", "output", "pull", "place", "stop"],
  relative: ["block", "heads", "row", "output"],
  runs: ["block", "heads", "row", "output", "run", "against"],
  patching: ["output"],
  gradcheck: [],
};
