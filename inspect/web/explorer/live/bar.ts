// The bar at the top of a page that computes: the text, the edits and their effect, and what the engine does.
import type { App } from "../app";
import { element, visible } from "../../shared/dom";
import { integer } from "../../shared/format";
import { brief, resolving } from "../../shared/numbers";
import { effectOf, signed } from "./comparison";
import type { Session } from "./session";
import { wordsOf } from "./words";

const pause = 350; // milliseconds after the last letter

export class Bar {
  readonly node: HTMLElement;
  private readonly text = this.input("Text", "Type a text");
  private readonly target = this.input("Translation", "the model's own translation");
  private readonly back = this.button("Back to the recorded text", () => this.goBack());
  private readonly status = element("output", { class: "live-status", "aria-live": "polite" });
  private readonly restart = this.button("Restart the engine", () => void this.session.restart());
  private readonly notes = element("div", { class: "live-notes" });
  private readonly chips = element("ul", { class: "chips", "aria-label": "Edits" });
  private timer = 0;
  private typedTarget = false; // otherwise a new text clears the recorded target

  constructor(
    private readonly session: Session,
    private readonly app: () => App,
    private readonly restoreWeights: () => void,
  ) {
    const translates = app().data.model.kind === "encoder-decoder";
    const compute = element("button", { type: "submit" }, "Compute");
    const form = element(
      "form",
      { class: "live-form" },
      element("label", { class: "live-text" }, element("span", {}, translates ? "Source" : "Text"), this.text),
      translates && element("label", { class: "live-text" }, element("span", {}, "Translation"), this.target),
      compute,
      this.back,
      this.restart,
      this.status,
    );
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.submit();
    });
    this.target.addEventListener("input", () => (this.typedTarget = true));
    this.text.addEventListener("input", () => {
      if (!this.typedTarget) this.target.value = "";
    });
    for (const field of [this.text, this.target])
      field.addEventListener("input", () => {
        window.clearTimeout(this.timer);
        this.timer = window.setTimeout(() => this.submit(), pause);
      });
    this.node = element("section", { class: "live screen", "aria-label": "Compute" }, form, this.notes, this.chips);
    this.fill();
    session.listen(() => this.update());
    this.update();
  }

  update() {
    const { engine, busy, error, base, updates } = this.session;
    const failed = typeof engine === "object";
    for (const field of [this.text, this.target]) field.disabled = failed;
    this.back.hidden = this.session.isRecorded && !busy;
    this.restart.hidden = !failed;
    this.node.toggleAttribute("data-busy", busy || engine === "starting");
    const stopped = failed ? `The engine does not run: ${engine.failed}.` : "";
    const words = stopped || (engine === "starting" ? "The engine is starting …" : busy ? "Computing …" : "");
    if (this.status.textContent !== words) this.status.textContent = words;
    const notes: (HTMLElement | false | null | undefined)[] = [
      error !== null && element("p", { class: "bad", role: "alert" }, visible(error)),
      base &&
        base.unknown.length > 0 &&
        element(
          "p",
          { class: "unknown-words" },
          `Unknown to the tokenizer: ${base.unknown.map((word) => `“${visible(word)}”`).join(", ")}`,
        ),
      updates !== null && this.weights(updates),
    ];
    this.notes.replaceChildren(...notes.filter((note): note is HTMLElement => note instanceof HTMLElement));
    this.updateChips();
  }

  private input(label: string, placeholder: string): HTMLInputElement {
    return element("input", {
      type: "text",
      "aria-label": label,
      placeholder,
      spellcheck: "false",
      autocomplete: "off",
    });
  }

  private button(words: string, click: () => void): HTMLButtonElement {
    const made = element("button", { type: "button" }, words);
    made.addEventListener("click", click);
    return made;
  }

  // Shows the wanted text in the fields.
  fill() {
    const { text, targetText } = this.session.wanted;
    this.text.value = text;
    this.target.value = targetText;
    this.typedTarget = false;
  }

  private submit() {
    window.clearTimeout(this.timer);
    this.session.setText(this.text.value, this.target.value);
    this.update();
  }

  private goBack() {
    window.clearTimeout(this.timer);
    this.session.back();
    this.fill();
    this.update();
  }

  private weights(updates: number): HTMLElement {
    const words = `These are weights trained in this page: ${integer(updates)} update${updates === 1 ? "" : "s"} from random ones. `;
    return element(
      "p",
      { class: "own-weights" },
      words,
      this.button("Restore the model's weights", this.restoreWeights),
    );
  }

  // The edits, each with a button that removes it, and their effect in short.
  private updateChips() {
    const { session } = this;
    const focused = this.chips.contains(document.activeElement);
    const app = this.app();
    const chips = session.edits.map((edit) => {
      const { short, where } = wordsOf(edit, app);
      const remove = this.button("×", () => session.removeEdit(edit));
      remove.setAttribute("aria-label", `Remove: ${short}`);
      return element("li", { class: "chip", title: where }, element("span", {}, short), remove);
    });
    const undo = this.button("Undo all", () => session.setEdits([]));
    const effect = effectOf(session, app);
    this.chips.hidden = chips.length === 0;
    this.chips.replaceChildren(...chips, element("li", {}, undo));
    if (effect) {
      const actual = effect.after - effect.before;
      const change = `${effect.name} ${resolving(effect.before, actual)} → ${resolving(effect.after, actual)} (${signed(actual)}`;
      const gradient = effect.predicted === null ? "" : `; the gradient predicted ${signed(effect.predicted)}`;
      this.chips.append(element("li", { class: "effect", "data-value": brief(actual) }, `${change}${gradient})`));
    }
    if (focused) this.chips.querySelector("button")?.focus();
  }
}
