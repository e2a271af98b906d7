// The weights in numbers, next to the lines between tokens.
import { max } from "d3-array";
import type { App } from "../app";
import { shortened } from "../widgets/switches";
import {
  headColor,
  inkOn,
  legend,
  palette,
  sequential,
  diverging,
  type SvgGroup,
  type Scale,
} from "../../shared/colors";
import type { Attention, PackedTensor } from "../data";
import type { HeadLayout } from "./head_layout";
import { brief, powerOfTen } from "../../shared/numbers";
import type { Picture } from "../../shared/picture";
import type { Plane } from "../tensor";

export class HeadNumbers {
  constructor(
    private readonly app: App,
    private readonly picture: Picture,
  ) {}

  // One column per head, one row per key: the weights of the selected query, or each key's sum over all queries.
  draw(area: SvgGroup, block: Attention, place: HeadLayout, planes: Map<number, Plane>, scale: Scale) {
    const { app } = this;
    const { muted } = palette();
    const { chosen } = place;
    const value = (plane: Plane, key: number) =>
      chosen !== null ? plane.at(chosen, key) : place.queries.reduce((sum, query) => sum + plane.at(query, key), 0);
    const all = [...planes].map(([head, plane]) => place.keys.map((key) => ({ head, key, value: value(plane, key) })));
    const size = max(all.flat(), (cell) => Math.abs(cell.value)) ?? 0;
    const summed = app.state.show === "gradients" ? diverging(size) : sequential(size);
    const shades = chosen !== null ? scale : summed;
    const power = app.state.show === "gradients" && size > 0 ? Math.floor(Math.log10(size)) : 0;
    const token = chosen === null ? "" : shortened(app.tokens(block.rows)[chosen]!, 14);
    const what = app.state.show === "gradients" ? "gradients" : "weights";
    const title = chosen === null ? "sum over the queries" : `${what} of “${token}”`;
    const from = chosen === null ? "all queries" : shortened(app.tokens(block.rows)[chosen]!, 20);
    const to = (key: number) => shortened(app.tokens(block.columns)[key]!, 20);
    const words = (head: number, key: number) => `head ${head}, ${from} → ${to(key)}`;
    if (chosen === null) {
      const bottom = place.top + Math.max(place.queries.length, place.keys.length) * place.row + 16;
      legend(area, shades, title, place.cells, bottom, Math.max(110, Math.min(150, all.length * place.cell)));
    }
    const pinned = app.state.show === "values" ? chosen : null;
    const unit = power !== 0 ? `, × ${powerOfTen(power)}` : "";
    area.append("text").attr("x", place.cells).attr("y", 12).attr("fill", muted).text(`${title}${unit}`);
    all.forEach((cells, order) => {
      const x = place.cells + order * place.cell;
      const head = cells[0]?.head ?? 0;
      const label = area
        .append("text")
        .attr("x", x + place.cell / 2)
        .attr("y", place.top - 8)
        .attr("text-anchor", "middle");
      label.attr("fill", muted).text(String(head));
      const swatch = area
        .append("rect")
        .attr("x", x + 1)
        .attr("y", place.top - 5)
        .attr("height", 3);
      swatch.attr("width", place.cell - 2).attr("fill", headColor(head, block.heads));
      cells.forEach((cell, index) =>
        this.drawNumber(
          area,
          words(cell.head, cell.key),
          cell,
          shades,
          power,
          { x, y: place.top + index * place.row, width: place.cell, height: place.row },
          pinned !== null && { packed: block.values.probabilities, index: [cell.head, pinned, cell.key] },
        ),
      );
    });
    area
      .append("text")
      .attr("x", place.cells - 6)
      .attr("y", place.top - 8)
      .attr("text-anchor", "end")
      .attr("fill", muted)
      .text("head");
  }

  private drawNumber(
    area: SvgGroup,
    words: string, // its description
    cell: { head: number; key: number; value: number },
    scale: Scale,
    power: number,
    box: { x: number; y: number; width: number; height: number },
    weight: false | { packed: PackedTensor | null; index: number[] }, // that it can be edited as
  ) {
    const color = scale.color(cell.value);
    const rect = area
      .append("rect")
      .attr("class", "number-cell")
      .attr("x", box.x + 0.5)
      .attr("y", box.y + 0.5);
    rect
      .attr("width", Math.max(1, box.width - 1))
      .attr("height", box.height - 1)
      .attr("fill", color);
    rect.attr("data-head", cell.head).attr("data-key", cell.key).attr("data-value", cell.value);
    rect.on("pointerenter", () => this.picture.showReadout(words, cell.value));
    rect.on("pointerleave", () => this.picture.showReadout(null));
    if (weight) this.app.live?.offer(rect.node(), weight.packed, () => weight.index);
    if (box.width < 34) return;
    const text = area
      .append("text")
      .attr("class", "cell-text")
      .attr("x", box.x + box.width / 2)
      .attr("y", box.y + box.height / 2);
    text.attr("text-anchor", "middle").attr("dominant-baseline", "central").attr("fill", inkOn(color));
    const shown = cell.value / 10 ** power;
    text.text(Number.isFinite(shown) ? shown.toFixed(power === 0 ? 3 : 2).replace("-", "−") : brief(shown));
  }
}
