// What the reader asks of the engine: a text, edits and weights; and the data that answer it. At most one request is
// computed at a time, and the newest wish replaces those that wait.
import type { Data, Live } from "../data";
import { Client, Ended, Refused } from "./client";
import { addressOf, type Linked } from "./address";
import type { Edit, Input } from "./protocol";

export type Engine = "starting" | "ready" | { failed: string };

export type Wish = Linked;

// The forward without edits that the shown data are compared with.
export interface Base {
  data: Data;
  target: number[];
  unknown: string[];
}

const sameInput = (a: Wish, b: Wish) => a.text === b.text && a.targetText === b.targetText;

// Whether the page stores only a part of what the engine can compute.
const isCut = ({ tape }: Data) => tape.nodes.some(({ outputs }) => outputs.some(({ value }) => value?.cut));

// Whether an edit names elements that another text does not have.
const dependsOnText = ({ kind }: Edit) => !["parameter", "temperature", "ablate"].includes(kind);

// An edit without its value: two edits of one element replace each other.
export function keyOf(edit: Edit): string {
  return JSON.stringify({ ...edit, value: null, ...(edit.kind === "position" ? { position: null } : {}) });
}

// Replaces indices into Data.shared, since several data are in use at once.
export function unshared(data: Data): Data {
  const visit = (of: unknown) => {
    if (of === null || typeof of !== "object") return;
    const known = of as Record<string, unknown>;
    for (const [name, inner] of Object.entries(known)) {
      if (name === "data" && typeof inner === "number") known.data = data.shared[inner];
      else visit(inner);
    }
  };
  visit({ ...data, shared: null, live: null });
  return data;
}

export class Session {
  engine: Engine = "starting";
  base: Base | null = null; // null: the recorded data are shown and nothing was computed
  edits: Edit[] = []; // of the shown data
  error: string | null = null; // of the last request
  busy = false;
  fixedPositions: string | null = null; // why no token can be moved
  updates: number | null = null; // of training in this page behind the shown data; null: the model's own weights
  private weights: number | null = null; // the same of the engine's weights now
  private fixed: Input | null = null;
  private wish: Wish;
  private good: Wish; // of the shown data
  private dirty = false;
  private readonly listeners = new Set<() => void>();

  // show: replaces the page's data. linked: to compute first, instead of the recorded data.
  constructor(
    private readonly recorded: Data,
    private readonly live: Live,
    readonly client: Client,
    private readonly show: (data: Data) => void,
    linked: Linked | null = null,
  ) {
    this.wish = this.good = this.asRecorded();
    if (linked) this.follow(linked);
  }

  listen(listener: () => void, signal?: AbortSignal) {
    this.listeners.add(listener);
    signal?.addEventListener("abort", () => this.listeners.delete(listener));
  }

  // The text and target of the shown data.
  get text(): string {
    return this.good.text;
  }
  get targetText(): string {
    return this.good.targetText;
  }
  get isRecorded(): boolean {
    return this.updates === null && this.edits.length === 0 && sameInput(this.good, this.asRecorded());
  }

  // The wanted text and target, which are shown unless the engine refuses them or is still computing.
  get wanted(): Pick<Wish, "text" | "targetText"> {
    return this.wish;
  }

  get ready(): boolean {
    return this.engine === "ready";
  }

  // The words of the address of the shown data, and of those that a link asks for until the engine has started.
  words(): [string, string][] {
    return addressOf(this.engine === "starting" ? this.wish : this.good, this.asRecorded());
  }

  // Computes what an address names.
  follow(linked: Linked) {
    if (JSON.stringify(linked) === JSON.stringify(this.wish)) return;
    this.wish = linked;
    void this.compute();
  }

  // The input of the shown data, with the ids of its target.
  input(): Input {
    const { text, targetText } = this.good;
    if (this.base) return { text, target: this.base.target };
    return targetText === "" ? { text } : { text, target_text: targetText };
  }

  async start() {
    this.engine = "starting";
    this.changed();
    try {
      this.fixedPositions = (await this.client.start()).fixed_positions ?? null;
      this.engine = "ready";
      this.changed();
    } catch (error) {
      // Also if it refuses the model's files.
      this.failed(error instanceof Error ? new Ended(error.message) : error);
      return;
    }
    this.weights = null;
    if (this.updates !== null || this.dirty || (this.isRecorded && isCut(this.recorded))) await this.compute();
  }

  // Starts the engine again after a crash, without the request that crashed it.
  async restart() {
    this.wish = this.good;
    this.dirty = false;
    await this.start();
  }

  setText(text: string, targetText: string) {
    if (text === this.wish.text && targetText === this.wish.targetText) return;
    this.wish = { text, targetText, edits: this.wish.edits.filter((edit) => !dependsOnText(edit)) };
    void this.compute();
  }

  addEdit(edit: Edit) {
    const others = this.wish.edits.filter((other) => keyOf(other) !== keyOf(edit));
    this.setEdits([...others, edit]);
  }

  removeEdit(edit: Edit) {
    this.setEdits(this.wish.edits.filter((other) => keyOf(other) !== keyOf(edit)));
  }

  // The wanted edit of the same element.
  known<E extends Edit>(edit: E): E | undefined {
    return this.wish.edits.find((other) => keyOf(other) === keyOf(edit)) as E | undefined;
  }

  setEdits(edits: Edit[]) {
    this.wish = { ...(sameInput(this.wish, this.good) ? this.wish : this.good), edits };
    void this.compute();
  }

  // Shows the recorded data again, without computing anything if the weights are the model's own.
  back() {
    this.wish = this.asRecorded();
    this.error = null;
    if (this.weights !== null || (this.ready && isCut(this.recorded))) return void this.compute();
    this.dirty = false;
    this.good = this.wish;
    this.base = null;
    this.edits = [];
    this.show(this.recorded);
    this.changed();
  }

  // The engine's weights have changed; what is shown stays until the next request.
  trained(updates: number | null) {
    this.weights = updates;
  }

  // Shows the current text with the engine's weights. Shows the recorded data if they are the model's own and nothing
  // else was asked for.
  async reweigh() {
    if (this.weights !== null || !this.isRecorded) await this.compute();
  }

  // Fixes the text and target of fixedInput(), so that its attention maps keep their size while the weights change.
  async fixTarget() {
    const input = this.input();
    const { target } = input.target ? input : await this.client.call("explore", input);
    this.fixed = { text: input.text, ...(target ? { target } : {}) };
  }
  fixedInput(): Input {
    return this.fixed ?? this.input();
  }

  // An error of a request made elsewhere.
  failed(error: unknown) {
    if (error instanceof Ended) this.engine = { failed: error.message };
    else if (error instanceof Refused) this.error = error.message;
    else throw error;
    this.changed();
  }

  changed() {
    for (const listener of this.listeners) listener();
  }

  private asRecorded(): Wish {
    return { text: this.live.text, targetText: this.live.target_text ?? "", edits: [] };
  }

  private async compute() {
    this.dirty = true;
    if (this.busy || !this.ready) return;
    this.busy = true;
    this.changed();
    while (this.waits()) await this.next();
    this.busy = false;
    this.changed();
  }

  private waits(): boolean {
    return this.ready && this.dirty;
  }

  private async next() {
    this.dirty = false;
    const { wish } = this;
    this.error = null;
    try {
      await this.answer(wish);
    } catch (error) {
      if (this.wish === wish && sameInput(wish, this.good)) this.wish = this.good; // without the refused edit
      if (this.wish === wish && error instanceof Refused && error.message.startsWith("edits[")) {
        // Of a link: at least its text is shown.
        this.wish = { ...wish, edits: [] };
        await this.next();
      }
      this.failed(error);
    }
  }

  private async answer(wish: Wish) {
    const { weights } = this;
    let base = this.base && weights === this.updates && sameInput(wish, this.good) ? this.base : null;
    if (!base) {
      const { text, targetText } = wish;
      const target = targetText === "" ? {} : { target_text: targetText };
      const answer = await this.client.call("explore", { text, ...target });
      const isRecorded = weights === null && sameInput(wish, this.asRecorded());
      base = { ...answer, data: this.completed(unshared(answer.data), isRecorded) };
    }
    let data = base.data;
    if (wish.edits.length > 0) {
      if (this.wish !== wish && !sameInput(this.wish, wish)) return; // typed further
      const { text, edits } = wish;
      const answer = await this.client.call("explore", { text, target: base.target, edits });
      data = this.completed(unshared(answer.data), false);
    }
    if (this.wish !== wish && !this.dirty) return; // back to the recorded data
    this.base = base;
    this.updates = weights;
    this.good = wish;
    this.edits = wish.edits;
    this.show(data);
    this.changed();
  }

  // With what only the recorded data have: the smoothing of the training, and for the recorded text its nudges, runs,
  // patches and gradient check.
  private completed(data: Data, isRecorded: boolean): Data {
    const { model, nudges, runs, patching, gradcheck } = this.recorded;
    const made = { ...data, model: { ...model, ...data.model } };
    return isRecorded ? { ...made, nudges, runs, patching, gradcheck } : made;
  }
}
