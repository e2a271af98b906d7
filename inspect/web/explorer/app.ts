// What is looked at, kept in step with the page's address, so that every picture can be linked to.
import { distinct, type Attention, type Data, type LayerNorm, type TapeNode } from "./data";

export const viewNames = {
  head: "Heads",
  model: "Model",
  neuron: "Neurons",
  tape: "Tape",
  softmax: "Softmax",
  layernorm: "LayerNorm",
  nudge: "Nudge",
  gradcheck: "Gradient check",
} as const;
export type ViewName = keyof typeof viewNames;

export type Pull = "weight" | "score" | "activation" | "cut";
const pulls = ["weight", "score", "activation", "cut"];

export type Subject = { node: number } | { leaf: number };

export interface State {
  view: ViewName;
  block: string; // module of an attention
  heads: number[]; // none: all
  row: number | null; // of the queries, or of the LayerNorm's input
  show: "values" | "gradients";
  output: number; // whose gradients
  filter: string; // "AB": queries of sentence A, keys of sentence B; "*": any
  norm: string; // module of a LayerNorm
  subject: Subject | null; // on the tape
  step: number | null; // of the player
  pull: Pull;
  place: number | null; // of what was pulled at
  stop: number | null; // which change of it
  tour: number | null; // which step of it; in every address while it goes on
}

type Key = Exclude<keyof State, "view">;

// What of the state the address of each view holds.
const held: Record<ViewName, Key[]> = {
  head: ["block", "heads", "row", "show", "output", "filter"],
  model: ["block", "show", "output"],
  neuron: ["block", "heads", "row", "show", "output"],
  tape: ["subject", "step", "output"],
  softmax: ["block", "heads", "row", "output"],
  layernorm: ["norm", "row", "output"],
  nudge: ["block", "heads", "output", "pull", "place", "stop"],
  gradcheck: [],
};

const natural = (text: string | null): number | null => (text !== null && /^\d{1,9}$/.test(text) ? Number(text) : null);

export class App {
  state: State;
  private readonly listeners: ((before: State) => void)[] = [];

  constructor(readonly data: Data) {
    distinct(data.attention);
    distinct(data.layer_norms);
    this.state = this.read(location.hash, this.start());
    window.addEventListener("popstate", () => this.turn(this.read(location.hash, this.state)));
  }

  onChange(listener: (before: State) => void) {
    this.listeners.push(listener);
  }

  // replace: the step back in the browser's history does not come here.
  set(change: Partial<State>, { replace = false } = {}) {
    const next = this.fitted({ ...this.state, ...change });
    const address = this.address(next);
    if (address !== location.hash) history[replace ? "replaceState" : "pushState"](null, "", address);
    this.turn(next);
  }

  address(state: State): string {
    const words = new URLSearchParams({ view: state.view });
    const keys = held[state.view];
    const has = (key: Key) => keys.includes(key);
    if (has("block")) words.set("block", state.block);
    if (has("norm")) words.set("block", state.norm);
    if (has("heads") && state.heads.length === 1) words.set("head", String(state.heads[0]));
    if (has("heads") && state.heads.length > 1) words.set("heads", state.heads.join(","));
    if (has("row") && state.row !== null) words.set("row", String(state.row));
    if (has("show")) words.set("show", state.show);
    if (has("output") && (state.output > 0 || state.show === "gradients")) words.set("output", String(state.output));
    if (has("filter") && state.filter !== "**") words.set("filter", state.filter);
    if (has("subject") && state.subject)
      words.set("node" in state.subject ? "node" : "leaf", String(Object.values(state.subject)[0]));
    if (has("step") && state.step !== null) words.set("step", String(state.step));
    if (has("pull")) words.set("pull", state.pull);
    if (has("place") && state.place !== null) words.set("place", String(state.place));
    if (state.tour !== null) words.set("tour", String(state.tour));
    if (has("stop") && state.stop !== null) words.set("stop", String(state.stop));
    return `#${words.toString().replaceAll("%2C", ",").replaceAll("%3A", ":")}`;
  }

  // The attention that is looked at.
  block(state = this.state): Attention | undefined {
    return this.data.attention.find(({ module }) => module === state.block);
  }

  operation(id: number): TapeNode | undefined {
    return this.data.tape.nodes.find((node) => node.id === id);
  }

  norm(): LayerNorm | undefined {
    return this.data.layer_norms.find(({ module }) => module === this.state.norm);
  }

  // The one head of views that show one.
  head(): number {
    return this.state.heads[0] ?? 0;
  }

  tokens(text: number | null): string[] {
    return (text !== null && this.data.texts[text]?.tokens) || [];
  }

  private start(): State {
    return {
      view: this.data.attention.length > 0 ? "head" : "tape",
      block: this.data.attention[0]?.module ?? "",
      heads: [],
      row: null,
      show: "values",
      output: 0,
      filter: "**",
      norm: this.data.layer_norms[0]?.module ?? "",
      subject: null,
      step: null,
      pull: this.data.attention.length > 0 ? "weight" : "activation",
      place: null,
      stop: null,
      tour: null,
    };
  }

  // What an address does not say is as at the start where its view would hold it, and else stays as it is.
  private read(hash: string, now: State): State {
    const words = new URLSearchParams(hash.replace(/^#/, ""));
    const start = this.start();
    const wanted = words.get("view") ?? "";
    const tape = words.has("node") || words.has("leaf") || words.has("step");
    const view = Object.hasOwn(viewNames, wanted) ? (wanted as ViewName) : tape ? "tape" : start.view;
    const state: State = { ...now, view };
    for (const key of held[view]) Object.assign(state, { [key]: start[key] });
    const number = (name: string) => natural(words.get(name));
    const block = words.get("block");
    if (held[view].includes("norm")) state.norm = block ?? start.norm;
    else if (held[view].includes("block")) state.block = this.blockOf(block, words.get("kind"), number("layer"));
    const heads = (words.get("heads") ?? words.get("head") ?? "").split(",").map(natural);
    if (held[view].includes("heads")) state.heads = heads.filter((head) => head !== null);
    if (held[view].includes("row")) state.row = number("row");
    if (words.get("show") === "gradients") state.show = "gradients";
    state.output = number("output") ?? state.output;
    state.filter = words.get("filter") ?? state.filter;
    state.tour = number("tour");
    if (view === "nudge") {
      const pull = words.get("pull") ?? start.pull;
      state.pull = pulls.includes(pull) ? (pull as Pull) : start.pull;
      [state.place, state.stop] = [number("place"), number("stop")];
    }
    if (view === "tape") {
      const [node, leaf] = [number("node"), number("leaf")];
      state.subject = node !== null ? { node } : leaf !== null ? { leaf } : null;
      state.step = number("step");
    }
    return this.fitted(state);
  }

  private blockOf(module: string | null, kind: string | null, layer: number | null): string {
    const all = this.data.attention;
    const fits = all.filter(
      (block) =>
        (module === null || block.module === module) &&
        (kind === null || block.kind === kind) &&
        (layer === null || block.layer === layer),
    );
    return (fits[0] ?? all[0])?.module ?? "";
  }

  // What does not exist in these data becomes what does.
  private fitted(state: State): State {
    const { attention, layer_norms, outputs, tape, gradcheck, nudges } = this.data;
    const fit = { ...state };
    const missing = {
      head: attention.length === 0,
      model: attention.length === 0,
      neuron: attention.length === 0,
      softmax: attention.length === 0,
      layernorm: layer_norms.length === 0,
      tape: false,
      nudge: !nudges,
      gradcheck: !gradcheck,
    };
    if (missing[fit.view]) fit.view = this.start().view;
    const block = this.block(fit) ?? attention[0];
    fit.block = block?.module ?? "";
    fit.heads = [...new Set(fit.heads)].filter((head) => head < (block?.heads ?? 0)).sort((a, b) => a - b);
    if (fit.heads.length === block?.heads && fit.heads.length > 1) fit.heads = [];
    fit.norm = (layer_norms.find(({ module }) => module === fit.norm) ?? layer_norms[0])?.module ?? "";
    const rows = fit.view === "layernorm" ? this.normRows(fit.norm) : this.tokens(block?.rows ?? 0).length;
    if (fit.row !== null && fit.row >= rows) fit.row = null;
    if (fit.output >= outputs.length) fit.output = 0;
    if (!/^[AB*]{2}$/.test(fit.filter)) fit.filter = "**";
    if (fit.place !== null && !nudges?.places[fit.place]) fit.place = null;
    if (attention.length === 0) fit.pull = "activation";
    const { subject } = fit;
    if (subject && "leaf" in subject && !tape.leaves[subject.leaf]) fit.subject = null;
    if (subject && "node" in subject && !tape.nodes.some(({ id }) => id === subject.node)) fit.subject = null;
    return fit;
  }

  private normRows(module: string): number {
    const norm = this.data.layer_norms.find((entry) => entry.module === module);
    return norm ? (norm.input.cut ?? norm.input.shape).at(-2)! : 0;
  }

  private turn(next: State) {
    const before = this.state;
    this.state = next;
    for (const listener of this.listeners) listener(before);
  }
}
