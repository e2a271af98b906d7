// All layers and heads of one kind of attention.
import { max } from "d3-array";
import { radioGroup, element, visible } from "../../shared/dom";
import { legend, palette, sequential, diverging, type SvgGroup } from "../../shared/colors";
import type { App } from "../app";
import { Toolbar, kindSwitch, outputSwitch, shortened, showSwitch } from "../widgets/switches";
import type { Attention } from "../data";
import { cellAt, drawCells } from "../widgets/heatmap";
import { Picture } from "../../shared/picture";
import { Plane, tensor } from "../tensor";

const most = 48; // cells per side of a thumbnail

// Reduces a larger matrix: each cell shows the largest value of its block.
function thumbnail(plane: Plane): Plane {
  const by = Math.ceil(Math.max(plane.rows, plane.columns) / most);
  if (by === 1) return plane;
  const [rows, columns] = [Math.ceil(plane.rows / by), Math.ceil(plane.columns / by)];
  const values = new Float32Array(rows * columns);
  for (let i = 0; i < plane.rows; ++i)
    for (let j = 0; j < plane.columns; ++j) {
      const at = Math.floor(i / by) * columns + Math.floor(j / by);
      if (Math.abs(plane.at(i, j)) > Math.abs(values[at]!)) values[at] = plane.at(i, j);
    }
  return new Plane(rows, columns, values);
}

export class ModelView {
  readonly node: HTMLElement;
  private readonly bar: Toolbar;
  private readonly picture: Picture;
  private each = false; // whether each head has its own scale
  private cursor: [number, number] = [0, 0]; // layer and head of the keyboard cursor

  constructor(private readonly app: App) {
    const scales = radioGroup<"one" | "each">(
      "Scale",
      [
        ["one", "Shared"],
        ["each", "Per head"],
      ],
      "one",
      (chosen) => {
        this.each = chosen === "each";
        this.picture.redraw();
      },
    );
    this.bar = new Toolbar([
      kindSwitch(app),
      showSwitch(app, "Probabilities"),
      outputSwitch(app, false),
      { node: scales },
    ]);
    this.picture = new Picture({
      id: "model-picture",
      minWidth: 420,
      label: "All layers and heads. Arrow keys select one, Enter opens it.",
      draw: (area, width) => this.draw(area, width),
      key: (event) => this.key(event),
    });
    this.picture.plot.addEventListener("focus", () => this.mark());
    this.node = element("section", { class: "view" }, this.bar.node, this.picture.node);
  }

  private layers(): Attention[] {
    return this.app.data.attention.filter(({ kind }) => kind === this.app.block()?.kind);
  }

  update() {
    this.bar.update();
    const { show, output } = this.app.state;
    const what = show === "gradients" ? `gradients of ${this.app.data.outputs[output]!.name}` : "probabilities";
    this.cursor = [this.layers().indexOf(this.app.block()!), Math.min(this.app.head(), this.app.block()!.heads - 1)];
    this.picture.setTitle(`All heads of ${this.app.block()!.kind}-attention: ${visible(what)}`);
    this.picture.setHint("hover over a cell for its value; click or Enter opens the head");
    this.picture.redraw();
  }

  private weights(block: Attention) {
    const { show, output } = this.app.state;
    return tensor(show === "gradients" ? block.gradients[output]?.probabilities : block.values.probabilities);
  }

  private draw(area: SvgGroup, width: number): number {
    const layers = this.layers();
    const { muted } = palette();
    const { show } = this.app.state;
    const heads = max(layers, (block) => block.heads) ?? 1;
    const [left, top, gap] = [58, 40, 8];
    const side = Math.max(12, Math.min((width - left) / heads - gap, Math.max(96, 500 / layers.length)));
    const tallest = Math.max(...layers.map((block) => this.app.tokens(block.rows).length));
    const widest = Math.max(...layers.map((block) => this.app.tokens(block.columns).length));
    const [wide, high] = [side * Math.min(1, widest / tallest), side * Math.min(1, tallest / widest)];
    const title = (x: number, y: number, anchor: string, text: string) =>
      area.append("text").attr("x", x).attr("y", y).attr("text-anchor", anchor).attr("fill", muted).text(text);
    title(left, 12, "start", "each map: queries in rows, keys in columns");
    for (let head = 0; head < heads; ++head)
      title(
        left + head * (wide + gap) + wide / 2,
        top - 8,
        "middle",
        heads * (wide + gap) > 46 * heads ? `head ${head}` : `${head}`,
      );
    const size = max(layers, (block) => this.sizeOf(block)) ?? 0;
    const scale = (own: number) =>
      show === "gradients" ? diverging(this.each ? own : size) : sequential(this.each ? own : size);
    layers.forEach((block, row) => {
      const y = top + row * (high + gap);
      title(left - 10, y + high / 2 + 4, "end", `block ${block.layer + 1}`);
      const weights = this.weights(block);
      for (let head = 0; head < block.heads; ++head) {
        const x = left + head * (wide + gap);
        const plane = weights?.plane(head) ?? new Plane(1, 1, [NaN]);
        drawCells(area, thumbnail(plane), scale(plane.maxAbs()), x, y, wide, high);
        this.cover(area, block, head, plane, { x, y, wide, high });
      }
    });
    const bottom = top + layers.length * (high + gap) + 8;
    const what = show === "gradients" ? "gradient of the probability" : "probability";
    if (this.each) title(left, bottom + 12, "start", `${what}: each map relative to its own largest value`);
    else legend(area, scale(0), what, left, bottom);
    const by = Math.ceil(Math.max(tallest, widest) / most);
    if (by > 1) title(left + 190, bottom + 18, "start", `a cell shows the largest of ${by} × ${by}`);
    return bottom + 34;
  }

  private sizeOf(block: Attention): number {
    const weights = this.weights(block);
    return weights ? new Plane(1, weights.values.length, weights.values).maxAbs() : 0;
  }

  private cover(
    area: SvgGroup,
    block: Attention,
    head: number,
    plane: Plane,
    box: { x: number; y: number; wide: number; high: number },
  ) {
    const { app } = this;
    const cover = area.append("rect").attr("class", "screen cover thumbnail").attr("x", box.x).attr("y", box.y);
    cover.attr("width", box.wide).attr("height", box.high).attr("role", "img");
    cover.attr("data-block", block.module).attr("data-head", head).attr("data-layer", block.layer);
    cover.attr("aria-label", `block ${block.layer + 1}, head ${head}`);
    cover.on("pointermove", (event: PointerEvent) => {
      const [row, column] = cellAt(event, plane, cover.node()!);
      const [query, key] = [app.tokens(block.rows)[row] ?? "", app.tokens(block.columns)[column] ?? ""];
      const words = `block ${block.layer + 1}, head ${head}, ${shortened(query, 16)} → ${shortened(key, 16)}`;
      this.picture.showReadout(words, plane.at(row, column));
    });
    cover.on("pointerleave", () => this.picture.showReadout(null));
    cover.on("click", () => this.open(block, head));
  }

  private open(block: Attention, head: number) {
    this.app.set({ view: "head", block: block.module, heads: [head] });
  }

  private mark() {
    const [layer, head] = this.cursor;
    const covers = [...this.picture.svg.querySelectorAll<SVGElement>(".thumbnail")];
    const block = this.layers()[layer];
    if (!block) return;
    for (const cover of covers)
      cover.classList.toggle("current", cover.dataset.block === block.module && cover.dataset.head === String(head));
    this.picture.showReadout(`block ${block.layer + 1}, head ${head}: Enter opens it`);
  }

  private key(event: KeyboardEvent): boolean {
    const layers = this.layers();
    const [layer, head] = this.cursor;
    const heads = layers[layer]?.heads ?? 1;
    const moves: Record<string, [number, number]> = {
      ArrowUp: [Math.max(0, layer - 1), head],
      ArrowDown: [Math.min(layers.length - 1, layer + 1), head],
      ArrowLeft: [layer, Math.max(0, head - 1)],
      ArrowRight: [layer, Math.min(heads - 1, head + 1)],
    };
    if (event.key === "Enter" || event.key === " ") return (this.open(layers[layer]!, head), true);
    const move = moves[event.key];
    if (!move) return false;
    this.cursor = move;
    this.mark();
    return true;
  }
}
