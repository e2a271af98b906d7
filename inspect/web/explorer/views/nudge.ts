// Nudging one value: the change of the loss that its gradient predicts and the true change, computed by the library for
// a table of values and changes.
import { radioGroup, setChoice, element, visible } from "../../shared/dom";
import type { App } from "../app";
import {
  Toolbar,
  headSwitch,
  kindSwitch,
  layerSwitch,
  menu,
  outputSwitch,
  shortened,
  type Switch,
} from "../widgets/switches";
import { scrollToCell } from "../widgets/number_table";
import { diverging } from "../../shared/colors";
import { cutsTable } from "./cuts";
import type { Attention, Nudges, NudgeTarget } from "../data";
import { tint } from "../widgets/heatmap";
import { moduleName } from "../widgets/module_name";
import { NudgeChart } from "./nudge_chart";
import { curveOf, verdictOf } from "./nudge_curve";
import { brief, exact, tabular } from "../../shared/numbers";
import type { NudgeKind } from "../state";
import { tensor } from "../tensor";

const fixed = (value: number) => value.toFixed(3).replaceAll("-", "−");
const plus = (value: number) => (value > 0 ? `+${brief(value)}` : brief(value));

export class NudgeView {
  readonly node: HTMLElement;
  private readonly bar: Toolbar;
  private readonly grid = element("div", { class: "pull-side" });
  private readonly words = element("div", { class: "pull-words", "aria-live": "polite" });
  private readonly slider = element("input", { type: "range", step: 1, "aria-label": "Change" });
  private readonly chart: NudgeChart;
  private readonly pulled: HTMLElement;
  private readonly cuts = element("div", { class: "cuts" });
  private readonly heads: Switch[];
  private readonly operations: Switch;

  constructor(private readonly app: App) {
    const kinds = radioGroup<NudgeKind>(
      "Nudge",
      [
        ["weight", "Weights"],
        ["score", "Scores"],
        ["activation", "Any operation"],
        ["cut", "Ablate a head"],
      ],
      app.state.pull,
      (pull) => app.set({ pull, place: null, stop: null }),
    );
    this.heads = [kindSwitch(app), layerSwitch(app), headSwitch(app)];
    this.operations = menu(
      "Operation",
      () => this.places("activation").map(([index, place]) => [String(index), this.named(place)]),
      () => String(this.chosen() ?? ""),
      (index) => app.set({ place: Number(index), stop: null }),
    );
    const pull = { node: kinds, update: () => setChoice(kinds, app.state.pull) };
    this.bar = new Toolbar([pull, ...this.heads, this.operations, outputSwitch(app, true)]);
    this.chart = new NudgeChart((stop) => this.go(stop));
    this.slider.addEventListener("input", () => this.go(Number(this.slider.value)));
    this.pulled = element("div", { class: "pulled" }, this.words, this.slider, this.chart.picture.node);
    this.node = element(
      "section",
      { class: "view nudge" },
      this.bar.node,
      element("div", { class: "pull" }, this.grid, this.pulled),
      this.cuts,
    );
  }

  update() {
    const { pull } = this.app.state;
    this.bar.update();
    if (pull === "activation") for (const { node } of this.heads) node.hidden = true;
    this.operations.node.hidden = pull !== "activation";
    this.cuts.hidden = pull !== "cut";
    this.pulled.hidden = pull === "cut";
    if (pull === "cut") {
      this.grid.replaceChildren();
      this.cuts.replaceChildren(...cutsTable(this.app));
      return;
    }
    const place = this.chosen();
    if (pull === "activation") this.grid.replaceChildren(...this.about(place));
    else this.grid.replaceChildren(...this.table(pull, place));
    this.bringIntoView();
    this.show(place);
  }

  // Scrolls a wide table, not the page, to the selected element.
  private bringIntoView() {
    const chosen = this.grid.querySelector("[aria-pressed=true]");
    if (chosen) scrollToCell(chosen);
  }

  private get nudges(): Nudges {
    return this.app.data.nudges!;
  }

  private go(stop: number) {
    this.app.set({ place: this.chosen(), stop }, { replace: true });
  }

  // Nudged elements of one kind with their indices; weights and scores of the selected attention and head only.
  private places(kind: NudgeKind): [number, NudgeTarget][] {
    const block = this.app.block();
    const head = this.app.head();
    const all = this.nudges.places.map((place, index): [number, NudgeTarget] => [index, place]);
    return all.filter(([, place]) => {
      if (place.kind !== kind) return false;
      return kind === "activation" || (this.moduleOf(place) === block?.module && place.index[1] === head);
    });
  }

  private moduleOf(place: NudgeTarget): string {
    return this.app.operation(place.node)?.module ?? "";
  }

  // The element in the address if it is of the selected kind, otherwise the one with the largest gradient.
  private chosen(): number | null {
    const { pull, place, output } = this.app.state;
    const all = this.places(pull);
    if (all.some(([index]) => index === place)) return place;
    const size = ([index]: [number, NudgeTarget]) => Math.abs(tensor(this.nudges.gradients).row(index)[output]!);
    return all.reduce<[number, NudgeTarget] | null>((a, b) => (a && size(a) >= size(b) ? a : b), null)?.[0] ?? null;
  }

  private named(place: NudgeTarget): string {
    const node = this.app.operation(place.node);
    if (!node) return "";
    return `${visible(this.app.nameOf(node.module) || "outside any module")} · ${node.operation} #${node.id} [${place.index.join(", ")}]`;
  }

  private tokens(block: Attention): [string[], string[]] {
    const short = (token: string) => shortened(token, 14);
    return [this.app.tokens(block.rows).map(short), this.app.tokens(block.columns).map(short)];
  }

  private table(kind: "weight" | "score", chosen: number | null): HTMLElement[] {
    const { app } = this;
    const block = app.block()!;
    const known = new Map(this.places(kind).map(([index, { index: at }]) => [at.slice(2).join(), index]));
    const gradients = tensor(this.nudges.gradients);
    const slope = (place: number) => gradients.row(place)[app.state.output]!;
    const scale = diverging(Math.max(0, ...[...known.values()].map((place) => Math.abs(slope(place)))));
    const [rows, columns] = this.tokens(block);
    const mask = tensor(block.values.mask);
    const values = tensor(kind === "weight" ? block.values.probabilities : block.values.scores);
    const cell = (row: number, key: number) => {
      const place = known.get(`${row},${key}`);
      if (place === undefined) {
        const hidden = mask?.row(row, app.head())[key] === -Infinity;
        const words = hidden ? "hidden by the mask" : "not stored: its gradient is too small";
        const value = values?.row(row, app.head())[key];
        return element("td", { class: "number muted", title: words }, hidden ? "–" : fixed(value ?? NaN));
      }
      const { value } = this.nudges.places[place]!;
      const name = `${rows[row]!} → ${columns[key]!}`;
      const button = element(
        "button",
        {
          type: "button",
          "data-place": place,
          "data-value": value,
          "aria-pressed": String(place === chosen),
          title: `${name}: ${exact(value)}, gradient ${exact(slope(place))}`,
          "aria-label": `Nudge ${name}, ${brief(value)}`,
        },
        fixed(value),
      );
      tint(button, slope(place), scale);
      button.addEventListener("click", () => app.set({ place, stop: null }));
      return element("td", { class: "number" }, button);
    };
    const head = element("tr", {}, element("th", {}, "query ↓  key →"));
    for (const name of columns) head.append(element("th", { scope: "col", class: "number", dir: "auto" }, name));
    const body = element("tbody");
    rows.forEach((name, row) =>
      body.append(
        element(
          "tr",
          {},
          element("th", { scope: "row", dir: "auto" }, name),
          ...columns.map((_, key) => cell(row, key)),
        ),
      ),
    );
    const all = rows.length * columns.length;
    const missing =
      known.size < all
        ? ` ${known.size} of ${all} elements can be nudged: the unmasked ones with the largest gradients.`
        : "";
    return [
      element(
        "h2",
        { title: block.module },
        `${kind === "weight" ? "Weights" : "Scores"} of ${app.nameOf(block.module)}, head ${app.head()}`,
      ),
      element(
        "div",
        { class: "scroll" },
        element("table", { class: "numbers pull-grid" }, element("thead", {}, head), body),
      ),
      element(
        "p",
        { class: "note muted" },
        `Tint shows the gradient: increasing a blue element raises the output, increasing an orange one lowers it.${missing}`,
      ),
    ];
  }

  private about(chosen: number | null): HTMLElement[] {
    if (chosen === null) return [element("p", { class: "muted" }, "No operation was nudged.")];
    const place = this.nudges.places[chosen]!;
    const node = this.app.operation(place.node)!;
    const link = element(
      "a",
      { href: this.app.address({ ...this.app.state, view: "tape", subject: { node: node.id }, step: null }) },
      "this operation on the tape",
    );
    return [
      element("h2", {}, `${visible(node.operation)} #${node.id}`),
      element("p", { class: "muted" }, moduleName(this.app, node.module)),
      element("p", { class: "formula" }, visible(node.formula.forward ?? "")),
      element(
        "p",
        {},
        `The nudged element is [${place.index.join(", ")}] of its output [${node.outputs[0]!.shape.join(", ")}], the one with the largest gradient: `,
        link,
      ),
    ];
  }

  private show(place: number | null) {
    this.pulled.hidden = place === null;
    if (place === null) return;
    const { output, stop, pull } = this.app.state;
    const curve = curveOf(this.nudges, place, output);
    const at = Math.min(stop ?? curve.changes.length - 2, curve.changes.length - 1);
    this.slider.max = String(curve.changes.length - 1);
    this.slider.value = String(at);
    const { name, value } = this.app.data.outputs[output]!;
    const change = curve.changes[at]!;
    const [predicted, effect] = [curve.gradient * change, curve.effects[at]!];
    this.slider.setAttribute("aria-valuetext", `${plus(change)}: predicted ${plus(predicted)}, true ${plus(effect)}`);
    this.words.replaceChildren(
      element("h2", {}, this.subject(place)),
      figures([
        ["value", curve.value, "value"],
        ["gradient g", curve.gradient, "gradient"],
        ["change Δ", change, "change"],
        ["predicted, g · Δ", predicted, "predicted"],
        [`true change of ${shortened(name, 24)}`, effect, "effect"],
      ]),
      element(
        "p",
        { class: "verdict" },
        change === 0
          ? "Nothing is changed yet."
          : verdictOf(predicted, effect, (this.nudges.dtype === "f32" ? 1e-5 : 1e-10) * Math.abs(value ?? 0)),
      ),
      element(
        "p",
        { class: "note muted" },
        pull === "weight"
          ? "The row's other weights stay fixed, as in a partial derivative, so the row does not sum to 1."
          : "Everything computed from this value changes with it; its inputs stay fixed.",
      ),
    );
    this.chart.show(curve, at, `${this.subject(place)}: ${shortened(name, 24)} as it changes`);
  }

  private subject(place: number): string {
    const { kind, index, node } = this.nudges.places[place]!;
    if (kind === "activation") return `${this.app.operation(node)!.operation} [${index.join(", ")}]`;
    const [rows, columns] = this.tokens(this.app.block()!);
    return `${kind} of ${rows[index[2]!]!} → ${columns[index[3]!]!}`;
  }
}

function figures(lines: [string, number, string][]): HTMLElement {
  const list = element("dl", { class: "steps" });
  for (const [name, value, key] of lines)
    list.append(
      element(
        "div",
        {},
        element("dt", {}, name),
        element("dd", { "data-pull": key, "data-value": value, title: exact(value) }, tabular(value)),
      ),
    );
  return list;
}
