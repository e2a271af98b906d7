// Draws the tape's graph: operations, leaves, folded modules, frames of unfolded ones, and the wires between them.
import { curveBasis, line } from "d3-shape";
import { element, visible } from "../../shared/dom";
import { shortened } from "../widgets/switches";
import type { SvgGroup } from "../../shared/colors";
import type { Data, PackedTensor, TapeNode } from "../data";
import { gradientFigure, valueFigure } from "./figures";
import { isItem, type Group, type Groups, type Item } from "./groups";
import type { Box, Wire } from "./layout";
import { shapeText } from "../../shared/numbers";

const path = line<{ x: number; y: number }>()
  .x(({ x }) => x)
  .y(({ y }) => y)
  .curve(curveBasis);

const text = element("canvas").getContext("2d")!;
function widthOf(words: string, font: string): number {
  text.font = font;
  return text.measureText(words).width;
}
const fonts = {
  name: "500 13px system-ui, sans-serif",
  small: "11px system-ui, sans-serif",
  frame: "12px system-ui, sans-serif",
};

export class Drawing {
  constructor(
    private readonly data: Data,
    private readonly groups: Groups,
    private readonly output: () => number, // the output whose gradients are shown
    private readonly groupName: (group: Group) => string,
  ) {}

  readonly size = (of: Item | Group) => {
    const [name, ...small] = this.words(of);
    const wide = Math.max(widthOf(name, fonts.name), ...small.map((line) => widthOf(line, fonts.small)));
    return { width: Math.max(46, Math.ceil(wide) + 22), height: 24 + 14 * small.length };
  };

  // The name and the smaller lines below it.
  words(of: Item | Group): [string, ...string[]] {
    const { tape } = this.data;
    if (!isItem(of)) {
      const count = this.groups.count(of);
      return [
        `▸ ${visible(this.groupName(of))}`,
        count > 0 ? `${count} operation${count === 1 ? "" : "s"}` : "parameters",
      ];
    }
    if (of.kind === "leaf") {
      const leaf = tape.leaves[of.index]!;
      const name = leaf.kind === "parameter" ? leaf.name.split(".").at(-1)! : leaf.name;
      return [visible(name), shapeText(leaf.shape), figures(leaf, this.output())];
    }
    const node = tape.nodes[of.index]!;
    const shapes = node.outputs.map(({ shape }) => shapeText(shape)).join(" ");
    const where = node.module === "" && node.line !== "" ? [visible(node.line)] : [];
    return [this.name(node), shapes, figures(node.outputs[0], this.output()), ...this.tokens(node), ...where];
  }

  // Outputs are labeled with their name as well as their operation.
  private name(node: TapeNode): string {
    const { tape, outputs } = this.data;
    const root = outputs[tape.roots.indexOf(node.id)];
    return root ? `${shortened(root.name, 28)} = ${visible(node.operation)}` : visible(node.operation);
  }

  // The tokens that an embedding looks up.
  private tokens(node: TapeNode): string[] {
    const axis = node.operation === "embedding" ? node.outputs[0]?.axes?.find((one) => one !== null) : null;
    const text = axis && typeof axis === "object" ? this.data.texts[axis.text] : undefined;
    if (!text) return [];
    const words = Array.from(visible(text.tokens.join(" ")));
    return [`${text.name}: ${words.length > 28 ? `${words.slice(0, 27).join("")}…` : words.join("")}`];
  }

  frame(area: SvgGroup, frame: Box, fold: (group: Group) => void) {
    const group = frame.of as Group;
    const made = area.append("g").attr("class", "frame").attr("data-key", frame.key);
    const [left, top] = [frame.x - frame.width / 2, frame.y - frame.height / 2];
    made
      .append("rect")
      .attr("x", left)
      .attr("y", top)
      .attr("width", frame.width)
      .attr("height", frame.height)
      .attr("rx", 7);
    const label = made
      .append("text")
      .attr("x", left + 9)
      .attr("y", top + 16)
      .text(this.fitting(`▾ ${visible(this.groupName(group))}`, frame.width - 14));
    label.append("title").text(`Fold ${group.path}`);
    label.on("click", () => fold(group));
  }

  private fitting(words: string, width: number): string {
    let letters = Array.from(words);
    while (letters.length > 3 && widthOf(letters.join(""), fonts.frame) > width)
      letters = [...letters.slice(0, -2), "…"];
    return letters.join("");
  }

  box(area: SvgGroup, box: Box, choose: (of: Item | Group) => void) {
    const { tape } = this.data;
    const of = box.of;
    const node = isItem(of) && of.kind === "node" ? tape.nodes[of.index]! : null;
    const guilty = isItem(of) ? Boolean(node?.guilty) : this.guilty(of);
    const kind = isItem(of) ? of.kind : "folded";
    const made = area
      .append("g")
      .attr("class", `box ${kind}${guilty ? " guilty" : ""}`)
      .attr("data-key", box.key);
    if (node) made.attr("data-node", node.id);
    made.attr("transform", `translate(${box.x - box.width / 2},${box.y - box.height / 2})`);
    const rx = kind === "leaf" ? box.height / 2 : 5;
    made.append("rect").attr("width", box.width).attr("height", box.height).attr("rx", rx);
    const [name, ...small] = this.words(of);
    made
      .append("text")
      .attr("class", "name")
      .attr("x", box.width / 2)
      .attr("y", 16)
      .text(name);
    small.forEach((line, index) =>
      made
        .append("text")
        .attr("class", index === 1 ? "small figures" : "small")
        .attr("x", box.width / 2)
        .attr("y", 30 + 14 * index)
        .text(line),
    );
    made
      .append("text")
      .attr("class", "mark")
      .attr("x", box.width - 4)
      .attr("y", 4)
      .text(guilty ? "✗" : "");
    made.append("title").text(this.title(of));
    made.on("click", () => choose(of));
  }

  private guilty(group: Group): boolean {
    const { tape } = this.data;
    return (
      group.items.some(({ kind, index }) => kind === "node" && tape.nodes[index]!.guilty) ||
      group.groups.some((inner) => this.guilty(inner))
    );
  }

  private title(of: Item | Group): string {
    const { tape } = this.data;
    if (!isItem(of)) return `Unfold ${of.path}`;
    if (of.kind === "leaf") return tape.leaves[of.index]!.name;
    const { id, module, line } = tape.nodes[of.index]!;
    return [`#${id}`, module, line].filter(Boolean).join(" ");
  }
}

// A summary of value and gradient.
function figures(
  of: { value: PackedTensor | null; gradients: (PackedTensor | null)[] } | undefined,
  output: number,
): string {
  return [valueFigure(of?.value), gradientFigure(of?.gradients[output])].filter(Boolean).join(" · ");
}

export function arrowheads(area: SvgGroup) {
  const defs = area.append("defs");
  for (const name of ["arrow", "arrow-now", "arrow-back"]) {
    const marker = defs.append("marker").attr("id", name).attr("class", name).attr("viewBox", "0 0 8 8");
    marker
      .attr("refX", 7)
      .attr("refY", 4)
      .attr("markerWidth", 7)
      .attr("markerHeight", 7)
      .attr("orient", "auto-start-reverse");
    marker.append("path").attr("d", "M0 0.8L7.4 4L0 7.2z");
  }
}

export function drawWire(parent: SvgGroup, { points, links }: Wire): SVGPathElement {
  const made = parent.append("path").attr("class", "wire").attr("d", path(points));
  made.attr("marker-end", "url(#arrow)");
  if (links.length > 1) made.append("title").text(`${links.length} tensors`);
  return made.node()!;
}
