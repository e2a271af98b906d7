// Training in the page: random weights learn the demo's task in slices, so that the page keeps responding.
import type { Session } from "./session";
import type { Answer, Heads, ParameterNorm, Sample } from "./protocol";

const slice = 100; // milliseconds of the engine at a time
const mapsEvery = 400; // milliseconds between attention maps
const heldOut = 100;

export type Parts = Partial<Record<"forward" | "backward" | "update", Answer<"train_part">>>;

export interface Group {
  name: string;
  norm: number;
  change: number | null;
}

// Sums the squares of parameters' norms by module: "encoder.layers.0", "target_embedding".
export function grouped(parameters: (ParameterNorm & { change?: number })[]): Group[] {
  const groups = new Map<string, { norm: number; change: number | null }>();
  for (const { name, norm, change } of parameters) {
    const words = name.split(".");
    const index = words.findIndex((word) => /^\d+$/.test(word));
    const group = index >= 0 ? words.slice(0, index + 1).join(".") : words.slice(0, -1).join(".") || name;
    const sum = groups.get(group) ?? { norm: 0, change: null };
    groups.set(group, {
      norm: sum.norm + norm ** 2,
      change: change === undefined ? sum.change : (sum.change ?? 0) + change ** 2,
    });
  }
  return [...groups].map(([name, { norm, change }]) => ({
    name,
    norm: Math.sqrt(norm),
    change: change === null ? null : Math.sqrt(change),
  }));
}

export class Training {
  running = false;
  begun = false;
  steps = 0;
  lr = 0;
  losses: number[] = [];
  maps: Heads[] = [];
  parts: Parts = {}; // of the update that is shown part by part
  result: { right: number; count: number; samples: Sample[] } | null = null;
  testing = false;
  private wanted = 1; // steps of the next slice
  private drawn = 0; // when the maps were computed
  private seed = 1;
  private readonly listeners = new Set<() => void>();

  constructor(private readonly session: Session) {
    session.listen(() => this.sessionChanged());
  }

  listen(listener: () => void, signal: AbortSignal) {
    this.listeners.add(listener);
    signal.addEventListener("abort", () => this.listeners.delete(listener));
  }

  // Random weights, and the first updates.
  async begin() {
    await this.ask(() => this.randomize());
    if (this.begun) await this.go();
  }

  private async randomize() {
    await this.session.fixTarget();
    await this.session.client.call("train_new", { seed: this.seed++ });
    this.clear();
    this.begun = true;
    this.session.trained(0);
    await this.draw();
  }

  pause() {
    this.running = false;
    this.changed();
  }

  // Trains until pause().
  async go() {
    if (this.running || !this.begun) return;
    this.running = true;
    await this.ask(async () => {
      await this.finishParts();
      while (this.running) {
        const answer = await this.session.client.call("train", { steps: this.wanted });
        this.add(answer);
        this.wanted = Math.max(1, Math.min(64, Math.round((this.wanted * slice) / Math.max(1, answer.ms))));
        if (performance.now() - this.drawn > mapsEvery) await this.draw();
        this.changed();
        // Lets the page paint and answer the reader between slices.
        await new Promise((done) => setTimeout(done));
      }
      await this.draw();
    });
    this.running = false;
    this.changed();
  }

  // The next part of an update: forward, backward, Adam. The first one is of random weights.
  async part() {
    if (this.running) return;
    await this.ask(async () => {
      if (!this.begun) await this.randomize();
      const { forward, backward, update } = this.parts;
      const part = !forward || update ? "forward" : backward ? "update" : "backward";
      if (part === "forward") this.parts = {};
      const answer = await this.session.client.call("train_part", { part });
      this.parts[part] = answer;
      if (part !== "update") return;
      this.add({
        step: answer.step ?? this.steps + 1,
        losses: [this.parts.forward?.loss ?? NaN],
        lr: answer.lr ?? this.lr,
      });
      await this.draw();
    });
  }

  async test() {
    this.testing = true;
    this.changed();
    await this.ask(async () => {
      this.result = await this.session.client.call("test", { count: heldOut });
    });
    this.testing = false;
    this.changed();
  }

  // All views show the trained weights.
  async use() {
    this.pause();
    await this.session.reweigh();
  }

  async restore() {
    this.pause();
    await this.ask(async () => {
      await this.session.client.call("restore", {});
      this.clear();
      this.begun = false;
      this.session.trained(null);
    });
    await this.session.reweigh();
    this.changed();
  }

  // Completes an update of which only the first parts were done.
  private async finishParts() {
    const { forward, update } = this.parts;
    while (forward && !update && !this.parts.update) {
      const part = this.parts.backward ? "update" : "backward";
      this.parts[part] = await this.session.client.call("train_part", { part });
      if (part === "update") this.add({ step: this.steps + 1, losses: [forward.loss ?? NaN], lr: this.lr });
    }
    this.parts = {};
  }

  private add({ step, losses, lr }: { step: number; losses: number[]; lr: number }) {
    this.steps = step;
    this.losses.push(...losses);
    this.lr = lr;
    this.result = null;
    this.session.trained(step);
  }

  private async draw() {
    this.maps = (await this.session.client.call("heads", this.session.fixedInput())).attention;
    this.drawn = performance.now();
  }

  private clear() {
    Object.assign(this, { steps: 0, lr: 0, losses: [], maps: [], parts: {}, result: null });
  }

  // A crash ends the training: its weights are lost.
  private sessionChanged() {
    if (typeof this.session.engine !== "object" || !this.begun) return;
    this.running = this.begun = false;
    this.clear();
    this.changed();
  }

  private async ask(body: () => Promise<void>) {
    try {
      await body();
    } catch (error) {
      this.running = false;
      this.session.failed(error);
    }
    this.changed();
  }

  private changed() {
    for (const listener of this.listeners) listener();
  }
}
