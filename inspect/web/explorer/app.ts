// The explorer's state, kept in sync with the page's address so that every view can be linked to.
import { storedRows, type Attention, type Data, type Layer, type Norm, type Prediction, type TapeNode } from "./data";
import { Architecture } from "./architecture";
import { clearestHead } from "./clearest";
import type { LiveHooks } from "./live/hooks";
import { subscript } from "../shared/numbers";
import {
  viewKeys,
  looks,
  nudgeKinds,
  viewNames,
  type StateKey,
  type NudgeKind,
  type State,
  type ViewName,
} from "./state";
import { numberRepeatedCalls, setSharedData, tensor } from "./tensor";

const mostWeights = 900; // up to this many, all heads are shown at once

function numberRepeats(tokens: string[]): string[] {
  const seen = new Map<string, number>();
  return tokens.map((token) => {
    const times = (seen.get(token) ?? 0) + 1;
    seen.set(token, times);
    return times === 1 ? token : token + subscript(times);
  });
}

const parseCount = (text: string | null): number | null =>
  text !== null && /^\d{1,9}$/.test(text) ? Number(text) : null;

export class App {
  state: State;
  readonly architecture: Architecture;
  private readonly names: string[][]; // token labels of each text
  private readonly listeners: ((before: State) => void)[] = [];
  private readonly unmounted = new AbortController();

  // live: absent if the page cannot compute.
  constructor(
    readonly data: Data,
    readonly live?: LiveHooks,
  ) {
    numberRepeatedCalls(data.attention);
    setSharedData(data.shared);
    for (const calls of [data.layer_norms, data.rms_norms, data.activations, data.rotaries]) numberRepeatedCalls(calls);
    this.architecture = new Architecture(data);
    this.names = data.texts.map(({ tokens }) => numberRepeats(tokens));
    this.state = this.parseAddress(location.hash, this.initialState());
    const followAddress = () => {
      this.apply(this.parseAddress(location.hash, this.state));
      if (this.live?.words().length && !new URLSearchParams(location.hash.slice(1)).has("text"))
        this.restore(this.state);
    };
    window.addEventListener("popstate", followAddress, { signal: this.signal });
  }

  // Aborted when other data replace these. Listeners outside of the views need it.
  get signal(): AbortSignal {
    return this.unmounted.signal;
  }

  // Continues from a state of other data.
  restore(state: State) {
    this.state = this.validated(state);
    const address = this.address(this.state);
    if (address !== location.hash) history.replaceState(null, "", address);
  }

  unmount() {
    this.listeners.length = 0;
    this.unmounted.abort();
  }

  onChange(listener: (before: State) => void) {
    this.listeners.push(listener);
  }

  // replace: do not add an entry to the browser's history.
  set(change: Partial<State>, { replace = false } = {}) {
    const next = this.validated({ ...this.state, ...change });
    const address = this.address(next);
    if (address !== location.hash) history[replace ? "replaceState" : "pushState"](null, "", address);
    this.apply(next);
  }

  address(state: State): string {
    const words = new URLSearchParams({ view: state.view });
    const keys = viewKeys[state.view];
    const has = (key: StateKey) => keys.includes(key);
    if (has("block")) words.set("block", state.block);
    if (has("norm")) words.set("block", state.norm);
    if (has("layer")) words.set("block", state.layer);
    if (has("heads") && state.heads.length === 0 && this.initialState().heads.length > 0) words.set("heads", "all");
    if (has("heads") && state.heads.length === 1) words.set("head", String(state.heads[0]));
    if (has("heads") && state.heads.length > 1) words.set("heads", state.heads.join(","));
    if (has("row") && state.row !== null) words.set("row", String(state.row));
    if (has("show")) words.set("show", state.show);
    if (has("output") && (state.output > 0 || state.show === "gradients")) words.set("output", String(state.output));
    if (has("filter") && state.filter !== "**") words.set("filter", state.filter);
    if (has("least") && state.least !== this.initialState().least) words.set("least", String(state.least));
    if (has("open") && state.open !== null) words.set("open", state.open);
    if (state.look !== "auto") words.set("look", state.look);
    if (has("subject") && state.subject)
      words.set("node" in state.subject ? "node" : "leaf", String(Object.values(state.subject)[0]));
    if (has("step") && state.step !== null) words.set("step", String(state.step));
    if (has("pull")) words.set("pull", state.pull);
    if (has("place") && state.place !== null) words.set("place", String(state.place));
    if (state.tour !== null) words.set("tour", String(state.tour));
    if (state.left !== null) words.set("left", String(state.left));
    if (has("stop") && state.stop !== null) words.set("stop", String(state.stop));
    if (has("run") && state.run !== null) words.set("run", String(state.run));
    if (has("against") && state.against > 0) words.set("against", String(state.against));
    for (const [name, value] of this.live?.words() ?? []) words.set(name, value);
    const plain = { "%2C": ",", "%3A": ":", "%2A": "*", "%3B": ";" };
    return `#${Object.entries(plain).reduce((text, [code, sign]) => text.replaceAll(code, sign), words.toString())}`;
  }

  // The state of a link to a view. The head view opens with its clearest head until something else is selected.
  entering(view: ViewName): State {
    const start = this.initialState();
    const { block, heads, row } = this.state;
    const same = block === start.block && heads.join() === start.heads.join() && row === null;
    return { ...this.state, ...(view === "head" && this.state.view !== "head" && same ? this.opening() : {}), view };
  }

  // The clearest head of the given attention, with its clearest query.
  opening(attention = this.data.attention): Partial<State> {
    const found = clearestHead(attention, this.data.texts);
    return found ? { block: found.block.module, heads: [found.head], row: found.row } : {};
  }

  // A reader's name of a module: "Block 1, self-attention".
  nameOf(module: string): string {
    return this.architecture.nameOf(module);
  }

  // The selected attention module.
  block(state = this.state): Attention | undefined {
    return this.data.attention.find(({ module }) => module === state.block);
  }

  norm(): Norm | undefined {
    return this.norms().find(({ module }) => module === this.state.norm);
  }

  norms(): Norm[] {
    return [...this.data.layer_norms, ...this.data.rms_norms];
  }

  // The layers of a view: activations or rotary embeddings.
  layers(view = this.state.view) {
    return view === "rotary" ? this.data.rotaries : this.data.activations;
  }

  hasView(view: ViewName): boolean {
    const { attention, predictions, nudges, runs, patching, gradcheck } = this.data;
    if (view === "tape") return true;
    if (view === "train") return this.live?.trains ?? false;
    if (view === "overview") return this.architecture.stacks.length > 0;
    if (view === "output") return predictions.some(Boolean);
    if (view === "layernorm") return this.norms().length > 0;
    if (view === "activation" || view === "rotary") return this.layers(view).length > 0;
    if (view === "nudge") return nudges !== null;
    if (view === "runs") return runs !== null;
    if (view === "patching") return patching !== null;
    if (view === "relative") return attention.some(({ relative }) => relative);
    return view === "gradcheck" ? gradcheck !== null : attention.length > 0;
  }

  operation(id: number): TapeNode | undefined {
    return this.data.tape.nodes.find((node) => node.id === id);
  }

  // The head of views that show a single one.
  head(): number {
    return this.state.heads[0] ?? 0;
  }

  // The query of views that show a single one. If none is selected: the first, unless it attends to a single key, as
  // under a causal mask, and so has nothing to show; then the one whose scores have the largest gradient.
  query(): number {
    const { row } = this.state;
    const block = this.block();
    if (row !== null || !block) return row ?? 0;
    const first = tensor(block.values.probabilities)?.row(0, this.head()) ?? [];
    const gradients = tensor(block.gradients[this.state.output]?.scores)?.plane(this.head());
    if (!gradients || first.filter((weight) => weight > 0).length > 1) return 0;
    const sizes = Array.from(gradients.values, Math.abs);
    const largest = sizes.reduce((best, size, place) => (size > sizes[best]! ? place : best), 0);
    return Math.floor(largest / gradients.columns);
  }

  // The selected row of a layer. If none is selected: the first, or of rotary embeddings, which leave the first one as it
  // is, the one with the largest gradient.
  rowOf(layer: Layer): number {
    const { row, view, output } = this.state;
    if (row !== null || view !== "rotary") return row ?? 0;
    const gradient = tensor(layer.gradient_input[output]);
    const sizes = Array.from({ length: gradient ? storedRows(layer) : 0 }, (_, at) =>
      gradient!.row(at).reduce((sum, value) => sum + value * value, 0),
    );
    return Math.max(0, sizes.indexOf(Math.max(...sizes)));
  }

  // The tokens of a text; repeated ones are numbered: "cat", "cat₂".
  tokens(text: number | null): string[] {
    return text === null ? [] : (this.names[text] ?? []);
  }

  private initialState(): State {
    const block = this.data.attention[0];
    const weights = block ? block.heads * this.tokens(block.rows).length * this.tokens(block.columns).length : 0;
    const many = weights > mostWeights;
    return {
      view: this.hasView("overview") ? "overview" : this.data.attention.length > 0 ? "head" : "tape",
      block: this.data.attention[0]?.module ?? "",
      heads: many ? [0] : [],
      row: null,
      show: "values",
      output: 0,
      filter: "**",
      least: 5,
      norm: this.norms()[0]?.module ?? "",
      layer: "",
      subject: null,
      step: null,
      open: null,
      look: "auto",
      pull: this.data.attention.length > 0 ? "weight" : "activation",
      place: null,
      stop: null,
      run: null,
      against: 0,
      tour: null,
      left: null,
    };
  }

  // Keys that the view stores in its address but that are missing there take their initial values; others keep `now`.
  private parseAddress(hash: string, now: State): State {
    const words = new URLSearchParams(hash.replace(/^#/, ""));
    const start = this.initialState();
    const wanted = words.get("view") ?? "";
    const tape = words.has("node") || words.has("leaf") || words.has("step");
    const head = ["block", "kind", "layer", "head", "heads"].some((word) => words.has(word));
    const missing = tape ? "tape" : head && this.hasView("head") ? "head" : start.view;
    const view = Object.hasOwn(viewNames, wanted) ? (wanted as ViewName) : missing;
    const state: State = { ...now, view };
    for (const key of viewKeys[view]) Object.assign(state, { [key]: start[key] });
    const number = (name: string) => parseCount(words.get(name));
    const block = words.get("block");
    if (viewKeys[view].includes("norm")) state.norm = block ?? start.norm;
    else if (viewKeys[view].includes("layer")) state.layer = block ?? "";
    else if (viewKeys[view].includes("block")) state.block = this.blockOf(block, words.get("kind"), number("layer"));
    const heads = (words.get("heads") ?? words.get("head") ?? "").split(",").map(parseCount);
    if (words.get("heads") === "all") state.heads = [];
    else if (viewKeys[view].includes("heads") && (words.has("head") || words.has("heads")))
      state.heads = heads.filter((head) => head !== null);
    if (viewKeys[view].includes("row")) state.row = number("row");
    if (words.get("show") === "gradients") state.show = "gradients";
    state.output = number("output") ?? state.output;
    state.filter = words.get("filter") ?? state.filter;
    state.least = number("least") ?? state.least;
    if (viewKeys[view].includes("open")) state.open = words.get("open");
    state.look = looks.find((look) => look === words.get("look")) ?? "auto";
    [state.tour, state.left] = [number("tour"), number("left")];
    if (view === "nudge") {
      const pull = words.get("pull") ?? start.pull;
      state.pull = nudgeKinds.includes(pull) ? (pull as NudgeKind) : start.pull;
      [state.place, state.stop] = [number("place"), number("stop")];
    }
    if (view === "runs") [state.run, state.against] = [number("run"), number("against") ?? 0];
    if (view === "tape") {
      const [node, leaf] = [number("node"), number("leaf")];
      state.subject = node !== null ? { node } : leaf !== null ? { leaf } : null;
      state.step = number("step");
    }
    if (view === "head" && !head && state.row === null) Object.assign(state, this.opening());
    return this.validated(state);
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

  // Replaces values that do not exist in the data.
  private validated(state: State): State {
    const { attention, outputs, tape, nudges, runs } = this.data;
    const fit = { ...state };
    if (!this.hasView(fit.view)) fit.view = this.initialState().view;
    const relative = attention.filter((block) => fit.view !== "relative" || block.relative);
    const block = relative.find(({ module }) => module === fit.block) ?? relative[0];
    fit.block = block?.module ?? "";
    fit.heads = [...new Set(fit.heads)].filter((head) => head < (block?.heads ?? 0)).sort((a, b) => a - b);
    if (fit.heads.length === block?.heads && fit.heads.length > 1) fit.heads = [];
    const norms = this.norms();
    fit.norm = (norms.find(({ module }) => module === fit.norm) ?? norms[0])?.module ?? "";
    const layers = this.layers(fit.view);
    fit.layer = (layers.find(({ module }) => module === fit.layer) ?? layers[0])?.module ?? "";
    if (fit.output >= outputs.length) fit.output = 0;
    if (fit.row !== null && fit.row >= this.rows(fit)) fit.row = null;
    fit.least = Math.min(fit.least, 100);
    if (!/^[AB*]{2}$/.test(fit.filter)) fit.filter = "**";
    if (fit.place !== null && !nudges?.places[fit.place]) fit.place = null;
    if (attention.length === 0) fit.pull = "activation";
    if (fit.run !== null && !runs?.frames[fit.run]) fit.run = null;
    if (!runs?.frames[fit.against]) fit.against = 0;
    const { subject } = fit;
    if (subject && "leaf" in subject && !tape.leaves[subject.leaf]) fit.subject = null;
    if (subject && "node" in subject && !tape.nodes.some(({ id }) => id === subject.node)) fit.subject = null;
    return fit;
  }

  // Number of rows that the view offers.
  private rows(state: State): number {
    const layers: Layer[] = state.view === "layernorm" ? this.norms() : this.layers(state.view);
    const layer = layers.find(({ module }) => module === (state.view === "layernorm" ? state.norm : state.layer));
    if (["layernorm", "activation", "rotary"].includes(state.view)) return layer ? storedRows(layer) : 0;
    if (state.view === "output" || state.view === "runs") return this.prediction(state)?.targets.length ?? 0;
    return this.tokens(this.block(state)?.rows ?? 0).length;
  }

  // The prediction of the selected output, or else the first one.
  prediction(state = this.state): Prediction | null {
    const { predictions } = this.data;
    return predictions[state.output] ?? predictions.find(Boolean) ?? null;
  }

  private apply(next: State) {
    const before = this.state;
    this.state = next;
    for (const listener of this.listeners) listener(before);
  }
}
