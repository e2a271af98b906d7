// The explorer's state, and which parts of it each view stores in the page's address.
export const viewNames = {
  overview: "Overview",
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
  train: "Train",
} as const;
export type ViewName = keyof typeof viewNames;

export type NudgeKind = "weight" | "score" | "activation" | "cut";
export const nudgeKinds = ["weight", "score", "activation", "cut"];

export type Subject = { node: number } | { leaf: number };

export interface State {
  view: ViewName;
  block: string; // attention module
  heads: number[]; // empty: all
  row: number | null; // a query, or a row of a layer's input
  show: "values" | "gradients";
  output: number; // whose gradients are shown
  filter: string; // "AB": queries of sentence A, keys of sentence B; "*" is any
  least: number; // lines below this percentage of the largest weight are hidden
  norm: string; // LayerNorm or RMSNorm module
  layer: string; // activation or rotary embedding module
  subject: Subject | null; // on the tape
  step: number | null; // of the player
  open: string | null; // innermost unfolded modules, comma-separated; "*": all; null: initial state
  look: Look; // stored in every address
  pull: NudgeKind; // what to nudge
  place: number | null; // index of the nudged element
  stop: number | null; // index of the change
  run: number | null; // null: the last
  against: number; // the run to compare with
  tour: number | null; // step of the guided tour; stored in every address while it runs
  left: number | null; // step at which the tour was left; stored in every address
}

export const looks = ["auto", "light", "dark"] as const;
export type Look = (typeof looks)[number];

export type StateKey = Exclude<keyof State, "view">;

// The state that each view stores in its address.
export const viewKeys: Record<ViewName, StateKey[]> = {
  overview: ["show", "output"],
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
  train: [],
};
