// How one query weighs the keys, in its vectors: elementwise product, dot product, mask, softmax; or how the gradients
// of the scores go back into them.
import { element } from "../shared/dom";
import { legend, palette, rising, signed, type Area, type Scale } from "./colours";
import type { App } from "./app";
import {
  attentionKeys,
  Bar,
  headSwitch,
  kindSwitch,
  layerSwitch,
  outputSwitch,
  rowSwitch,
  shortened,
  showSwitch,
} from "./bar";
import { field } from "./heat";
import { brief, exact } from "./numbers";
import { backward, forward, type Figures, type Strip, type Table } from "./neuron_table";
import { Picture } from "./picture";
import { Plane, tensor } from "./tensor";

const [top, label] = [64, 132];

export class NeuronView {
  readonly node: HTMLElement;
  private readonly bar: Bar;
  private readonly picture: Picture;
  private rowHeight = 24;

  constructor(private readonly app: App) {
    this.bar = new Bar([
      kindSwitch(app),
      layerSwitch(app),
      headSwitch(app),
      rowSwitch(app, "Query", () => app.tokens(app.block()?.rows ?? 0)),
      showSwitch(app, "Values"),
      outputSwitch(app, false),
    ]);
    this.picture = new Picture({
      id: "neuron-picture",
      least: 640,
      scrolls: true,
      label:
        "Query and keys in their vectors. Arrow up and down choose a query, left and right a head, page up and down a layer.",
      draw: (area, width) => this.draw(area, width),
      key: (event) => attentionKeys(app, event),
    });
    this.node = element("section", { class: "view" }, this.bar.node, this.picture.node);
  }

  update() {
    this.bar.update();
    const { app } = this;
    const block = app.block()!;
    const token = shortened(app.tokens(block.rows)[this.row()] ?? "", 20);
    this.picture.entitle(`${block.module}, head ${app.head()}: query ${this.row()} “${token}”`);
    this.picture.suggest("point at a number; ↑ ↓ query, ← → head, PgUp PgDn layer");
    this.picture.redraw();
  }

  private row(): number {
    return this.app.state.row ?? 0;
  }

  private draw(area: Area, width: number): number {
    const { app } = this;
    const block = app.block()!;
    const { show, output } = app.state;
    const tokens = app.tokens(block.columns);
    const keys = tokens.length;
    const table =
      show === "values"
        ? forward(block, app.head(), this.row(), keys)
        : backward(block, output, app.head(), this.row(), keys);
    if (!table) {
      area.append("text").attr("y", 20).attr("fill", palette().muted).text("No gradient of this output arrives here.");
      return 40;
    }
    const numbers = table.figures.reduce((sum, { bar }) => sum + (bar ? 150 : 78), 0);
    const strip = Math.max(90, (width - label - numbers - 32) / 2);
    const rows = keys + (table.sum ? 2 : 0);
    const rowHeight = Math.max(18, Math.min(30, Math.round(500 / rows)));
    this.rowHeight = rowHeight;
    const height = top + rows * rowHeight + 50;
    this.drawTokens(area, tokens, table);
    const scales = table.strips.map((column, index) => {
      const flat = [...column.values, ...(column.top ? [column.top] : [])].flatMap((values) => Array.from(values));
      const scale = signed(new Plane(1, flat.length, flat).size());
      this.drawStrip(area, column, scale, label + index * (strip + 16), strip, tokens);
      legend(area, scale, column.name, label + index * (strip + 16), height - 32, Math.min(150, strip));
      return scale;
    });
    this.drawFigures(area, table.figures, label + 2 * (strip + 16), tokens);
    if (table.sum) this.drawSum(area, table.sum, scales[1]!, label + strip + 16, strip, top + (keys + 0.5) * rowHeight);
    return height;
  }

  private drawTokens(area: Area, tokens: string[], table: Table) {
    const { ink, muted } = palette();
    const block = this.app.block()!;
    const text = (y: number, words: string, fill: string) =>
      area
        .append("text")
        .attr("x", label - 12)
        .attr("y", y)
        .attr("text-anchor", "end")
        .attr("fill", fill)
        .text(words);
    const query = shortened(this.app.tokens(block.rows)[this.row()] ?? "", 12);
    text(top - 20, `${table.strips.find((column) => column.top)?.topText ?? "q"}  ${query}`, ink).attr(
      "font-weight",
      600,
    );
    tokens.forEach((token, index) => text(top + (index + 0.5) * this.rowHeight + 4, shortened(token, 14), ink));
    if (tokens.length === 0) text(top, "no keys", muted);
  }

  private drawStrip(area: Area, column: Strip, scale: Scale, x: number, width: number, tokens: string[]) {
    const { muted } = palette();
    area.append("text").attr("x", x).attr("y", 12).attr("fill", muted).text(column.name);
    const one = (values: ArrayLike<number>, y: number, words: (d: number) => string, name: string) => {
      const plane = new Plane(1, values.length, values);
      field(area, plane, scale, x, y + 3, width, this.rowHeight - 6);
      const cover = area
        .append("rect")
        .attr("class", "screen cover strip")
        .attr("x", x)
        .attr("y", y + 3);
      cover
        .attr("width", width)
        .attr("height", this.rowHeight - 6)
        .attr("data-strip", name);
      cover.on("pointermove", (event: PointerEvent) => {
        const box = cover.node()!.getBoundingClientRect();
        const d = Math.max(
          0,
          Math.min(values.length - 1, Math.floor(((event.clientX - box.left) / box.width) * values.length)),
        );
        this.picture.read(words(d), values[d]!);
      });
      cover.on("pointerleave", () => this.picture.read(null));
    };
    if (column.top) one(column.top, top - 36, (d) => `${column.topText}[${d}]`, column.topText);
    const block = this.app.block()!;
    const q = tensor(block.values.query)?.row(this.row(), this.app.head());
    column.values.forEach((values, key) => {
      const k = tensor(block.values.key)?.row(key, this.app.head());
      const terms = (d: number) => (column.text === "q·k" ? `: ${exact(q![d]!)} × ${exact(k![d]!)} =` : "");
      const words = (d: number) => `${column.text}[${d}] of ${shortened(tokens[key] ?? "", 14)}${terms(d)}`;
      one(values, top + key * this.rowHeight, words, `${column.text} ${key}`);
    });
  }

  private drawFigures(area: Area, figures: Figures[], from: number, tokens: string[]) {
    const { ink, muted } = palette();
    let x = from;
    for (const { name, title, values, bar } of figures) {
      const right = x + (bar ? 62 : 70);
      area.append("text").attr("x", right).attr("y", 12).attr("text-anchor", "end").attr("fill", muted).text(name);
      values.forEach((value, key) => {
        const y = top + (key + 0.5) * this.rowHeight;
        const text = area
          .append("text")
          .attr("class", "figure-text")
          .attr("x", right)
          .attr("y", y + 4);
        text.attr("text-anchor", "end").attr("fill", ink).text(brief(value));
        text
          .attr("data-figure", name.startsWith("×") ? "score" : name)
          .attr("data-key", key)
          .attr("data-value", value);
        text.on("pointerenter", () => this.picture.read(`${title}, ${shortened(tokens[key] ?? "", 14)}:`, value));
        text.on("pointerleave", () => this.picture.read(null));
        if (!bar) return;
        const scale = rising(1);
        const length = Math.max(0, 76 * value) || 0;
        const box = area
          .append("rect")
          .attr("x", right + 8)
          .attr("y", y - 7)
          .attr("height", 14)
          .attr("rx", 2);
        box.attr("width", Math.max(1, length)).attr("fill", scale.colour(0.6));
      });
      x += bar ? 150 : 78;
    }
  }

  private drawSum(area: Area, sum: NonNullable<Table["sum"]>, scale: Scale, x: number, width: number, y: number) {
    const { muted, line } = palette();
    area
      .append("line")
      .attr("x1", x)
      .attr("x2", x + width)
      .attr("y1", y - 3)
      .attr("y2", y - 3)
      .attr("stroke", line);
    field(area, new Plane(1, sum.values.length, sum.values), scale, x, y + 3, width, this.rowHeight - 6);
    const text = area
      .append("text")
      .attr("x", x - 10)
      .attr("y", y + 16)
      .attr("text-anchor", "end")
      .attr("fill", muted);
    text.text(sum.name);
    const off = Math.max(...sum.values.map((value, d) => Math.abs(value - sum.recorded[d]!)));
    const note = area
      .append("text")
      .attr("class", "difference")
      .attr("x", x + width + 12)
      .attr("y", y + 16)
      .attr("fill", muted);
    note.attr("data-value", off).text(`recorded within ${off.toExponential(1)}`);
    const cover = area.append("rect").attr("class", "screen cover strip").attr("data-strip", "sum");
    cover
      .attr("x", x)
      .attr("y", y + 3)
      .attr("width", width)
      .attr("height", this.rowHeight - 6);
    cover.on("pointermove", (event: PointerEvent) => {
      const box = cover.node()!.getBoundingClientRect();
      const d = Math.max(
        0,
        Math.min(sum.values.length - 1, Math.floor(((event.clientX - box.left) / box.width) * sum.values.length)),
      );
      this.picture.read(`dq[${d}], recorded ${exact(sum.recorded[d]!)}, summed`, sum.values[d]!);
    });
    cover.on("pointerleave", () => this.picture.read(null));
  }
}
