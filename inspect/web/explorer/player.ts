// Buttons and a slider that step through the recording and the replay.
import { element, visible } from "../shared/dom";
import type { App } from "./app";
import { norm, tensor } from "./data";
import { brief } from "./numbers";
import type { Replay } from "./replay";

const pace = 450; // milliseconds a step

export class Player {
  readonly node: HTMLElement;
  private readonly slider: HTMLInputElement;
  private readonly words = element("output", { class: "player-words", "aria-live": "polite" });
  private readonly play = element("button", { type: "button", class: "play" }, "Play");
  private readonly back: HTMLButtonElement;
  private readonly on: HTMLButtonElement;
  private readonly rest: HTMLButtonElement;
  private timer: number | null = null;

  constructor(
    private readonly app: App,
    private readonly replay: Replay,
  ) {
    const last = replay.steps.length - 1;
    const button = (words: string, title: string, click: () => void) => {
      const made = element("button", { type: "button", title }, words);
      made.addEventListener("click", click);
      return made;
    };
    const half = replay.recorded - 0.5;
    this.slider = element("input", {
      type: "range",
      min: 0,
      max: last,
      step: 1,
      "aria-label": "Step of recording and replay",
    });
    const turn = element("span", { class: "turn" });
    turn.style.left = `${(100 * half) / Math.max(1, last)}%`;
    this.slider.addEventListener("input", () => this.go(Number(this.slider.value)));
    this.back = button("‹ Back", "A step back", () => this.go((this.app.state.step ?? last + 1) - 1));
    this.on = button("Step ›", "A step on", () => this.go((this.app.state.step ?? -1) + 1));
    this.rest = button("Whole tape", "Leave the player", () => this.go(null));
    this.play.addEventListener("click", () => (this.timer === null ? this.start() : this.stop()));
    this.node = element(
      "div",
      { class: "player screen", role: "group", "aria-label": "Player" },
      this.play,
      this.back,
      this.on,
      button("Forward", "To the first operation that was recorded", () => this.go(0)),
      button("Backward", "To where the replay begins", () => this.go(replay.recorded)),
      element("span", { class: "track" }, this.slider, turn),
      this.rest,
      this.words,
    );
  }

  update() {
    const { step } = this.app.state;
    const { steps, recorded } = this.replay;
    const last = steps.length - 1;
    const here = step === null ? null : Math.min(step, last);
    this.slider.value = String(here ?? last);
    this.back.disabled = here === 0;
    this.on.disabled = here === last;
    this.rest.disabled = here === null;
    if (here === null) {
      this.words.textContent = `${recorded} operations recorded, ${steps.length - recorded} replayed backward`;
      return;
    }
    const { node, backward } = steps[here]!;
    const place = backward
      ? `Backward ${here - recorded + 1} of ${steps.length - recorded}`
      : `Forward ${here + 1} of ${recorded}`;
    const name = `${visible(node.operation)} #${node.id}`;
    this.words.textContent = backward ? `${place}: ${name} ${this.sends(here)}` : `${place}: ${name} is recorded`;
    this.slider.setAttribute("aria-valuetext", this.words.textContent);
  }

  private sends(step: number): string {
    const { node } = this.replay.steps[step]!;
    const norms = node.contributions.flatMap((packed, input) => {
      const sent = tensor(packed);
      if (!sent) return [];
      return [`input ${input} (norm ${brief(norm(sent))}${sent.cut ? " of what is kept" : ""})`];
    });
    return norms.length > 0 ? `sends gradients to ${norms.join(", ")}` : "sends no gradient on";
  }

  stop() {
    if (this.timer !== null) clearInterval(this.timer);
    this.timer = null;
    this.play.textContent = "Play";
  }

  private start() {
    const last = this.replay.steps.length - 1;
    if (this.app.state.step === null || this.app.state.step >= last) this.app.set({ step: 0 });
    this.play.textContent = "Pause";
    this.timer = window.setInterval(() => {
      const next = (this.app.state.step ?? -1) + 1;
      if (this.app.state.view !== "tape" || next > last) return this.stop();
      this.app.set({ step: next }, { replace: true });
    }, pace);
  }

  private go(step: number | null) {
    this.stop();
    const last = this.replay.steps.length - 1;
    this.app.set({ step: step === null ? null : Math.max(0, Math.min(last, step)) }, { replace: true });
  }
}
