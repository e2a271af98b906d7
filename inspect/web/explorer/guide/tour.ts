// Nine steps through one head, forward and backward, told with the numbers of the model in the page.
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

const phone = 640; // pixels, as the style sheet says

interface Step {
  title: string;
  words(): (Node | string)[];
  state(): Partial<State>;
  shows?: string; // selects what it speaks of, where a phone has it further down or to the right in the view
}

// A number in a sentence, with its name for whoever checks it.
function number(
  value: number,
  name: string,
  words = Number.isInteger(value) ? String(value) : brief(value),
): HTMLElement {
  return element("b", { "data-tour": name, "data-value": value, title: exact(value) }, words);
}

// The weight that the tour follows: in the last cross-attention, or the last attention, that of largest gradient; of
// those that were pulled at, where there are such.
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
  const loss = app.data.predictions[0] !== null; // what is better lower
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
        `All that the model computed for this text ends in one number, the ${visible(name)}: `,
        number(value ?? NaN, "loss"),
        `, made by ${end.operation} #${end.id}. Gradients will say how it depends on each of the `,
        number(all.length - recorded - 1, "operations"),
        " operations before it. We follow one weight of one head there and back.",
      ],
    },
    {
      title: "A query meets a key",
      state: () => ({ view: "neuron", show: "values", ...place }),
      shows: `[data-figure="score"][data-key="${key}"]`,
      words: () => [
        `In head ${head} of ${visible(block.module)}, ${of(asking)} asks with its query, and ${of(asked)} answers with its key: their products add up to q·k = `,
        number(dot(), "dot"),
        ", times the scale ",
        number(block.scale, "scale"),
        " that is the score ",
        number(score, "score"),
        ".",
      ],
    },
    {
      title: "Scores become weights",
      state: () => ({ view: "softmax", ...place }),
      words: () => [
        `Softmax takes exp of each score of the row and divides by their sum. ${of(asked)} gets the weight p = `,
        number(p, "p"),
        "; the row sums to ",
        number(
          part("probabilities", row).reduce((a, b) => a + b, 0),
          "row",
        ),
        ", so what one key gains others lose.",
      ],
    },
    {
      title: "Weights mix values",
      state: () => ({ view: "head", show: "values", ...place }),
      words: () => [
        `The head's answer for ${of(asking)} is every key's value times its weight, added up. `,
        ...(block.values.context && block.values.value
          ? [
              "Its first number is ",
              number(part("context", row)[0]!, "context"),
              `, and ${of(asked)} has p · v = `,
              number(p * part("value", key)[0]!, "share"),
              " of it. ",
            ]
          : ["This page keeps no values, for it would become too large: that of a shorter text has them. "]),
        `From here the rest of the model goes on to the ${visible(name)}.`,
      ],
    },
    {
      title: "Backward begins",
      state: () => ({ view: "tape", subject: { node: root }, step: nodes.length, output: 0 }),
      words: () => [
        `The gradient of the ${visible(name)} by itself is 1. Now the tape is read from its end: each operation takes the gradient of what it gave, and sends each of its inputs a gradient, by the chain rule. ${end.operation} #${end.id} is the first of them.`,
      ],
    },
    {
      title: "The gradient of one weight",
      state: () => ({ view: "head", show: "gradients", ...place }),
      words: () => [
        `Backward has come to our weight, and says g = dL/dp = `,
        number(g, "g"),
        `: were p larger by a small Δ, with all else held, the ${visible(name)} would change by about g·Δ. So a little more of ${of(asked)} would ${verdict} here.`,
      ],
    },
    {
      title: "Pull at it",
      state: () =>
        pulled
          ? { view: "nudge", ...place, pull: "weight", place: nudge!, stop: pulled.start + 1 }
          : { view: "head", show: "gradients", ...place },
      words: () =>
        pulled
          ? [
              "Is that true? The library put p + ",
              number(pulled.changes[pulled.start + 1]!, "change"),
              " in the place of p and ran the model again. Predicted was ",
              number(pulled.gradient * pulled.changes[pulled.start + 1]!, "predicted"),
              `, the ${visible(name)} truly changed by `,
              number(pulled.effects[pulled.start + 1]!, "effect"),
              ". Pull further, and see where the curve leaves its tangent.",
            ]
          : [
              "Is that true? A page that is written with --nudges has this weight pulled at, and shows what the gradient predicts beside what truly happens. This one was written without.",
            ],
    },
    {
      title: "Back through softmax",
      state: () => ({ view: "softmax", ...place }),
      shows: `[data-index="${key}"] [data-column="dx"]`,
      words: () => [
        "Weights compete for a sum of 1, so a score is not sent g itself but how much g is above the row's mean Σ = ",
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
      title: "To the query, and to what learns",
      state: () => ({ view: "neuron", show: "gradients", ...place }),
      shows: ".difference",
      words: () => [
        "The score was scale · q·k, so the query is sent scale · dx · k from this key, and likewise from every other: together a gradient of length ",
        number(Math.hypot(...gradient("query")), "length"),
        ". Next come the matrices that made the query: each of their numbers gets its gradient in the same way, and training takes a small step against it. That is backpropagation.",
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

  // What a step speaks of comes out from under its words; a phone has no room for what stands above it either.
  private reveal(shows?: string) {
    const spoken = document.querySelector("#view .pulled, #view .closeup, #view .picture");
    if (!spoken) return;
    const under = (part: Element) => part.getBoundingClientRect().bottom - this.node.getBoundingClientRect().top;
    if (window.innerWidth <= phone) {
      spoken.scrollIntoView();
      const part = shows ? document.querySelector(`#view ${shows}`) : null;
      if (part) scrollToCell(part);
      if (part && under(part) > 0) window.scrollBy(0, under(part) + 12);
      return;
    }
    const below = under(spoken);
    if (below > 0) window.scrollBy(0, Math.min(below, spoken.getBoundingClientRect().top));
  }
}
