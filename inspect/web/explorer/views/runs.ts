// Runs on the same texts side by side: two models, two checkpoints, a model with and without a head. More than two are a film.
import { element } from "../../shared/dom";
import type { App } from "../app";
import { Toolbar, headSwitch, kindSwitch, layerSwitch, menu, rowSwitch, shortened } from "../widgets/switches";
import { scaleAround, numbersTable, tintNote } from "../widgets/number_table";
import { sequential, diverging } from "../../shared/colors";
import type { Frame, Prediction, Runs } from "../data";
import { Film } from "./film";
import { Heatmap } from "../widgets/heatmap";
import { runName } from "../widgets/module_name";
import { brief } from "../../shared/numbers";
import { placeWords, positionNames, targetWord } from "./output";
import { tokenPair } from "./patching";
import { Plane, tensor } from "../tensor";

// One position of a run's output: p of each shown token, and −ln p of the correct one.
export function positionOf(runs: Runs, frame: Frame, output: number, row: number, target: number) {
  const logs = tensor(frame.log_p[output])!.row(row);
  const tokens = runs.tokens[output]!.slice(row * logs.length, (row + 1) * logs.length);
  return { tokens, p: Array.from(logs, Math.exp), loss: -logs[tokens.indexOf(target)]! };
}

export class RunsView {
  readonly node: HTMLElement;
  private readonly bar: Toolbar;
  private readonly film: Film | null;
  private readonly body = element("div", { class: "closeup-body" });

  constructor(private readonly app: App) {
    const { frames } = this.runs;
    const list = () => frames.map((frame, index): [string, string] => [String(index), runName(app, frame)]);
    this.bar = new Toolbar([
      menu(
        "Compare",
        list,
        () => String(app.state.against),
        (run) => app.set({ against: Number(run) }),
      ),
      menu(
        "with",
        list,
        () => String(this.shown()),
        (run) => app.set({ run: Number(run) }),
      ),
      kindSwitch(app),
      layerSwitch(app),
      headSwitch(app),
      menu(
        "Output",
        () => app.data.outputs.map(({ name }, index) => [String(index), shortened(name, 40)]),
        () => String(app.state.output),
        (output) => app.set({ output: Number(output) }),
      ),
      rowSwitch(app, "Position", () => this.positions()),
    ]);
    this.film = frames.length > 2 ? new Film(app, () => this.shown()) : null;
    this.node = element("section", { class: "view runs" }, this.bar.node, this.film?.node ?? null, this.body);
  }

  update() {
    this.bar.update();
    this.film?.update();
    const heats: Heatmap[] = [];
    this.body.replaceChildren(
      ...this.head(),
      ...this.losses(),
      ...this.attention(heats),
      ...this.probabilities(),
      element("p", { class: "note muted" }, tintNote),
    );
    for (const heat of heats) heat.picture.redraw();
  }

  onLeave() {
    this.film?.stop();
  }

  private get runs(): Runs {
    return this.app.data.runs!;
  }

  private shown(): number {
    return this.app.state.run ?? this.runs.frames.length - 1;
  }

  private pair(): [Frame, Frame] {
    return [this.runs.frames[this.app.state.against]!, this.runs.frames[this.shown()]!];
  }

  // Index of the output whose prediction is shown.
  private output(): number {
    return this.app.data.predictions.indexOf(this.app.prediction());
  }

  // The text of a run: the page's, unless it was corrupted on purpose.
  private tokens(frame: Frame, text: number | null): string[] {
    const own = this.app.tokens(text);
    const read = text === null ? undefined : frame.texts?.[text];
    const page = text === null ? [] : this.app.data.texts[text]!.tokens;
    return read ? own.map((token, at) => (read[at] === page[at] ? token : read[at]!)) : own;
  }

  // The texts of both runs, token by token; differing tokens are separated by a slash.
  private pairOfTokens(text: number | null, length: number): string[] {
    const [a, b] = this.pair().map((frame) => this.tokens(frame, text)) as [string[], string[]];
    return a.map((token, at) => tokenPair(token, b[at]!, length));
  }

  private positions(): string[] {
    const prediction = this.app.prediction();
    return prediction ? positionNames(this.app, prediction, this.pairOfTokens(prediction.text, 24)) : [];
  }

  private head(): HTMLElement[] {
    const { of, frames } = this.runs;
    const [first, second] = this.pair();
    const left =
      of > frames.length &&
      element(
        "p",
        { class: "note muted left-out" },
        `The page stores ${frames.length} of ${of} runs, evenly spaced, because all of them would be too large. A shorter text leaves room for more.`,
      );
    const title = element("h2", {}, "A: ", this.name(first), ", B: ", this.name(second));
    return [title, ...this.corrupted(), ...(left ? [left] : [])];
  }

  private name(frame: Frame): HTMLElement {
    return element("b", { title: frame.name }, runName(this.app, frame));
  }

  // A note for each run that reads another text.
  private corrupted(): HTMLElement[] {
    return this.pair().flatMap(({ texts }, run) => {
      const words = this.app.data.texts.flatMap(({ name, tokens }, text) => {
        const read = texts?.[text];
        return read?.some((token, at) => token !== tokens[at])
          ? [`the ${name} is ${read.map((token) => shortened(token, 24)).join(" ")}`]
          : [];
      });
      return words.length > 0
        ? [element("p", { class: "note muted reads" }, `In ${"AB"[run]!} ${words.join(", ")}.`)]
        : [];
    });
  }

  private losses(): HTMLElement[] {
    const { outputs } = this.app.data;
    const [first, second] = this.pair();
    const [a, b] = [first, second].map(({ values }) => values.map((value) => value ?? NaN)) as [number[], number[]];
    const table = numbersTable(
      "output",
      outputs.map(({ name }) => shortened(name, 40)),
      [
        { name: "A", key: "a", values: a },
        { name: "B", key: "b", values: b },
        { name: "B − A", key: "difference", values: b.map((value, i) => value - a[i]!) },
      ],
      {},
    );
    return [element("div", { class: "scroll" }, table)];
  }

  private attention(heats: Heatmap[]): HTMLElement[] {
    const block = this.app.block();
    if (!block) return [];
    const head = this.app.head();
    const [ofRows, ofColumns] = [this.app.tokens(block.rows), this.app.tokens(block.columns)];
    const planes = this.pair().map((frame) => {
      const found = frame.attention.find(({ module }) => module === block.module);
      const weights = tensor(found?.weights);
      const fits = weights && head < weights.storedShape[0]! && weights.storedShape[1] === ofRows.length;
      return fits && weights.storedShape[2] === ofColumns.length ? weights.plane(head) : null;
    });
    const title = element(
      "h3",
      { title: block.module },
      `${this.app.nameOf(block.module)}, head ${head}: attention weights`,
    );
    const [a, b] = planes;
    if (!a || !b) {
      const without = runName(this.app, this.pair()[a ? 1 : 0]);
      const { modules, modules_of } = this.runs;
      const words =
        modules < modules_of
          ? `The page stores the weights of only the last ${modules} of ${modules_of} attention modules of each run, because all of them would be too large. A shorter text leaves room for more.`
          : `${without} has no such head for these texts.`;
      return [title, element("p", { class: "muted" }, words)];
    }
    const difference = new Plane(
      a.rows,
      a.columns,
      Float64Array.from(b.values, (value, i) => value - a.values[i]!),
    );
    const heat = (
      id: string,
      name: string,
      plane: Plane,
      scale: () => ReturnType<typeof sequential>,
      of: Frame | null,
    ) => {
      const names = (text: number) =>
        of ? this.tokens(of, text).map((token) => shortened(token, 14)) : this.pairOfTokens(text, 10);
      const made = new Heatmap({
        id,
        title: name,
        plane,
        scale,
        rows: names(block.rows),
        columns: names(block.columns),
        cell: 34,
      });
      heats.push(made);
      return made.picture.node;
    };
    return [
      title,
      element(
        "div",
        { class: "triple" },
        heat("runs-a", "A", a, () => sequential(1), this.pair()[0]),
        heat("runs-b", "B", b, () => sequential(1), this.pair()[1]),
        heat("runs-difference", "B − A", difference, () => diverging(difference.maxAbs()), null),
      ),
    ];
  }

  // −ln p of the correct token at each position, and the likeliest tokens at one of them, in both runs.
  private probabilities(): HTMLElement[] {
    const { app, runs } = this;
    const output = this.output();
    const prediction = app.prediction();
    if (!prediction) return [];
    const [first, second] = this.pair();
    const of = (frame: Frame) => prediction.targets.map((target, row) => positionOf(runs, frame, output, row, target));
    const [a, b] = [of(first), of(second)];
    const losses = (all: { loss: number }[]) => all.map(({ loss }) => loss);
    const mean = (all: { loss: number }[]) => losses(all).reduce((sum, loss) => sum + loss, 0) / all.length;
    const name = (id: number) => shortened(runs.names[id] ?? `#${id}`, 18);
    const positions = this.positions();
    const table = numbersTable(
      `position: ${targetWord(prediction)}`,
      prediction.targets.map((target, row) => `${row} ${shortened(positions[row]!, 14)}: ${name(target)}`),
      [
        {
          name: "−ln p in A",
          key: "loss-a",
          values: losses(a),
          scale: sequential(Math.max(...losses(a), ...losses(b))),
        },
        {
          name: "−ln p in B",
          key: "loss-b",
          values: losses(b),
          scale: sequential(Math.max(...losses(a), ...losses(b))),
        },
        {
          name: "B − A",
          key: "loss-difference",
          values: losses(b).map((loss, row) => loss - a[row]!.loss),
          scale: scaleAround(losses(b).map((loss, row) => loss - a[row]!.loss)),
        },
      ],
      { "loss-a": ["mean", mean(a)], "loss-b": ["mean", mean(b)] },
    );
    const row = Math.min(app.state.row ?? 0, prediction.targets.length - 1);
    const place = placeWords(prediction, row, positions[row]!);
    return [
      element("h3", {}, `${app.data.outputs[output]!.name}: position by position`),
      element("div", { class: "scroll" }, table),
      agreement(
        [mean(a), mean(b)],
        [first, second].map(({ values }) => values[output] ?? NaN),
      ),
      element("h3", {}, ["Likeliest", `${prediction.classes}s`, ...(place ? [`at ${place}`] : [])].join(" ")),
      element("div", { class: "scroll" }, this.likely(prediction, a[row]!, b[row]!, prediction.targets[row]!, name)),
    ];
  }

  private likely(
    { classes }: Prediction,
    a: ReturnType<typeof positionOf>,
    b: ReturnType<typeof positionOf>,
    target: number,
    name: (id: number) => string,
  ): HTMLElement {
    const order = a.tokens.map((_, i) => i).sort((i, j) => Math.max(b.p[j]!, a.p[j]!) - Math.max(b.p[i]!, a.p[i]!));
    const difference = order.map((i) => b.p[i]! - a.p[i]!);
    return numbersTable(
      classes,
      order.map((i) => `${a.tokens[i] === target ? "▸ " : ""}${name(a.tokens[i]!)}`),
      [
        { name: "p in A", key: "p-a", values: order.map((i) => a.p[i]!), scale: sequential(1) },
        { name: "p in B", key: "p-b", values: order.map((i) => b.p[i]!), scale: sequential(1) },
        { name: "B − A", key: "p-difference", values: difference, scale: scaleAround(difference) },
      ],
      {},
    );
  }
}

// Checks that the mean over the positions is the loss of each run.
function agreement(means: number[], values: number[]): HTMLElement {
  const off = Math.max(...means.map((mean, run) => Math.abs(mean - values[run]!)));
  const agrees = off <= 2e-5 * (1 + Math.max(...values.map(Math.abs)));
  const words = agrees
    ? "The means over the positions match the losses of the runs."
    : `The means over the positions differ from the losses of the runs by ${brief(off)}.`;
  return element("p", { class: `verdict ${agrees ? "good" : "bad"}`, "data-difference": off }, words);
}
