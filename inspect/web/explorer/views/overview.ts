// The model's architecture with the page's text flowing through it, from the tokens at the top to the loss. Each part opens
// its view; colors show the size of its output or of its gradient.
import { radioGroup, setChoice, element, visible } from "../../shared/dom";
import { inkOn, legend, palette, sequential, type SvgGroup, type Scale } from "../../shared/colors";
import { brief } from "../../shared/numbers";
import { Picture } from "../../shared/picture";
import type { App } from "../app";
import { capital, within, type Part, type Stack, type Step } from "../architecture";
import type { State } from "../state";
import { rootMeanSquare } from "../tensor";
import { lettersWide } from "../widgets/letters";
import { Toolbar, outputSwitch, shortened } from "../widgets/switches";
import { positionOf, smoothingNotes } from "./output";

const gap = 12; // between a box and the next
const capitals = (text: string) => text.match(/\p{Lu}/gu)?.length ?? 0; // up to half a letter wider than the others
const narrow = 560; // pixels

// A column of the picture. Columns after the first are mirrored so that cross-attention faces the encoder.
interface Column {
  area: SvgGroup;
  flows: SvgGroup;
  x: number;
  width: number;
  stream: number; // x of the residual stream
  mirrored: boolean;
}

interface Box {
  x: number;
  y: number;
  width: number;
}

interface Chip {
  words: string;
  fill: string;
  title: string;
}

function put(parent: SvgGroup, tag: string, attributes: Record<string, string | number>, words?: string): SvgGroup {
  const made = parent.append<SVGGElement>(tag);
  for (const [name, value] of Object.entries(attributes)) made.attr(name, value);
  if (words !== undefined) made.text(words);
  return made;
}

// What tokenizers write for a space.
function spaceNotes(app: App): HTMLElement[] {
  const all = app.data.texts.flatMap(({ tokens }) => tokens);
  const signs = ["▁", "Ġ"].filter((sign) => all.some((token) => token.startsWith(sign)));
  return signs.map((sign) => element("p", { class: "muted spaces" }, `“${sign}” in a token is a space.`));
}

export class OverviewView {
  readonly node: HTMLElement;
  private readonly bar: Toolbar;
  private readonly picture: Picture;
  private scale: Scale = sequential(0);
  private high = 26; // of a box; larger on a phone, for fingers
  private readonly sizes = new Map<number, number | null>(); // of the parts being drawn, by operation

  constructor(private readonly app: App) {
    const colors = radioGroup<"values" | "gradients">(
      "Color",
      [
        ["values", "Forward norm"],
        ["gradients", "Gradient norm"],
      ],
      app.state.show,
      (show) => app.set({ show }, { replace: true }),
    );
    const update = () => setChoice(colors, app.state.show);
    this.bar = new Toolbar([{ node: colors, update }, outputSwitch(app, false)]);
    this.picture = new Picture({
      id: "overview-picture",
      label: "The model's architecture. Tab moves from part to part, Enter opens the view of a part.",
      draw: (area, width) => this.draw(area, width),
    });
    const notes = [...spaceNotes(app), ...smoothingNotes(app)];
    this.node = element("section", { class: "view" }, this.bar.node, this.picture.node, ...notes);
  }

  update() {
    this.bar.update();
    const { model } = this.app.data;
    const blocks = this.app.architecture.stacks.map((stack) => stack.blocks.length);
    const last = blocks.at(-1);
    this.picture.setTitle(`${visible(model.class)}: ${blocks.join(" + ")} block${last === 1 ? "" : "s"}`);
    this.picture.setHint("hover over a part for its size; click or Enter opens it");
    this.picture.redraw();
  }

  // What the colors show.
  private measured(): string {
    const { show, output } = this.app.state;
    return show === "gradients" ? `gradient of ${shortened(this.app.data.outputs[output]!.name, 24)}` : "output";
  }

  // Root mean square of a part's output, or of its gradient; null if the page does not store it in full.
  private size({ node }: Part): number | null {
    const known = this.sizes.get(node);
    if (known !== undefined) return known;
    const { show, output } = this.app.state;
    const made = this.app.operation(node)?.outputs[0];
    const size = rootMeanSquare(show === "gradients" ? made?.gradients[output] : made?.value);
    this.sizes.set(node, size);
    return size;
  }

  private draw(area: SvgGroup, width: number): number {
    this.sizes.clear();
    const { stacks } = this.app.architecture;
    const sizes = stacks
      .flatMap(({ before, blocks, after }) => [before, ...blocks.map(({ steps }) => steps), after])
      .flat()
      .flatMap(({ through, branch, sum }) => [through, ...branch, sum])
      .filter((part) => part !== null && part.kind !== "embedding") // often much larger than all others
      .flatMap((part) => this.size(part!) ?? []);
    this.scale = sequential(Math.max(0, ...sizes.filter(Number.isFinite)));
    this.high = width < narrow ? 40 : 26;
    const between = width < narrow ? 20 : 72;
    const most = width < narrow ? width : 440;
    const wide = Math.min(most, (width - between * (stacks.length - 1)) / stacks.length);
    const box = { viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 6, markerHeight: 6 };
    put(put(area, "marker", { id: "overview-arrow", ...box, orient: "auto" }), "path", { d: "M0 0.8L7.4 4L0 7.2z" });
    const flows = put(area, "g", { fill: "none", stroke: palette().muted });
    let bottom = 0;
    let memory = 0; // y at which the first column ends
    stacks.forEach((stack, index) => {
      const [x, mirrored] = [index * (wide + between), index > 0];
      const column = { area, flows, x, width: wide, stream: mirrored ? x + wide - 12 : x + 12, mirrored };
      const end = this.drawStack(column, stack, index === stacks.length - 1, memory);
      memory ||= end;
      bottom = Math.max(bottom, end);
    });
    const of = this.app.state.show === "gradients" ? this.measured() : "each part's output";
    legend(area, this.scale, `root mean square of ${of}`, 0, bottom + 14);
    return bottom + 46;
  }

  // Returns the y at which the column ends. memory: y at which the encoder's ends.
  private drawStack(column: Column, stack: Stack, last: boolean, memory: number): number {
    const { area, flows, x, width, stream, mirrored } = column;
    const { muted, line, panel } = palette();
    const text = this.app.data.texts[stack.text];
    const [start, end] = mirrored ? ["end", "start"] : ["start", "end"];
    const [near, far] = mirrored ? [x + width, x + 8] : [x, x + width - 8];
    const heading = text ? `${stack.name || "The model"} reads the ${text.name}` : stack.name;
    put(area, "text", { x: near, y: 11, "text-anchor": start, fill: muted }, heading);
    const tokens = text?.image ? [`${text.tokens.length} image tokens`] : (text?.tokens ?? []);
    this.drawChips(
      column,
      tokens.map((words) => ({ words, fill: panel, title: words })),
      18,
    )
      .attr("class", "chips")
      .attr("data-text", stack.text); // the tour points at it
    let y = 50;
    const step = (one: Step) => {
      const box = this.drawStep(column, one, y);
      if (memory > 0 && one.branch.some(({ label }) => label === "cross-attention")) {
        const bus = x - (width < 240 ? 9 : 30);
        const d = `M${x - (width < 240 ? 20 : 72) - width / 2} ${memory}v8H${bus}V${y + this.high / 2}H${box.x - 1}`;
        this.flow(flows, d).attr("class", "memory");
      }
      y += this.high + gap + (one.branch.length > 0 ? 9 : 0);
    };
    stack.before.forEach(step);
    for (const block of stack.blocks) {
      const title = put(area, "text", { x: far, y: y + 10, "text-anchor": end, fill: muted }, block.name);
      put(title.attr("class", "small-text"), "title", {}, block.module);
      const from = y - 3;
      y += 16;
      block.steps.forEach(step);
      const frame = { x, y: from, width, height: y - from - 5, rx: 6, stroke: line, fill: "none" };
      put(flows, "rect", { class: "block-frame", "data-block": block.module, ...frame });
      y += 3;
    }
    stack.after.forEach(step);
    const bottom = last ? this.drawEnd(column, y) : y - gap;
    put(flows, "path", { d: `M${stream} 38V${last ? y : bottom}` });
    return bottom;
  }

  private flow(flows: SvgGroup, d: string): SvgGroup {
    return put(flows, "path", { d, "marker-end": "url(#overview-arrow)" });
  }

  // A part on the stream, or a branch that leaves it and is added to it. Returns the last box.
  private drawStep({ area, flows, x, width, stream, mirrored }: Column, step: Step, y: number): Box {
    const { through, branch, sum } = step;
    const at = (left: number, wide: number) => (mirrored ? x + width - left - wide : x + left);
    if (through) {
      const inset = through.label === "norm" ? 5 : 0;
      return this.drawPart(area, through, { x: at(inset, width - 2 * inset), y, width: width - 2 * inset });
    }
    const small = width < 240 ? 36 : 64; // width of a norm
    let left = width < 240 ? 30 : 34;
    let last = { x: 0, y, width: 0 };
    const middle = y + this.high / 2;
    const main = width - left - 6 - (branch.length - 1) * (small + 14);
    branch.forEach((part, index) => {
      const wide = branch.length > 1 && part.kind === "norm" ? small : Math.max(small, main);
      last = this.drawPart(area, part, { x: at(left, wide), y, width: wide });
      const from = index === 0 ? stream : at(left - 14, 0);
      if (part.kind !== "embedding") this.flow(flows, `M${from} ${middle}H${at(left - 1, 0)}`);
      left += wide + 14;
    });
    const bottom = y + this.high + 9;
    if (branch.length > 0) this.flow(flows, `M${last.x + last.width / 2} ${y + this.high}V${bottom}H${at(20, 0)}`);
    if (sum) this.drawSum(area, sum, stream, bottom);
    return last;
  }

  private drawPart(area: SvgGroup, part: Part, box: Box): Box {
    const { x, y, width } = box;
    const made = put(area, "g", {});
    const size = this.size(part);
    const fill = size === null ? palette().paper : this.scale.color(size);
    put(made, "rect", { ...box, height: this.high, rx: 5, fill });
    const text = (at: number, anchor: string, words: string) =>
      put(made, "text", { x: at, y: y + this.high / 2 + 4, "text-anchor": anchor, fill: inkOn(fill) }, words);
    const label = capital(part.label);
    const number = size === null ? "" : brief(size);
    if (number !== "" && 7 * (label.length + number.length) + 30 < width) {
      text(x + 10, "start", label);
      text(x + width - 10, "end", number);
    } else {
      const words = text(x + width / 2, "middle", shortened(label, Math.floor(width / 5.7)));
      if (label.length * 9 > width - 4) words.attr("class", "tight");
    }
    this.link(made, part);
    return box;
  }

  private drawSum(area: SvgGroup, part: Part, x: number, y: number) {
    const made = put(area, "g", {});
    const size = this.size(part);
    const fill = size === null ? palette().paper : this.scale.color(size);
    put(made, "circle", { cx: x, cy: y, r: 8, fill });
    put(made, "path", { d: `M${x - 4} ${y}h8M${x} ${y - 4}v8`, stroke: inkOn(fill) });
    this.link(made, part);
  }

  // Makes an element open the view of a part.
  private link(made: SvgGroup, part: Part, words?: string) {
    const name = this.app.architecture.blockNameOf(part.module);
    const whole = name === null ? capital(part.label) : part.kind === "sum" ? `${name}, ${part.label}` : name;
    const size = this.size(part);
    const what = this.measured();
    const facts =
      words ??
      (size === null
        ? `no color, because the page does not store its ${what} in full`
        : `root mean square of its ${what}: ${brief(size)}`);
    const label = `${whole}: ${facts}`;
    made.attr("class", `part ${part.kind} ${size === null ? "unknown" : ""}`);
    const data = { "data-module": part.module, "data-node": part.node, "data-value": size ?? "" };
    for (const [key, value] of Object.entries({ tabindex: 0, role: "link", "aria-label": label, ...data }))
      made.attr(key, value);
    put(made, "title", {}, [label, part.module].filter(Boolean).join("\n"));
    const open = () => this.app.set(this.target(part));
    const show = () => this.picture.showReadout(label);
    const hide = () => this.picture.showReadout(null);
    made.on("pointerenter", show).on("focus", show).on("pointerleave", hide).on("blur", hide).on("click", open);
    made.on("keydown", (event: KeyboardEvent) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      open();
    });
  }

  // The view of a part.
  private target({ kind, module, node }: Part): Partial<State> {
    const { app } = this;
    const { attention, activations } = app.data;
    const inside = (one: { module: string }) => within(one.module, module);
    const block = kind === "attention" && attention.find(inside);
    if (block) return { view: "head", block: block.module, heads: [], row: null, ...app.opening([block]) };
    const layer = kind === "feed-forward" && activations.find(inside);
    if (layer) return { view: "activation", layer: layer.module, row: null };
    const norm = kind === "norm" && app.norms().find((one) => one.module === module);
    if (norm) return { view: "layernorm", norm: norm.module, row: null };
    if (kind === "output" && app.hasView("output")) return { view: "output", row: null };
    return { view: "tape", subject: { node }, step: null };
  }

  // Tokens side by side, as many as there is room for.
  private drawChips({ area, x, width, mirrored }: Column, all: Chip[], y: number): SvgGroup {
    const made = put(area, "g", {});
    const names = all.map(({ words }) => shortened(words, 16));
    const wide = (index: number) => Math.max(18, 7 * (lettersWide(names[index]!) + capitals(names[index]!) / 2) + 8);
    let [count, used] = [0, 0];
    while (count < all.length && used + wide(count) <= width - (count < all.length - 1 ? 34 : 0))
      used += wide(count++) + 3;
    const rest = all.length > count ? `+${all.length - count}` : "";
    let left = mirrored ? x + width - used - (rest ? 30 : -3) : x;
    all.slice(0, count).forEach(({ fill, title }, index) => {
      const chip = put(made, "g", {});
      put(chip, "rect", { x: left, y, width: wide(index), height: 20, rx: 4, fill });
      const place = { x: left + wide(index) / 2, y: y + 14, "text-anchor": "middle", fill: inkOn(fill) };
      put(chip, "text", place, names[index]);
      put(chip, "title", {}, visible(title));
      left += wide(index) + 3;
    });
    put(made, "text", { x: left, y: y + 14, fill: palette().muted }, rest);
    return made;
  }

  // The likeliest tokens at each position and the loss. Returns the y below them.
  private drawEnd(column: Column, y: number): number {
    const { app } = this;
    const { area, x, width, stream, mirrored } = column;
    const { panel, ink, muted } = palette();
    const prediction = app.prediction();
    let end = y;
    if (prediction) {
      const chips = prediction.targets.map((_, row) => {
        const { names, p } = positionOf(prediction, row);
        const [words, fill] = [names[0]!, sequential(1).color(p[0]!)];
        return { words, fill, title: `${words}: probability ${brief(p[0]!)}` };
      });
      const label = `likeliest ${prediction.classes}${prediction.targets.length > 1 ? "s" : ""}`;
      const [at, anchor] = mirrored ? [stream - 10, "end"] : [stream + 10, "start"];
      const place = { x: at, y: end + 2, "text-anchor": anchor, fill: muted };
      put(area, "text", place, `softmax: ${label}`).attr("class", "small-text");
      const made = this.drawChips(column, chips, end + 8);
      const words = chips.map((chip) => chip.title).join("; ");
      this.link(made, { kind: "output", label, module: "", node: prediction.node }, words);
      end += 28 + gap;
    }
    const { name, value } = app.data.outputs[app.state.output]!;
    const made = put(area, "g", {});
    put(made, "rect", { x, y: end, width, height: this.high, rx: 13, fill: panel });
    const label = `${shortened(name, 30)} ${brief(value ?? NaN)}`;
    put(made, "text", { x: x + width / 2, y: end + this.high / 2 + 4, "text-anchor": "middle", fill: ink }, label);
    const root = app.data.tape.roots[app.state.output]!;
    this.link(made, { kind: "other", label, module: "", node: root }, "opens the tape, where backward begins");
    return end + this.high;
  }
}
