// Controls that step through recording and replay.
import { radioGroup, element, visible } from "../../shared/dom";
import type { App } from "../app";
import { brief } from "../../shared/numbers";
import type { Replay } from "./replay";
import { norm } from "../tensor";

const pace = 450; // milliseconds per step at speed 1
const speeds = [0.5, 1, 2, 4, 8];

export class Player {
  readonly node: HTMLElement;
  private readonly slider: HTMLInputElement;
  private readonly words = element("output", { class: "player-words", "aria-live": "polite" });
  private readonly play = element("button", { type: "button", class: "play" }, "Play");
  private readonly back: HTMLButtonElement;
  private readonly on: HTMLButtonElement;
  private readonly rest: HTMLButtonElement;
  private readonly turn = element("span", { class: "turn" });
  private timer: number | null = null;
  private readonly speed: HTMLSelectElement;
  private byModule = false;

  // follow: called when the option to unfold the player's current module changes.
  constructor(
    private readonly app: App,
    private replay: Replay,
    private readonly follow: (follows: boolean) => void,
  ) {
    const button = (words: string, title: string, click: () => void) => {
      const made = element("button", { type: "button", title }, words);
      made.addEventListener("click", click);
      return made;
    };
    this.slider = element("input", {
      type: "range",
      min: 0,
      step: 1,
      "aria-label": "Recording and replay step",
    });
    this.slider.addEventListener("input", () => this.go(Number(this.slider.value)));
    this.back = button("‹ Back", "One step back", () => this.go(this.next(-1)));
    this.on = button("Step ›", "One step forward", () => this.go(this.next(1)));
    this.speed = element("select", {}, ...speeds.map((times) => element("option", { value: times }, `${times}×`)));
    this.speed.value = "1";
    this.speed.addEventListener("change", () => this.timer !== null && this.start());
    const steps = radioGroup<"operation" | "module">(
      "Step by",
      [
        ["operation", "Operation"],
        ["module", "Module"],
      ],
      "operation",
      (chosen) => (this.byModule = chosen === "module"),
    );
    const unfolds = element("input", { type: "checkbox", checked: true });
    unfolds.addEventListener("change", () => this.follow(unfolds.checked));
    this.rest = button("Whole tape", "Close the player", () => this.go(null));
    this.play.addEventListener("click", () => (this.timer === null ? this.start() : this.stop()));
    this.node = element(
      "div",
      { class: "player screen", role: "group", "aria-label": "Player" },
      this.play,
      this.back,
      this.on,
      button("Forward", "Go to the first recorded operation", () => this.go(0)),
      button("Backward", "Go to the start of backward", () => this.go(this.replay.recorded)),
      element("span", { class: "track" }, this.slider, this.turn),
      this.rest,
      steps,
      element("label", { class: "menu" }, "Speed", this.speed),
      element("label", { class: "menu" }, unfolds, "Unfold current module"),
      this.words,
    );
  }

  // Switches to the replay of another output.
  setReplay(replay: Replay) {
    this.replay = replay;
  }

  update() {
    const { step } = this.app.state;
    const { steps, recorded } = this.replay;
    const last = steps.length - 1;
    const here = step === null ? null : Math.min(step, last);
    this.slider.max = String(last);
    this.slider.value = String(here ?? last);
    this.turn.style.left = `${(100 * (recorded - 0.5)) / Math.max(1, last)}%`;
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
    const norms = node.inputs.flatMap((_, input) => {
      const packed = this.replay.sentTo(node, input);
      return packed ? [`input ${input} (norm ${brief(norm(packed))})`] : [];
    });
    return norms.length > 0 ? `sends gradients to ${norms.join(", ")}` : "sends no gradient";
  }

  // The next step in a direction: the next operation, or the start of the next module.
  private next(by: 1 | -1): number {
    const { steps } = this.replay;
    const last = steps.length - 1;
    const here = this.app.state.step;
    let step = here === null ? (by > 0 ? 0 : last) : here + by;
    if (!this.byModule || here === null) return step;
    const module = (at: number) => `${steps[at]!.backward ? "backward" : "forward"} ${steps[at]!.node.module}`;
    while (step > 0 && step < last && module(step) === module(here)) step += by;
    // Going back also stops at the start of a module.
    while (by < 0 && step > 0 && module(step - 1) === module(step)) --step;
    return step;
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
    if (this.timer !== null) clearInterval(this.timer);
    this.timer = window.setInterval(
      () => {
        const next = this.next(1);
        if (this.app.state.view !== "tape" || next > last) this.stop();
        else this.app.set({ step: next }, { replace: true });
      },
      pace / Number(this.speed.value),
    );
  }

  private go(step: number | null) {
    this.stop();
    const last = this.replay.steps.length - 1;
    this.app.set({ step: step === null ? null : Math.max(0, Math.min(last, step)) }, { replace: true });
  }
}
