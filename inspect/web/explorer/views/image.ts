// An image read as a sequence of tokens: the class token, then one token per patch.
import { element } from "../../shared/dom";
import type { App } from "../app";
import { palette, sequential, diverging, type SvgGroup } from "../../shared/colors";
import type { Attention, Image, Text } from "../data";
import { Heatmap } from "../widgets/heatmap";
import { shownHeads } from "./heads";
import { Picture } from "../../shared/picture";
import { Plane, tensor } from "../tensor";

interface Decoded {
  bytes: string;
  pictures: Map<string, string>; // data URLs by position and size
}
const decoded = new WeakMap<Image, Decoded>();

// A rectangle of pixels as a data URL.
function pictureOf(image: Image, top: number, left: number, rows: number, columns: number): string {
  const { bytes, pictures } = decoded.get(image) ?? { bytes: atob(image.pixels), pictures: new Map<string, string>() };
  decoded.set(image, { bytes, pictures });
  const key = [top, left, rows, columns].join();
  const known = pictures.get(key);
  if (known !== undefined) return known;
  const { channels, height, width } = image;
  const canvas = element("canvas", {});
  [canvas.width, canvas.height] = [columns, rows];
  const area = canvas.getContext("2d")!;
  const colors = area.createImageData(columns, rows);
  for (let row = 0; row < rows; ++row)
    for (let column = 0; column < columns; ++column) {
      const place = (top + row) * width + left + column;
      const channel = (which: number) => bytes.charCodeAt((channels < 3 ? 0 : which) * height * width + place);
      colors.data.set([channel(0), channel(1), channel(2), 255], 4 * (row * columns + column));
    }
  area.putImageData(colors, 0, 0);
  const address = canvas.toDataURL();
  pictures.set(key, address);
  return address;
}

// Row and column of a token's patch, null for the class token.
function placeOf(image: Image, token: number): [number, number] | null {
  return token === 0 ? null : [Math.floor((token - 1) / image.columns), (token - 1) % image.columns];
}

function append(area: SvgGroup, address: string, box: Record<"x" | "y" | "width" | "height", number>) {
  const made = area.append("image").attr("href", address).attr("preserveAspectRatio", "none");
  made.style("image-rendering", "pixelated");
  for (const [name, value] of Object.entries(box)) made.attr(name, value);
  return made;
}

// Width of the patches next to their tokens.
export const patchRoom = (text: Text | undefined, row: number) => (text?.image ? Math.min(row - 3, 24) + 5 : 0);

// Draws a token's patch next to it.
export function drawPatch(
  area: SvgGroup,
  text: Text | undefined,
  token: number,
  x: number,
  middle: number,
  size: number,
) {
  const image = text?.image;
  const place = image && placeOf(image, token);
  if (!image || !place) return;
  const [high, wide] = [image.height / image.rows, image.width / image.columns];
  const address = pictureOf(image, place[0] * high, place[1] * wide, high, wide);
  const made = append(area, address, { x, y: middle - size / 2, width: size, height: size });
  made.attr("class", "patch").attr("data-token", token);
}

const side = 208; // size of a picture in pixels

// The image, the attention of a query over it, and the gradient of its pixels.
export class ImageLook {
  readonly node = element("div", { class: "triple image-look" });
  private readonly picture: Picture;
  private readonly where = element("div", {});
  private readonly pixels = element("div", {});
  private query = 0;
  private shown = "";

  constructor(private readonly app: App) {
    this.picture = new Picture({
      id: "image-picture",
      label: "The image and its patches",
      compact: true,
      draw: (area, width) => this.draw(area, width),
    });
    this.picture.setTitle("The image");
    this.node.append(this.picture.node, this.where, this.pixels);
  }

  private image(block: Attention): Image | undefined {
    return this.app.data.texts[block.columns]?.image;
  }

  update(block: Attention, query: number) {
    const image = this.image(block);
    this.node.hidden = !image;
    if (!image) return;
    this.query = query;
    const { show, output, look, heads } = this.app.state;
    const wanted = [block.module, query, show, output, heads.join(","), look].join(" ");
    if (wanted === this.shown) return;
    this.shown = wanted;
    this.picture.redraw();
    this.where.replaceChildren(...this.weights(block, image, query));
    this.pixels.replaceChildren(...this.gradient(image));
  }

  // Mean weight of the shown heads, patch by patch.
  private weights(block: Attention, image: Image, query: number): HTMLElement[] {
    const { show, output } = this.app.state;
    const packed = show === "gradients" ? block.gradients[output]?.probabilities : block.values.probabilities;
    if (!packed) return [];
    const weights = tensor(packed);
    const heads = shownHeads(this.app);
    const mean = new Float64Array(image.rows * image.columns + 1);
    for (const head of heads) weights.row(query, head).forEach((weight, key) => (mean[key]! += weight / heads.length));
    const plane = new Plane(image.rows, image.columns, mean.subarray(1));
    const name = this.app.tokens(block.rows)[query]!;
    const what = show === "gradients" ? "gradient of the weight" : "weight";
    const heat = new Heatmap({
      id: "image-weights",
      title: `Attention of ${name}; to the class token: ${mean[0]!.toPrecision(3)}`,
      plane,
      scale: () => (show === "gradients" ? diverging(plane.maxAbs()) : sequential(plane.maxAbs())),
      rows: Array.from({ length: image.rows }, (_, row) => String(row)),
      columns: Array.from({ length: image.columns }, (_, column) => String(column)),
      unit: what,
      cell: Math.max(4, Math.floor(side / Math.max(image.rows, image.columns))),
    });
    return [heat.picture.node];
  }

  // Gradient of the selected output, summed over the channels; nothing if it is not stored in full.
  private gradient(image: Image): HTMLElement[] {
    const { data, state } = this.app;
    const leaf = data.tape.leaves.find(({ name }) => name === "pixels");
    const sent = tensor(leaf?.gradients[state.output]);
    if (!sent || sent.truncated) return [];
    const { channels, height, width } = image;
    const sums = new Float64Array(height * width);
    sent.values.forEach((value, place) => (sums[place % sums.length]! += value));
    const plane = new Plane(height, width, sums);
    const heat = new Heatmap({
      id: "image-gradient",
      title: `Effect of each pixel: d ${data.outputs[state.output]!.name} / d pixel`,
      plane,
      scale: () => diverging(plane.maxAbs()),
      unit: channels > 1 ? "gradient, sum over channels" : "gradient",
      cell: Math.max(1, Math.floor(side / Math.max(height, width))),
    });
    return [heat.picture.node];
  }

  private draw(area: SvgGroup, width: number): number {
    const image = this.image(this.app.block()!);
    if (!image) return 1;
    const scale = Math.min(side, width - 2) / Math.max(image.height, image.width);
    const [wide, high] = [image.width * scale, image.height * scale];
    append(area, pictureOf(image, 0, 0, image.height, image.width), { x: 1, y: 1, width: wide, height: high });
    const { line, second } = palette();
    const box = (x: number, y: number, w: number, h: number, color: string, stroke: number) =>
      area
        .append("rect")
        .attr("x", 1 + x)
        .attr("y", 1 + y)
        .attr("width", w)
        .attr("height", h)
        .attr("fill", "none")
        .attr("stroke", color)
        .attr("stroke-width", stroke);
    const [w, h] = [wide / image.columns, high / image.rows];
    for (let row = 0; row < image.rows; ++row)
      for (let column = 0; column < image.columns; ++column) box(column * w, row * h, w, h, line, 0.5);
    const asking = placeOf(image, this.query);
    if (asking) box(asking[1] * w, asking[0] * h, w, h, second, 2.5).attr("class", "asking");
    return high + 4;
  }
}
