// What one query gets from its weights: the weighted sum of the value vectors, the joined heads, W_O and the residual sum,
// and the gradients of each.
import { diverging, headColor } from "../../shared/colors";
import { element } from "../../shared/dom";
import { exact } from "../../shared/numbers";
import type { App } from "../app";
import type { Attention } from "../data";
import { tapeLink } from "../tape/links";
import { missing } from "../tape/slices";
import { Plane, type Numbers } from "../tensor";
import { Heatmap, type HeatmapOptions } from "../widgets/heatmap";
import { maxAbs, noGradient, numbersTable, scaleAround, verdict } from "../widgets/number_table";
import { shortened } from "../widgets/switches";
import {
  combine,
  headsSharingValues,
  outputSteps,
  rowOf,
  type Combination,
  type Operand,
  type OutputSteps,
} from "./head_output_data";
import { valuesMissing } from "./relative";

const mostKeys = 16; // keys whose vectors are drawn

type Piece = HTMLElement | string | null | false;

export class HeadOutput {
  readonly node = element("section", { class: "head-output", "aria-label": "The head's output" });
  private heats: Heatmap[] = [];

  constructor(private readonly app: App) {}

  update() {
    const { app } = this;
    const block = app.block()!;
    const [head, query, output] = [app.head(), app.state.row, app.state.output];
    this.heats = [];
    if (query === null) {
      const words = "Click a query to see what it gets from its weights: the head's output and where it goes.";
      this.node.replaceChildren(element("p", { class: "muted" }, words));
      return;
    }
    const token = shortened(app.tokens(block.rows)[query] ?? "", 24);
    const combination = combine(app.data, block, output, head, query);
    const steps = outputSteps(app.data, block.module);
    const of = shortened(app.data.outputs[output]!.name, 24);
    const last = steps?.residual ? 5 : 4;
    this.node.replaceChildren(
      element("h2", { title: block.module }, `From the weights to the block's output: head ${head}, query “${token}”`),
      element(
        "p",
        { class: "muted" },
        `Forward runs from step 1 to step ${last}; backward of ${of} runs from step ${last} to step 1. Hover over a cell for its exact value.`,
      ),
      ...(combination ? this.weighted(block, head, combination) : [none(valuesMissing)]),
      ...(steps ? this.outward(block, head, query, steps) : [none("The tape has no output layer of this attention.")]),
    );
    for (const heat of this.heats) heat.picture.redraw();
  }

  // The weighted value vectors and their sum.
  private weighted(block: Attention, head: number, all: Combination): HTMLElement[] {
    const { weights, values, products, sum, recorded, arriving, dots, recordedDots } = all;
    const names = this.app.tokens(block.columns).map((token) => shortened(token, 10));
    const seen = Array.from(values.keys()).filter((key) => !all.hidden[key]);
    const largest = [...seen].sort((a, b) => weights[b]! - weights[a]!).slice(0, mostKeys);
    const keys = seen.filter((key) => largest.includes(key));
    const scale = () => diverging(maxAbs(...values, sum));
    const v = block.relative ? "(v + b)" : "v";
    const vectors = (id: string, title: string, rows: Numbers[], label: (key: number) => string) =>
      this.heat({
        id,
        title,
        plane: planeOf(keys.map((key) => rows[key]!)),
        rows: keys.map(label),
        scale,
        describe: (row, d) => {
          const key = keys[row]!;
          const factors = `${exact(weights[key]!)} × ${exact(values[key]![d]!)} =`;
          return rows === products ? factors : `${names[key]}, ${v}[${d}]`;
        },
      });
    const shared = headsSharingValues(block, head);
    const notes = [
      shared.length > 1 && `Heads ${shared.join(", ")} share these value vectors (grouped-query attention).`,
      block.relative && "b is the row of the position table for the distance from the query to the key.",
      all.dropped && "The weights are those after dropout.",
      seen.length < values.length && "Keys that the mask hides are left out.",
      keys.length < seen.length && `Drawn: the ${mostKeys} keys with the largest weights of ${seen.length}.`,
    ].filter((note) => typeof note === "string");
    const terms = maxAbs(...products);
    return [
      pair(
        1,
        [
          `Each key's value vector is multiplied by the key's weight.`,
          ...notes.map((note) => element("p", { class: "note muted" }, note)),
          element(
            "div",
            { class: "triple" },
            vectors("head-values", `value vectors ${v}`, values, (key) => names[key]!),
            vectors("head-products", `weight × ${v}`, products, (key) => `${weights[key]!.toFixed(3)} ${names[key]!}`),
          ),
        ],
        dots && recordedDots && arriving
          ? [
              `The gradient of a weight is the dot product of dz with that key's value vector: the same number that this view shows as the weight's gradient.`,
              element("div", { class: "scroll tall" }, weightTable(names, seen, all, v)),
              verdict(dots, recordedDots, maxAbs(...values) * maxAbs(arriving)),
            ]
          : [noGradient],
      ),
      pair(
        2,
        [
          "The sum of these products is z, the head's output.",
          this.strip("head-sum", "head's output z", sum, "z", scale),
          verdict(sum, recorded, terms, "value"),
        ],
        arriving && ["dz, the gradient of z, arrives.", this.strip("head-arriving", "dz", arriving, "dz")],
      ),
    ];
  }

  // From the joined heads to the residual sum.
  private outward(block: Attention, head: number, query: number, steps: OutputSteps): HTMLElement[] {
    const { app } = this;
    const { joined, projected, weight, residual } = steps;
    const width = joined.output.shape.at(-1)! / block.heads;
    const parts = Array.from({ length: block.heads }, (_, one) => ({
      name: `head ${one}`,
      columns: width,
      color: headColor(one, block.heads),
      chosen: one === head,
      click: () => app.set({ heads: [one] }),
    }));
    const part = (d: number) => `head ${Math.floor(d / width)}, z[${d % width}]`;
    const added = residual ? residual.beside.map((one) => app.nameOf(one)).join(", ") : "";
    const after = added ? `, after ${added},` : "";
    const pairs = [
      pair(
        3,
        [
          `The outputs of all ${block.heads} heads are joined to one vector.`,
          this.row("joined", "joined heads", joined, query, { parts, describe: (_, d) => part(d) }),
        ],
        this.back(
          "Each head gets its part of this gradient.",
          this.gradient("joined", "gradient of the joined heads", joined, query, {
            parts,
            describe: (_, d) => `gradient of ${part(d)}`,
          }),
        ),
      ),
      pair(
        4,
        [
          "The matrix W_O mixes the heads to the output of attention.",
          this.row("projected", "W_O × joined heads + bias", projected, query),
          weight !== null && element("p", { class: "note" }, tapeLink(app, "W_O and its gradient", { leaf: weight })),
        ],
        this.back(
          "Multiplied by the transposed W_O, this gradient becomes that of the joined heads.",
          this.gradient("projected", "gradient of attention's output", projected, query),
        ),
      ),
    ];
    if (residual)
      pairs.push(
        pair(
          5,
          [
            `The residual connection adds it${after} to the vector that entered, the residual stream.`,
            this.sum(residual, query),
          ],
          this.back(
            "A sum passes its gradient unchanged to both of its terms.",
            this.gradient("residual", "gradient of the sum", residual.sum, query),
          ),
        ),
      );
    return pairs;
  }

  private back(words: string, piece: Piece): Piece[] | null {
    return piece ? [words, piece] : null;
  }

  // The residual sum: the stream, what is added, and the result.
  private sum({ stream, added, sum }: NonNullable<OutputSteps["residual"]>, query: number): Piece {
    const rows = [stream, added, sum].map(({ output }) => rowOf(output.value, query));
    const names = ["stream", "+ attention", "= sum"];
    if (!rows.every((row) => row !== null)) return this.row("residual", "sum", sum, query);
    const least = Math.min(...rows.map(({ length }) => length));
    return this.heat(
      {
        id: "head-residual",
        title: "residual sum",
        plane: planeOf(rows.map((row) => row.slice(0, least))),
        rows: names,
        scale: () => scaleAround(...rows),
        missing: { rows: false, columns: least < sum.output.shape.at(-1)! },
        describe: (row, d) => `${["stream", "attention", "sum"][row]}[${d}]`,
      },
      sum,
    );
  }

  // The query's row of an operation's output, or why the page does not have it.
  private row(id: string, title: string, of: Operand, query: number, more: Partial<HeatmapOptions> = {}): Piece {
    return this.stored(id, title, of, of.output.value, query, more);
  }

  private gradient(id: string, title: string, of: Operand, query: number, more: Partial<HeatmapOptions> = {}): Piece {
    const packed = of.output.gradients[this.app.state.output];
    return packed ? this.stored(`${id}-gradient`, title, of, packed, query, more) : null;
  }

  private stored(
    id: string,
    title: string,
    of: Operand,
    packed: Operand["output"]["value"],
    query: number,
    more: Partial<HeatmapOptions>,
  ): Piece {
    if (!packed) return none("The page does not store this vector.");
    const values = rowOf(packed, query);
    const words = missing(packed, of.node.module);
    const note = words && element("p", { class: "note muted missing" }, words);
    if (!values) return element("div", {}, element("p", { class: "muted" }, `${title}: this row is not stored.`), note);
    const cut = values.length < of.output.shape.at(-1)!;
    const describe = (_: number, d: number) => `${title}[${d}]`;
    const hatched = cut ? { missing: { rows: false, columns: true }, parts: [] } : {};
    const scale = () => scaleAround(values);
    const heat = this.heat(
      { id: `head-${id}`, title, plane: planeOf([values]), scale, describe, ...more, ...hatched },
      of,
    );
    return element("div", {}, heat, cut && note);
  }

  private strip(id: string, title: string, values: Numbers, name: string, scale = () => scaleAround(values)) {
    return this.heat({ id, title, plane: planeOf([values]), scale, describe: (_, d) => `${name}[${d}]` });
  }

  private heat(options: HeatmapOptions, of?: Operand): HTMLElement {
    const heat = new Heatmap({ hint: "", ...options });
    this.heats.push(heat);
    const link = of && tapeLink(this.app, "on the tape", { node: of.node.id });
    return element("div", { class: "heat" }, heat.picture.node, link && element("p", { class: "note" }, link));
  }
}

const planeOf = (rows: Numbers[]) => {
  const columns = rows[0]?.length ?? 0;
  return new Plane(rows.length, columns, Float64Array.from(rows.flatMap((row) => Array.from(row))));
};

// A step in both directions; the first piece of each is its sentence.
function pair(step: number, forward: Piece[], backward: Piece[] | null): HTMLElement {
  const way = (name: string, [words, ...pieces]: Piece[]) =>
    element(
      "div",
      { class: "way" },
      element("p", {}, element("strong", {}, `${name} ${step}. `), words ?? ""),
      ...pieces,
    );
  return element(
    "div",
    { class: "both-ways", "data-step": step },
    way("Forward", forward),
    backward && way("Backward", backward),
  );
}

const none = (words: string) => element("p", { class: "muted" }, words);

// The gradient of each weight, computed and recorded.
function weightTable(
  names: string[],
  keys: number[],
  { weights, dots, recordedDots }: Combination,
  v: string,
): HTMLElement {
  const of = (all: Numbers) => keys.map((key) => all[key]!);
  const scale = scaleAround(dots!, recordedDots!);
  return numbersTable(
    "key",
    keys.map((key) => names[key]!),
    [
      { name: "weight", key: "weight", values: of(weights) },
      { name: `dz · ${v}`, key: "dot", values: of(dots!), scale },
      { name: "recorded", key: "recorded", values: of(recordedDots!), scale },
    ],
    {},
  );
}
