// A guided tour: nine steps through one head, forward and backward, with the numbers of the page's model.
import { element, visible } from "../../shared/dom";
import type { App } from "../app";
import { shortened } from "../widgets/switches";
import { scrollToCell } from "../widgets/number_table";
import type { Attention } from "../data";
import { curveOf } from "../views/nudge_curve";
import { resolving, brief, exact } from "../../shared/numbers";
import { Replay } from "../tape/replay";
import { softmaxBackward } from "../views/softmax";
import type { State } from "../state";
import { tensor } from "../tensor";

const phone = 640; // pixels, as in the style sheet

interface Step {
  title: string;
  words(): (Node | string)[];
  state(): Partial<State>;
  shows?: string; // selector of the element in question, where a phone has to scroll to it
}

// A number in a sentence; data-tour is its name for the checks.
function number(
  value: number,
  name: string,
  words = Number.isInteger(value) ? String(value) : brief(value),
): HTMLElement {
  return element("b", { "data-tour": name, "data-value": value, title: exact(value) }, words);
}

// The weight that the tour follows: the one with the largest gradient in the last cross-attention, or else the last
// attention; if there are nudges, among the nudged weights.
export interface FollowedWeight {
  block: Attention;
  head: number;
  row: number;
  key: number;
}

export function followedWeight(app: App): FollowedWeight | null {
  const all = app.data.attention.filter((block) => tensor(block.gradients[0]?.probabilities));
  const block = all.findLast(({ kind }) => kind === "cross") ?? all.at(-1);
  if (!block) return null;
  const gradients = tensor(block.gradients[0]!.probabilities)!;
  const weights = tensor(block.values.probabilities)!;
  const [queries, keys] = gradients.storedShape.slice(-2) as [number, number];
  const pulled = new Set(
    app.data.nudges?.places
      .filter(({ kind, node }) => kind === "weight" && app.operation(node)?.module === block.module)
      .map(({ index: [, head, row, key] }) => (head! * queries + row!) * keys + key!),
  );
  let [best, size] = [0, -1];
  gradients.values.forEach((gradient, place) => {
    const known = pulled.size === 0 || pulled.has(place);
    const here = known && weights.values[place]! > 0.05 ? Math.abs(gradient) : -1;
    if (here > size) [best, size] = [place, here];
  });
  return { block, head: Math.floor(best / (queries * keys)), row: Math.floor(best / keys) % queries, key: best % keys };
}

function steps(app: App, { block, head, row, key }: FollowedWeight): Step[] {
  const place = { block: block.module, heads: [head], row, output: 0 };
  const [asking, asked] = [app.tokens(block.rows)[row]!, app.tokens(block.columns)[key]!];
  const of = (token: string) => `“${shortened(token, 16)}”`;
  const part = (name: "query" | "key" | "value" | "scores" | "probabilities" | "context", at: number) =>
    tensor(block.values[name])!.row(at, head);
  const gradient = (name: "query" | "scores" | "probabilities") => tensor(block.gradients[0]![name])!.row(row, head);
  const dot = () => part("query", row).reduce((sum, value, d) => sum + value * part("key", key)[d]!, 0);
  const { name, value } = app.data.outputs[0]!;
  const { nodes, roots } = app.data.tape;
  const root = roots[0]!;
  const { recorded, steps: all } = new Replay(app.data, 0);
  const p = part("probabilities", row)[key]!;
  const g = gradient("probabilities")[key]!;
  const score = part("scores", row)[key]!;
  const loss = app.data.predictions[0] !== null; // lower is better
  const verdict = loss ? (g < 0 ? "help" : "harm") : g < 0 ? "lower it" : "raise it";
  const back = softmaxBackward(part("probabilities", row), gradient("probabilities"));
  const above = g - back.sum;
  const nudge = app.data.nudges?.places.findIndex(
    ({ kind, node, index }) =>
      kind === "weight" &&
      app.operation(node)?.module === block.module &&
      index[1] === head &&
      index[2] === row &&
      index[3] === key,
  );
  const pulled = nudge !== undefined && nudge >= 0 ? curveOf(app.data.nudges!, nudge, 0) : null;
  const end = app.operation(root)!;
  return [
    {
      title: "The end first",
      state: () => ({ view: "tape", subject: { node: root }, step: null, output: 0 }),
      words: () => [
        `Everything that the model computed for this text ends in one number, the ${visible(name)}: `,
        number(value ?? NaN, "loss"),
        `, computed by ${end.operation} #${end.id}. Gradients tell how it depends on each of the `,
        number(all.length - recorded - 1, "operations"),
        " operations before it. We follow one weight of one head, forward and back.",
      ],
    },
    {
      title: "A query and a key",
      state: () => ({ view: "neuron", show: "values", ...place }),
      shows: `[data-figure="score"][data-key="${key}"]`,
      words: () => [
        `In head ${head} of ${visible(app.nameOf(block.module))}, the query of ${of(asking)} is compared with the key of ${of(asked)}: their products add up to q·k = `,
        number(dot(), "dot"),
        ". Times the scale ",
        number(block.scale, "scale"),
        ", this is the score ",
        number(score, "score"),
        ".",
      ],
    },
    {
      title: "Scores become weights",
      state: () => ({ view: "softmax", ...place }),
      words: () => [
        `Softmax takes the exponential of each score of the row and divides by their sum. ${of(asked)} gets the weight p = `,
        number(p, "p"),
        "; the row sums to ",
        number(
          part("probabilities", row).reduce((a, b) => a + b, 0),
          "row",
        ),
        ", so what one key gains, the others lose.",
      ],
    },
    {
      title: "Weights mix values",
      state: () => ({ view: "head", show: "values", ...place }),
      words: () => [
        `The head's output for ${of(asking)} is the sum of all values, each times its weight. `,
        ...(block.values.context && block.values.value
          ? [
              "Its first number is ",
              number(part("context", row)[0]!, "context"),
              `, of which ${of(asked)} contributes p · v = `,
              number(p * part("value", key)[0]!, "share"),
              ". ",
            ]
          : ["This page stores no values because it would be too large; the page of a shorter text has them. "]),
        `From here, the rest of the model continues to the ${visible(name)}.`,
      ],
    },
    {
      title: "Backward begins",
      state: () => ({ view: "tape", subject: { node: root }, step: nodes.length, output: 0 }),
      words: () => [
        `The gradient of the ${visible(name)} by itself is 1. Now the tape is read from the end: each operation takes the gradient of its output and, by the chain rule, sends a gradient to each of its inputs. ${end.operation} #${end.id} is the first.`,
      ],
    },
    {
      title: "The gradient of one weight",
      state: () => ({ view: "head", show: "gradients", ...place }),
      words: () => [
        `Backward has reached our weight, with g = dL/dp = `,
        number(g, "g"),
        `: if p were larger by a small Δ, with everything else fixed, the ${visible(name)} would change by about g·Δ. So a little more of ${of(asked)} would ${verdict} here.`,
      ],
    },
    {
      title: "Nudge it",
      state: () =>
        pulled
          ? { view: "nudge", ...place, pull: "weight", place: nudge!, stop: pulled.start + 1 }
          : { view: "head", show: "gradients", ...place },
      words: () =>
        pulled
          ? [
              "Is that true? The library replaced p by p + ",
              number(pulled.changes[pulled.start + 1]!, "change"),
              " and ran the model again. The predicted change is ",
              number(pulled.gradient * pulled.changes[pulled.start + 1]!, "predicted"),
              `; the ${visible(name)} actually changed by `,
              number(pulled.effects[pulled.start + 1]!, "effect"),
              ". Move further to see where the curve leaves its tangent.",
            ]
          : [
              "Is that true? A page written with --nudges shows what the gradient predicts for a change of this weight and what actually happens. This page was written without.",
            ],
    },
    {
      title: "Back through softmax",
      state: () => ({ view: "softmax", ...place }),
      shows: `[data-index="${key}"] [data-column="dx"]`,
      words: () => [
        "The weights of a row sum to 1, so a score does not receive g itself but its excess over the row's mean Σ = ",
        number(back.sum, "sum"),
        ", times p: ",
        number(p, "p"),
        " · (",
        number(g, "g", resolving(g, above)),
        back.sum < 0 ? " − (" : " − ",
        number(back.sum, "sum", resolving(back.sum, above)),
        back.sum < 0 ? ")) = " : ") = ",
        number(back.dx[key]!, "dx"),
        " is the gradient of the score.",
      ],
    },
    {
      title: "To the query and the parameters",
      state: () => ({ view: "neuron", show: "gradients", ...place }),
      shows: ".difference",
      words: () => [
        "The score was scale · q·k, so the query receives scale · dx · k from this key, and likewise from every other: in total a gradient of length ",
        number(Math.hypot(...gradient("query")), "length"),
        ". Next come the matrices that produced the query: each of their entries gets its gradient in the same way, and training takes a small step against it. That is backpropagation.",
      ],
    },
  ];
}

export class Tour {
  readonly node = element("aside", { class: "tour screen", "aria-label": "Guided tour", hidden: true });
  private readonly steps: Step[];

  constructor(private readonly app: App) {
    const hero = followedWeight(app);
    this.steps = hero ? steps(app, hero) : [];
  }

  button(): HTMLElement | false {
    if (this.steps.length === 0) return false;
    const button = element("button", { type: "button", class: "begin-tour" }, "Guided tour");
    button.addEventListener("click", () => this.go(0));
    return button;
  }

  update() {
    const { tour } = this.app.state;
    const step = tour === null ? undefined : this.steps[tour];
    this.node.hidden = !step;
    document.body.classList.toggle("touring", Boolean(step));
    if (!step || tour === null) return;
    const button = (words: string, to: number | null, enabled = true) => {
      const made = element("button", { type: "button", disabled: !enabled }, words);
      made.addEventListener("click", () => this.go(to));
      return made;
    };
    const last = tour === this.steps.length - 1;
    const focused = this.node.contains(document.activeElement) ? document.activeElement?.textContent : null;
    this.node.replaceChildren(
      element(
        "p",
        { class: "tour-title" },
        element("span", { class: "muted" }, `${tour + 1} of ${this.steps.length} `),
        element("strong", {}, step.title),
      ),
      element("p", { class: "tour-words", "aria-live": "polite" }, ...step.words()),
      element(
        "div",
        { class: "tour-buttons" },
        button("‹ Back", tour - 1, tour > 0),
        button(last ? "Again" : "Next ›", last ? 0 : tour + 1),
        button("Show this step", tour),
        button("End", null),
      ),
    );
    for (const one of this.node.querySelectorAll("button")) if (one.textContent === focused) one.focus();
  }

  private go(to: number | null) {
    this.app.set({ ...(to === null ? {} : this.steps[to]!.state()), tour: to });
    if (to !== null) this.reveal(this.steps[to]!.shows);
  }

  // Scrolls so that the tour's panel does not cover the element in question; on a phone, also past what is above it.
  private reveal(shows?: string) {
    const subject = document.querySelector("#view .pulled, #view .closeup, #view .picture");
    if (!subject) return;
    const under = (part: Element) => part.getBoundingClientRect().bottom - this.node.getBoundingClientRect().top;
    if (window.innerWidth <= phone) {
      subject.scrollIntoView();
      const part = shows ? document.querySelector(`#view ${shows}`) : null;
      if (part) scrollToCell(part);
      if (part && under(part) > 0) window.scrollBy(0, under(part) + 12);
      return;
    }
    const below = under(subject);
    if (below > 0) window.scrollBy(0, Math.min(below, subject.getBoundingClientRect().top));
  }
}
