// The input of a loss: the likeliest tokens of each position, the correct one, and the first gradient, p − y.
import { element } from "../../shared/dom";
import { inkOn, legend, palette, sequential, type SvgGroup } from "../../shared/colors";
import type { App } from "../app";
import { capital } from "../architecture";
import { Toolbar, menu, outputSwitch, rowSwitch, shortened } from "../widgets/switches";
import { scaleAround, numbersTable, formulaSteps, tintNote, verdict, noGradient } from "../widgets/number_table";
import type { Prediction } from "../data";
import { brief, exact } from "../../shared/numbers";
import { Picture } from "../../shared/picture";
import { smoothingNote } from "../../shared/smoothing";
import { tensor } from "../tensor";

// One position, its tokens from the likeliest on.
export interface Position {
  tokens: number[];
  names: string[];
  target: number; // index among the tokens
  logits: Float32Array;
  p: number[];
  y: number[];
  loss: number;
}

// p = exp(logit − ln Σ exp), over the whole vocabulary.
export function positionOf(prediction: Prediction, row: number): Position {
  const logits = tensor(prediction.logits).row(row);
  const count = logits.length;
  const tokens = prediction.tokens.slice(row * count, (row + 1) * count);
  const target = tokens.indexOf(prediction.targets[row]!);
  const p = Array.from(logits, (logit) => Math.exp(logit - prediction.log_sums[row]!));
  return {
    tokens,
    names: tokens.map((token) => prediction.names[token] ?? `#${token}`),
    target,
    logits,
    p,
    y: tokens.map((_, index) => (index === target ? 1 : 0)),
    loss: prediction.log_sums[row]! - logits[target]!,
  };
}

// The names of a prediction's positions.
export function positionNames(app: App, prediction: Prediction, tokens = app.tokens(prediction.text)): string[] {
  const whole = `the ${app.data.texts[0]?.name ?? "text"}`;
  return prediction.targets.map((_, row) => prediction.rows?.[row] ?? tokens[prediction.start + row] ?? whole);
}

// Where a prediction is made, for the middle of a sentence: none if there is only one place.
export function placeWords({ text, rows }: Prediction, row: number, name: string): string | null {
  if (rows) return `the ${name}`;
  return text === null ? null : `position ${row}, reading “${shortened(name, 24)}”`;
}

// What a loss calls its target: that of tokens is the text itself, but labels and positions may be the model's own.
export const targetWord = ({ classes }: Prediction) => (classes === "token" ? "correct" : "target");

// Why probabilities stay below 1, if the model was trained with label smoothing.
export function smoothingNotes(app: App): HTMLElement[] {
  const smoothing = app.data.model.label_smoothing ?? 0;
  const classes = app.prediction()?.vocabulary;
  if (smoothing <= 0 || classes === undefined) return [];
  return [element("p", { class: "muted smoothing" }, smoothingNote(smoothing, classes))];
}

const likeliest = 10; // fewer if there is no room

export class OutputView {
  readonly node: HTMLElement;
  private readonly bar: Toolbar;
  private readonly picture: Picture;
  private readonly body = element("div", { class: "closeup-body" });

  constructor(private readonly app: App) {
    const losses = () => app.data.predictions.flatMap((prediction, index) => (prediction ? [index] : []));
    this.bar = new Toolbar([
      menu(
        "Loss",
        () => losses().map((index) => [String(index), app.data.outputs[index]!.name]),
        () => String(this.output()),
        (output) => app.set({ output: Number(output) }),
      ),
      rowSwitch(app, "Position", () => this.positions()),
      outputSwitch(app, true),
    ]);
    this.picture = new Picture({
      id: "output-picture",
      minWidth: 350,
      label: "The likeliest tokens, labels or positions, row by row. Up and down arrows select the row.",
      draw: (area, width) => this.draw(area, width),
      key: (event) => this.key(event),
    });
    this.node = element("section", { class: "view" }, this.bar.node, this.picture.node, this.body);
  }

  // Index of the output whose prediction is shown.
  private output(): number {
    return this.app.data.predictions.indexOf(this.app.prediction());
  }

  private positions(): string[] {
    return positionNames(this.app, this.app.prediction()!);
  }

  update() {
    this.bar.update();
    const { app } = this;
    const prediction = app.prediction()!;
    const row = app.state.row ?? 0;
    const { classes, text } = prediction;
    const where = text === null ? "" : " at each position";
    this.picture.setTitle(`Likeliest ${classes}s${where}, and ${app.data.outputs[this.output()]!.name}`);
    const rows = prediction.targets.length > 1 ? "; click a position; ↑ ↓ position" : "";
    this.picture.setHint(`hover over a ${classes} for its probability${rows}`);
    this.picture.redraw();
    this.body.replaceChildren(...this.worked(prediction, row));
  }

  private worked(prediction: Prediction, row: number): HTMLElement[] {
    const { app } = this;
    const position = positionOf(prediction, row);
    const count = prediction.targets.length;
    const first = position.p.map((value, index) => (value - position.y[index]!) / count);
    const own = app.state.output === this.output();
    const recorded = tensor(prediction.gradients[app.state.output])?.row(row);
    const loss = prediction.targets.reduce((sum, _, index) => sum + positionOf(prediction, index).loss, 0) / count;
    const both = recorded ? scaleAround(first, recorded) : scaleAround(first);
    const [target] = [position.names[position.target]!];
    const table = numbersTable(
      prediction.classes,
      position.names.map((name, index) => `${index === position.target ? "▸ " : ""}${shortened(name, 18)}`),
      [
        { name: "logit z", key: "logit", values: position.logits },
        { name: "p = e^(z − ln Σ e^z)", key: "p", values: position.p, scale: sequential(1) },
        { name: "y", key: "y", values: position.y },
        { name: count > 1 ? `(p − y)/${count}` : "p − y", key: "first", values: first, scale: both },
        ...(recorded
          ? [
              { name: "recorded", key: "recorded", values: recorded, scale: both },
              ...(own
                ? [{ name: "difference", key: "difference", values: first.map((value, i) => value - recorded[i]!) }]
                : []),
            ]
          : []),
      ],
      { p: ["sum", position.p.reduce((a, b) => a + b, 0)] },
    );
    const rest = prediction.vocabulary - position.tokens.length;
    const { classes } = prediction;
    const right = targetWord(prediction);
    const place = placeWords(prediction, row, this.positions()[row]!) ?? this.positions()[row]!;
    const mean = prediction.rows?.join(" and ") ?? `${count} positions`;
    return [
      element(
        "h3",
        {},
        `${capital(place)}: “${shortened(target, 24)}” is ${classes === "token" ? "correct" : "the target"}`,
      ),
      element(
        "p",
        { class: "formula" },
        `p = softmax(z) over the ${prediction.vocabulary} ${classes}s; the loss is ${count > 1 ? `the mean of −ln p(${right}) over ${mean}` : `−ln p(${right})`}. Its gradient with respect to a score is (p − y)${count > 1 ? `/${count}` : ""}, where y is 1 for the ${right} ${classes === "token" ? "token " : ""}and 0 otherwise: backward starts with these numbers.`,
      ),
      ...smoothingNotes(app),
      formulaSteps(
        ["ln Σ e^z", prediction.log_sums[row]!, "log-sum"],
        [`p(${shortened(target, 14)})`, position.p[position.target]!, "p"],
        ["−ln p", position.loss, "loss"],
        ["mean of all positions", loss, "mean"],
        ["recorded", app.data.outputs[this.output()]!.value ?? NaN, "recorded"],
      ),
      element("div", { class: "scroll" }, table),
      recorded && own
        ? verdict(first, recorded, 1 / count)
        : element("p", { class: "muted" }, recorded ? "The recorded gradient is that of another output." : noGradient),
      element(
        "p",
        { class: "note muted" },
        `${rest > 0 ? `The other ${rest} ${classes}s are less likely. ` : ""}${tintNote}`,
      ),
    ];
  }

  private draw(area: SvgGroup, width: number): number {
    const prediction = this.app.prediction()!;
    const positions = this.positions();
    const { muted } = palette();
    const narrow = width < 640;
    const [top, high, left, right] = [30, 27, narrow ? 76 : 128, narrow ? 146 : 212];
    const next = this.app.data.model.kind === "encoder" ? prediction.classes : `next ${prediction.classes}`;
    const one = prediction.classes === "token" ? "correct one" : "target";
    const ranks = Math.max(2, Math.min(likeliest, Math.floor((width - left - right) / 56)));
    const wide = (width - left - right) / ranks;
    const head = (x: number, anchor: string, words: string) =>
      area.append("text").attr("x", x).attr("y", 14).attr("text-anchor", anchor).attr("fill", muted).text(words);
    head(left - 12, "end", prediction.text === null ? "" : "reads");
    head(left, "start", narrow ? `the likeliest ${ranks}` : `likeliest ${next}s, from the left; the ${one} is framed`);
    head(width - 56, "end", targetWord(prediction));
    head(width, "end", "−ln p");
    const worst = Math.max(...positions.map((_, row) => positionOf(prediction, row).loss));
    positions.forEach((name, row) => {
      const y = top + row * high;
      this.drawName(area, name, row, { left, y, high });
      const position = positionOf(prediction, row);
      for (let rank = 0; rank < Math.min(ranks, position.tokens.length); ++rank)
        this.drawToken(area, position, rank, { x: left + rank * wide, y, wide, high });
      this.drawLoss(area, position, { x: width - right + 8, y, wide: right - 8, high }, worst);
    });
    const bottom = top + positions.length * high + 10;
    legend(area, sequential(1), "probability", left, bottom);
    return bottom + 34;
  }

  private drawName(
    area: SvgGroup,
    name: string,
    row: number,
    { left, y, high }: Record<"left" | "y" | "high", number>,
  ) {
    const { ink, panel, line } = palette();
    const chosen = row === (this.app.state.row ?? 0);
    if (chosen) {
      const back = area
        .append("rect")
        .attr("y", y)
        .attr("width", left - 4)
        .attr("height", high - 2)
        .attr("rx", 4);
      back.attr("fill", panel).attr("stroke", line);
    }
    const label = area
      .append("text")
      .attr("x", left - 12)
      .attr("y", y + 17)
      .attr("text-anchor", "end");
    label
      .attr("fill", ink)
      .attr("font-weight", chosen ? 600 : 400)
      .text(shortened(name, left < 100 ? 9 : 14));
    const cover = area.append("rect").attr("class", "screen cover position").attr("data-row", row);
    cover.attr("y", y).attr("width", left).attr("height", high);
    cover.on("click", () => this.app.set({ row }));
  }

  private drawToken(
    area: SvgGroup,
    position: Position,
    rank: number,
    { x, y, wide, high }: Record<"x" | "y" | "wide" | "high", number>,
  ) {
    const { ink } = palette();
    const [p, name] = [position.p[rank]!, position.names[rank]!];
    const color = sequential(1).color(p);
    const cell = area
      .append("rect")
      .attr("class", "token-cell")
      .attr("x", x + 1)
      .attr("y", y + 1);
    cell
      .attr("width", wide - 2)
      .attr("height", high - 4)
      .attr("rx", 3)
      .attr("fill", color);
    cell.attr("data-token", position.tokens[rank]!).attr("data-value", p);
    const target = rank === position.target;
    const one = this.app.prediction()!.classes === "token" ? "the correct one" : "the target";
    if (target) cell.attr("stroke", ink).attr("stroke-width", 2).attr("data-target", "true");
    cell.on("pointerenter", () => this.picture.showReadout(`p(${shortened(name, 24)})${target ? `, ${one}` : ""}:`, p));
    cell.on("pointerleave", () => this.picture.showReadout(null));
    const text = area
      .append("text")
      .attr("class", "cell-text")
      .attr("x", x + wide / 2)
      .attr("y", y + 16);
    text.attr("text-anchor", "middle").attr("fill", inkOn(color));
    text.text(shortened(name, Math.max(3, Math.floor(wide / 7.2))));
  }

  // The correct token with its probability, and a bar of length −ln p.
  private drawLoss(
    area: SvgGroup,
    { names, target, p, loss }: Position,
    { x, y, wide, high }: Record<"x" | "y" | "wide" | "high", number>,
    worst: number,
  ) {
    const { ink, muted, second } = palette();
    const length = worst > 0 ? ((wide - 56) * loss) / worst : 0;
    const bar = area
      .append("rect")
      .attr("x", x)
      .attr("y", y + high - 6)
      .attr("height", 3);
    bar.attr("width", Math.max(0.5, length)).attr("fill", second);
    const right = area
      .append("text")
      .attr("x", x + wide - 56)
      .attr("y", y + 16)
      .attr("text-anchor", "end");
    const narrow = wide < 200;
    right
      .attr("fill", muted)
      .text(`${shortened(names[target]!, narrow ? 7 : 9)} ${p[target]!.toFixed(narrow ? 2 : 3)}`);
    const number = area
      .append("text")
      .attr("class", "loss-text")
      .attr("x", x + wide)
      .attr("y", y + 16);
    number.attr("text-anchor", "end").attr("fill", ink).attr("data-value", loss).text(brief(loss));
    number.append("title").text(exact(loss));
  }

  private key(event: KeyboardEvent): boolean {
    const rows = this.positions().length;
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!by || rows === 0) return false;
    this.app.set({ row: ((this.app.state.row ?? 0) + by + rows) % rows }, { replace: true });
    return true;
  }
}
