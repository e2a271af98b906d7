// The guided tour: chapters of steps through the page with the numbers of its model, which can be left and continued.
import { element } from "../../shared/dom";
import type { App } from "../app";
import { viewKeys, type State } from "../state";
import { explain } from "./about";
import { chaptersOf, storyOf } from "./chapters/chapters";
import { figureOf } from "./chapters/figures";
import { stages, type Chapter, type Step } from "./chapters/step";
import type { Story } from "./chapters/story";
import { rates } from "./chapters/update";
import { Memory } from "./memory";
import { Spotlight } from "./spotlight";

// Elements whose own use of the arrow keys comes first.
const busy = "input, select, textarea, [role=application], [role=region], dialog, summary, .search";

const pause = 100; // milliseconds until the button follows other data

export class Tour {
  readonly node = element("aside", { class: "tour screen", "aria-label": "Guided tour", hidden: true });
  private readonly lesson = element("section", { class: "lesson", "aria-label": "Worked numbers", hidden: true });
  private readonly spotlight: Spotlight;
  private readonly list = element("nav", { class: "chapters", "aria-label": "Chapters" });
  private readonly title = element("p", { class: "tour-title" });
  private readonly path = element("p", { class: "tour-path", "aria-hidden": true });
  private readonly words = element("p", { class: "tour-words", "aria-live": "polite", "aria-atomic": true });
  private readonly check = element("p", { class: "tour-check" });
  private readonly back = element("button", { type: "button" }, "‹ Back");
  private readonly next = element("button", { type: "button", class: "go" }, "Next ›");
  private readonly begin = element("button", { type: "button", class: "begin-tour" });
  private readonly rates = rates();
  private readonly memory: Memory;
  private told: Story | null = null;
  private made: Chapter[] | null = null;
  private shown: number | null = null; // the step in the panel

  // before: the tour of the data that these replace. Its button stays for a moment, since writing the chapters takes as
  // long as drawing a view.
  constructor(
    private readonly app: App,
    before?: Tour,
  ) {
    this.spotlight = new Spotlight(this.node, app.signal);
    this.memory = new Memory(`tapeformer tour of ${app.data.title}`);
    const again = element("button", { type: "button", "aria-label": "Show the place in the page" }, "Show");
    const leave = element("button", { type: "button", title: "Escape" }, "Leave");
    this.back.addEventListener("click", () => this.go((app.state.tour ?? 0) - 1));
    this.next.addEventListener("click", () => this.go((app.state.tour ?? 0) + 1));
    again.addEventListener("click", () => this.go(app.state.tour ?? 0));
    leave.addEventListener("click", () => this.leave());
    this.begin.addEventListener("click", () => this.go(this.resumed() ?? 0));
    const head = element("div", { class: "tour-head" }, this.title, this.path);
    const buttons = element("div", { class: "tour-buttons" }, this.back, this.next, again, leave);
    this.node.append(this.list, head, this.words, this.check, buttons);
    this.node.addEventListener("click", (event) => this.explained(event));
    this.node.addEventListener(
      "keydown",
      (event) => (event.key === "Enter" || event.key === " ") && this.explained(event),
    );
    document.addEventListener("keydown", (event) => this.key(event), { signal: app.signal });
    // The page can be scrolled until the panel covers nothing.
    new ResizeObserver(() => {
      document.body.style.paddingBottom = this.node.hidden ? "" : `${this.node.offsetHeight + 24}px`;
    }).observe(this.node);
    if (!before) return;
    for (const name of ["textContent", "title", "hidden"] as const)
      Object.assign(this.begin, { [name]: before.begin[name] });
    setTimeout(() => app.signal.aborted || this.label(), pause);
  }

  get button(): HTMLElement {
    return this.begin;
  }

  // Selects what the step is about in data that replaced others, unless the reader is in another view.
  follow() {
    const { state } = this.app;
    const step = state.tour === null ? undefined : this.steps[state.tour]?.step;
    if (step?.state.view === state.view) this.app.restore({ ...state, ...step.state });
  }

  update() {
    const { tour } = this.app.state;
    const at = tour !== null && this.steps[tour] ? tour : null;
    this.node.hidden = at === null;
    document.body.classList.toggle("touring", at !== null);
    const before = this.shown;
    this.shown = at;
    if (at === null) {
      this.lesson.hidden = true;
      this.spotlight.show(null);
      if (this.made || this.begin.textContent === "") this.label();
      if (before !== null && document.activeElement === document.body) this.begin.focus();
      return;
    }
    if (!this.lesson.isConnected) {
      document.getElementById("view")?.before(this.lesson);
      document.body.append(this.spotlight.node);
    }
    if (before !== at) this.restore(at);
    if (before !== at) this.render(at);
    // Once the view, which is drawn after this panel, is in the page.
    requestAnimationFrame(() => {
      this.spotlight.show(this.steps[at]!.step.place);
      if (before !== at) this.spotlight.reveal();
    });
  }

  private get story(): Story {
    return (this.told ??= storyOf(this.app));
  }
  private get chapters(): Chapter[] {
    return (this.made ??= chaptersOf(this.story, this.rates));
  }

  private get steps(): { chapter: Chapter; step: Step }[] {
    return this.chapters.flatMap((chapter) => chapter.steps.map((step) => ({ chapter, step })));
  }

  private nameOf(at: number): string {
    const { chapter, step } = this.steps[at]!;
    return `${chapter.id}/${step.id}`;
  }

  // The step that the address or this browser remembers.
  private resumed(): number | null {
    const { left } = this.app.state;
    if (left !== null && this.steps[left]) return left;
    const at = this.steps.findIndex((_, index) => this.nameOf(index) === this.memory.last);
    return at < 0 ? null : at;
  }

  private label() {
    this.begin.hidden = this.steps.length === 0;
    const at = this.resumed();
    const chapter = at === null ? null : this.steps[at]!.chapter;
    this.begin.textContent = chapter ? "Continue the tour" : "Guided tour";
    this.begin.title = chapter
      ? `Chapter ${this.chapters.indexOf(chapter) + 1}: ${chapter.name}`
      : `${this.chapters.length} chapters: ${this.chapters.map(({ name }) => name).join(", ")}`;
  }

  private go(to: number) {
    const { steps } = this;
    if (to >= steps.length) this.leave();
    if (!steps[to]) return;
    const same = this.app.state.tour === to;
    this.app.set({ ...steps[to].step.state, tour: to, left: null });
    if (same) requestAnimationFrame(() => this.spotlight.reveal());
  }

  private leave() {
    const { tour } = this.app.state;
    const last = tour !== null && tour >= this.steps.length - 1;
    this.app.set({ tour: null, left: last ? null : tour });
  }

  // An address does not contain all of a step's state: the heads of a slice on the tape, for instance.
  private restore(at: number) {
    const { state } = this.steps[at]!.step;
    const { view } = this.app.state;
    if (state.view !== view) return;
    const missing = Object.entries(state).filter(
      ([key]) => key !== "view" && !viewKeys[view].includes(key as keyof State as never),
    );
    Object.assign(this.app.state, Object.fromEntries(missing));
  }

  private render(at: number) {
    const { chapter, step } = this.steps[at]!;
    this.memory.visit(this.nameOf(at));
    const place = chapter.steps.indexOf(step);
    this.title.replaceChildren(
      element("span", { class: "muted" }, `${chapter.name} ${place + 1} of ${chapter.steps.length} `),
      element("strong", {}, step.title),
    );
    this.renderList(at);
    this.renderPath(chapter, step);
    this.words.replaceChildren(...step.words);
    this.check.replaceChildren(element("span", { class: "muted" }, "Check: "), ...step.check);
    if (step.recorded)
      this.check.append(" ", element("span", { class: "muted recorded" }, `On the tape: ${step.recorded}`));
    this.back.disabled = at === 0;
    this.next.textContent = this.nextLabel(at, chapter);
    const figure = figureOf(step.figure, this.story, this.rates, () => this.refresh(at));
    this.lesson.replaceChildren(...figure);
    this.lesson.hidden = figure.length === 0;
  }

  private nextLabel(at: number, chapter: Chapter): string {
    const next = this.steps[at + 1];
    if (!next) return "Finish";
    return next.chapter === chapter ? "Next ›" : `Next: ${next.chapter.name} ›`;
  }

  // After a learning rate was set: the numbers of the sentence and the figure follow.
  private refresh(at: number) {
    const { activeElement } = document;
    const value = activeElement instanceof HTMLInputElement ? activeElement.value : null;
    this.made = null;
    this.render(at);
    this.lesson.querySelector<HTMLInputElement>(`input[value="${value}"]`)?.focus();
    this.spotlight.show(this.steps[at]!.step.place);
  }

  private renderList(at: number) {
    const current = this.steps[at]!.chapter;
    let start = 0;
    const entries = this.chapters.map((chapter, index) => {
      const from = start;
      start += chapter.steps.length;
      const seen = chapter.steps.filter(({ id }) => this.memory.has(`${chapter.id}/${id}`)).length;
      const count = chapter.steps.length;
      const bar = element("progress", { max: count, value: seen, "aria-hidden": true });
      const button = element(
        "button",
        { type: "button", "aria-label": `Chapter ${index + 1}: ${chapter.name}, ${seen} of ${count} steps seen` },
        element("span", {}, `${index + 1} ${chapter.name}`, seen === count && element("span", { class: "good" }, " ✓")),
        bar,
      );
      if (chapter === current) button.setAttribute("aria-current", "step");
      // The first step not seen, or the first one.
      const open = chapter.steps.findIndex(({ id }) => !this.memory.has(`${chapter.id}/${id}`));
      button.addEventListener("click", () => this.go(from + Math.max(0, open)));
      return element("li", {}, button);
    });
    const { activeElement } = document;
    const focused = [...this.list.querySelectorAll("button")].findIndex((button) => button === activeElement);
    this.list.replaceChildren(element("ol", {}, ...entries));
    if (focused >= 0) this.list.querySelectorAll("button")[focused]?.focus();
    const here = this.list.querySelector<HTMLElement>("[aria-current]");
    const row = this.list.firstElementChild!;
    if (here) row.scrollLeft = here.offsetLeft - row.clientWidth / 2 + here.offsetWidth / 2;
  }

  // "You are here": the stages of the model, in the direction of the chapter.
  private renderPath(chapter: Chapter, { stage }: Step) {
    const known = new Set(this.steps.map(({ step }) => step.stage));
    const all = stages.filter((one) => known.has(one));
    const arrow = chapter.backward ? " ← " : " → ";
    this.path.replaceChildren(
      ...all.flatMap((one, index) => [
        index > 0 ? arrow : "",
        element("span", one === stage ? { class: "here" } : {}, one === "loss" && !this.story.loss ? "output" : one),
      ]),
    );
    this.path.hidden = !stage || all.length < 3;
  }

  private explained(event: Event) {
    const { target } = event;
    const word = target instanceof Element ? target.closest<HTMLElement>("[data-term]")?.dataset.term : undefined;
    if (word === undefined) return;
    event.preventDefault();
    explain(word);
  }

  private key(event: KeyboardEvent) {
    const { tour } = this.app.state;
    if (tour === null || !this.node.isConnected || event.defaultPrevented) return;
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    if (event.target instanceof Element && event.target.closest(busy)) return;
    if (event.key === "Escape") this.leave();
    else if (event.key === "ArrowRight" && this.steps[tour + 1]) this.go(tour + 1);
    else if (event.key === "ArrowLeft") this.go(tour - 1);
    else return;
    event.preventDefault();
  }
}
