// One query and its keys, vector by vector: elementwise product, dot product, mask, softmax; or the gradients of the
// scores flowing back into them.
import { element } from "../../shared/dom";
import { legend, palette, sequential, diverging, type SvgGroup, type Scale } from "../../shared/colors";
import type { App } from "../app";
import { noGradient } from "../widgets/number_table";
import {
  attentionKeys,
  Toolbar,
  headSwitch,
  kindSwitch,
  layerSwitch,
  outputSwitch,
  rowSwitch,
  shortened,
  showSwitch,
} from "../widgets/switches";
import type { PackedTensor } from "../data";
import { cellAt, drawCells } from "../widgets/heatmap";
import { brief, exact } from "../../shared/numbers";
import { backward, forward, type NumberColumn, type Strip, type Table } from "./neuron_table";
import { Picture } from "../../shared/picture";
import { Plane, tensor, type Numbers } from "../tensor";

const tops = { below: 64, first: 28 }; // top of the rows: below the query's row, or at the top
const narrow = 640; // pixels; strips and numbers are stacked below this width

export class NeuronView {
  readonly node: HTMLElement;
  private readonly bar: Toolbar;
  private readonly picture: Picture;
  private rowHeight = 24;
  private label = 132; // right end of the names
  private top = tops.below;

  constructor(private readonly app: App) {
    this.bar = new Toolbar([
      kindSwitch(app),
      layerSwitch(app),
      headSwitch(app),
      rowSwitch(
        app,
        "Query",
        () => app.tokens(app.block()?.rows ?? 0),
        () => app.query(),
      ),
      showSwitch(app, "Values"),
      outputSwitch(app, false),
    ]);
    this.picture = new Picture({
      id: "neuron-picture",
      minWidth: 330,
      label:
        "Query and key vectors. Up and down arrows select a query, left and right a head, page up and down a layer.",
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
    this.picture.setTitle(
      `${app.nameOf(block.module)}, head ${app.head()}: query ${this.row()} “${token}”`,
      block.module,
    );
    this.picture.setHint("hover over a number; ↑ ↓ query, ← → head, PgUp PgDn block");
    this.picture.redraw();
  }

  private row(): number {
    return this.app.query();
  }

  private draw(area: SvgGroup, width: number): number {
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
      area.append("text").attr("y", 20).attr("fill", palette().muted).text(noGradient);
      return 40;
    }
    this.rowHeight = Math.max(18, Math.min(30, Math.round(500 / (keys + (table.sum ? 2 : 0)))));
    this.label = width < narrow ? 100 : 132;
    return width < narrow ? this.drawBelow(area, table, width, tokens) : this.drawBeside(area, table, width, tokens);
  }

  private drawBeside(area: SvgGroup, table: Table, width: number, tokens: string[]): number {
    const { label } = this;
    const numbers = table.figures.reduce((sum, { bar }) => sum + (bar ? 150 : 78), 0);
    const strip = Math.max(90, (width - label - numbers - 32) / 2);
    this.top = tops.below;
    this.drawTokens(area, tokens, table.strips.find(({ top }) => top)?.topText);
    table.strips.forEach((column, index) =>
      this.drawColumn(area, column, label + index * (strip + 16), strip, tokens, index === 1 ? table.sum : null),
    );
    let x = label + 2 * (strip + 16);
    for (const figures of table.figures) {
      this.drawFigures(area, figures, x + (figures.bar ? 62 : 70), tokens, true);
      x += figures.bar ? 150 : 78;
    }
    return this.bottom(tokens, table.sum) + 50;
  }

  // Stacked, each part with its own names, for narrow screens.
  private drawBelow(area: SvgGroup, table: Table, width: number, tokens: string[]): number {
    const { label } = this;
    let y = 0;
    const part = () => area.append("g").attr("transform", `translate(0,${y})`);
    table.strips.forEach((column, index) => {
      const sum = index === 1 ? table.sum : null;
      this.top = column.top ? tops.below : tops.first;
      const group = part();
      this.drawTokens(group, tokens, column.top ? column.topText : undefined);
      this.drawColumn(group, column, label, width - label - 2, tokens, sum);
      y += this.bottom(tokens, sum) + 66;
    });
    this.top = tops.first;
    const group = part();
    this.drawTokens(group, tokens);
    const wide = (width - label) / table.figures.length;
    table.figures.forEach((figures, index) =>
      this.drawFigures(group, figures, label + (index + 1) * wide, tokens, false),
    );
    return y + this.bottom(tokens, null) + 8;
  }

  // Bottom of the rows, including those of a sum.
  private bottom(tokens: string[], sum: Table["sum"]): number {
    return this.top + (tokens.length + (sum ? 2 : 0)) * this.rowHeight;
  }

  // A column of strips with its legend and, if given, the sum of its rows.
  private drawColumn(area: SvgGroup, column: Strip, x: number, width: number, tokens: string[], sum: Table["sum"]) {
    const flat = [...column.values, ...(column.top ? [column.top] : [])].flatMap((values) => Array.from(values));
    const scale = diverging(new Plane(1, flat.length, flat).maxAbs());
    this.drawStrip(area, column, scale, x, width, tokens);
    legend(area, scale, column.name, x, this.bottom(tokens, sum) + 18, Math.min(150, width));
    if (sum) this.drawSum(area, sum, scale, x, width, this.top + (tokens.length + 0.5) * this.rowHeight);
  }

  // query: name of the vector above those of the keys, if any.
  private drawTokens(area: SvgGroup, tokens: string[], query?: string) {
    const { ink, muted } = palette();
    const { label } = this;
    const most = Math.floor((label - 12) / 7.5);
    const block = this.app.block()!;
    const text = (y: number, words: string, fill: string) =>
      area
        .append("text")
        .attr("x", label - 12)
        .attr("y", y)
        .attr("text-anchor", "end")
        .attr("fill", fill)
        .text(words);
    if (query !== undefined) {
      const token = shortened(this.app.tokens(block.rows)[this.row()] ?? "", most - 3);
      text(this.top - 20, `${query}  ${token}`, ink).attr("font-weight", 600);
    }
    tokens.forEach((token, index) => text(this.top + (index + 0.5) * this.rowHeight + 4, shortened(token, most), ink));
    if (tokens.length === 0) text(this.top, "no keys", muted);
  }

  private drawStrip(area: SvgGroup, column: Strip, scale: Scale, x: number, width: number, tokens: string[]) {
    const { muted } = palette();
    area.append("text").attr("x", x).attr("y", 12).attr("fill", muted).text(column.name);
    const block = this.app.block()!;
    const { query, key: keys } = block.values;
    const head = this.app.head();
    const one = (
      values: Numbers,
      y: number,
      words: (d: number) => string,
      name: string,
      vector: PackedTensor | null | false, // whose row it shows
      row: number,
    ) => {
      const plane = new Plane(1, values.length, values);
      drawCells(area, plane, scale, x, y + 3, width, this.rowHeight - 6);
      const cover = area
        .append("rect")
        .attr("class", "screen cover strip")
        .attr("x", x)
        .attr("y", y + 3);
      cover
        .attr("width", width)
        .attr("height", this.rowHeight - 6)
        .attr("data-strip", name);
      const at = (event: PointerEvent) => cellAt(event, plane, cover.node()!)[1];
      cover.on("pointermove", (event: PointerEvent) => this.picture.showReadout(words(at(event)), values[at(event)]));
      cover.on("pointerleave", () => this.picture.showReadout(null));
      if (vector) this.app.live?.offer(cover.node(), vector, (event) => (event ? [head, row, at(event)] : null));
    };
    if (column.top) {
      const vector = column.topText === "q" && query;
      one(column.top, this.top - 36, (d) => `${column.topText}[${d}]`, column.topText, vector, this.row());
    }
    const q = tensor(query)?.row(this.row(), head);
    column.values.forEach((values, key) => {
      const k = tensor(keys)?.row(key, head);
      const terms = (d: number) => (column.text === "q·k" ? `: ${exact(q![d]!)} × ${exact(k![d]!)} =` : "");
      const words = (d: number) => `${column.text}[${d}] of ${shortened(tokens[key] ?? "", 14)}${terms(d)}`;
      const vector = column.text === "k" && keys;
      one(values, this.top + key * this.rowHeight, words, `${column.text} ${key}`, vector, key);
    });
  }

  private drawFigures(area: SvgGroup, figures: NumberColumn, right: number, tokens: string[], bars: boolean) {
    const { ink, muted } = palette();
    const { name, title, values, bar } = figures;
    area.append("text").attr("x", right).attr("y", 12).attr("text-anchor", "end").attr("fill", muted).text(name);
    values.forEach((value, key) => {
      const y = this.top + (key + 0.5) * this.rowHeight;
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
      text.on("pointerenter", () => this.picture.showReadout(`${title}, ${shortened(tokens[key] ?? "", 14)}:`, value));
      text.on("pointerleave", () => this.picture.showReadout(null));
      const { scores, probabilities } = this.app.block()!.values;
      const edited = name.startsWith("×") ? scores : name === "softmax" ? probabilities : null;
      this.app.live?.offer(text.node(), edited, () => [this.app.head(), this.row(), key]);
      if (!bar || !bars) return;
      const box = area
        .append("rect")
        .attr("x", right + 8)
        .attr("y", y - 7)
        .attr("height", 14)
        .attr("rx", 2);
      box.attr("width", Math.max(1, 76 * value || 0)).attr("fill", sequential(1).color(0.6));
    });
  }

  private drawSum(area: SvgGroup, sum: NonNullable<Table["sum"]>, scale: Scale, x: number, width: number, y: number) {
    const { muted, line } = palette();
    area
      .append("line")
      .attr("x1", x)
      .attr("x2", x + width)
      .attr("y1", y - 3)
      .attr("y2", y - 3)
      .attr("stroke", line);
    drawCells(area, new Plane(1, sum.values.length, sum.values), scale, x, y + 3, width, this.rowHeight - 6);
    const text = area
      .append("text")
      .attr("x", x - 10)
      .attr("y", y + 16)
      .attr("text-anchor", "end")
      .attr("fill", muted);
    text.text(sum.name);
    const off = Math.max(...sum.values.map((value, d) => Math.abs(value - sum.recorded[d]!)));
    const below = this.label < 132; // no room to the right
    const note = area
      .append("text")
      .attr("class", "difference")
      .attr("x", below ? x : x + width + 12)
      .attr("y", below ? y + this.rowHeight + 10 : y + 16)
      .attr("fill", muted);
    note.attr("data-value", off).text(`max error ${off.toExponential(1)}`);
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
      this.picture.showReadout(`dq[${d}], recorded ${exact(sum.recorded[d]!)}, summed`, sum.values[d]);
    });
    cover.on("pointerleave", () => this.picture.showReadout(null));
  }
}
