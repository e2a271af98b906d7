// Lines between tokens: what the queries of one attention attend to, by head.
import { linkHorizontal } from "d3-shape";
import { element, visible } from "../../shared/dom";
import { integer } from "../../shared/format";
import { headColor, legend, palette, sequential, diverging, type SvgGroup, type Scale } from "../../shared/colors";
import type { App } from "../app";
import { noGradient } from "../widgets/number_table";
import {
  attentionKeys,
  Toolbar,
  kindSwitch,
  layerSwitch,
  outputSwitch,
  shortened,
  showSwitch,
} from "../widgets/switches";
import type { Attention } from "../data";
import { finding } from "./finding";
import { headLayout, narrow, type HeadLayout } from "./head_layout";
import { HeadNumbers } from "./head_numbers";
import { HeadOutput } from "./head_output";
import { filterSwitch, leastSwitch, sentenceBands, shownHeads, Swatches } from "./heads";
import { drawPatch, ImageLook, patchRoom } from "./image";
import { Picture } from "../../shared/picture";
import { Plane, tensor } from "../tensor";

const curve = linkHorizontal<[[number, number], [number, number]], [number, number]>()
  .source(([from]) => from)
  .target(([, to]) => to);

const mostLines = 3000;

interface Line {
  head: number;
  order: number; // of the head among the shown ones
  from: number; // index of the query among the shown ones
  to: number;
  value: number;
  share: number; // of the largest weight
}

export class HeadView {
  readonly node: HTMLElement;
  private readonly bar: Toolbar;
  private readonly picture: Picture;
  private readonly look: ImageLook;
  private readonly output: HeadOutput;
  private readonly finding = element("p", { class: "finding" });
  private pointed: number | null = null;

  constructor(private readonly app: App) {
    this.bar = new Toolbar([
      kindSwitch(app),
      layerSwitch(app),
      new Swatches(app),
      filterSwitch(app),
      leastSwitch(app),
      showSwitch(app, "Probabilities"),
      outputSwitch(app, false),
    ]);
    this.picture = new Picture({
      id: "head-picture",
      minWidth: 460,
      label:
        "Attention between tokens. Up and down arrows select a query, left and right a head, page up and down a layer.",
      draw: (area, width) => this.draw(area, width),
      key: (event) => attentionKeys(app, event),
    });
    this.picture.plot.addEventListener("pointerleave", () => this.point(null));
    this.look = new ImageLook(app);
    this.output = new HeadOutput(app);
    const parts = [this.bar.node, this.finding, this.picture.node, this.look.node, this.output.node];
    this.node = element("section", { class: "view" }, ...parts);
  }

  update() {
    this.pointed = null;
    this.bar.update();
    const block = this.app.block()!;
    const { show, output, heads } = this.app.state;
    const which = heads.length === 0 ? "all heads" : `head${heads.length > 1 ? "s" : ""} ${heads.join(", ")}`;
    const what = show === "gradients" ? `gradient of ${this.app.data.outputs[output]!.name}` : "probabilities";
    this.picture.setTitle(`${this.app.nameOf(block.module)}, ${which}: ${visible(what)}`, block.module);
    this.picture.setHint("hover or click a query; ↑ ↓ query, ← → head, PgUp PgDn block");
    this.redraw();
    this.output.update();
  }

  private redraw() {
    this.picture.redraw();
    this.look.update(this.app.block()!, this.pointed ?? this.app.state.row ?? 0);
  }

  private draw(area: SvgGroup, width: number): number {
    const { app } = this;
    const block = app.block()!;
    const { show, output } = app.state;
    const place = headLayout(app, block, width, this.pointed ?? app.state.row);
    const packed = show === "gradients" ? block.gradients[output]?.probabilities : block.values.probabilities;
    const height = place.top + Math.max(place.queries.length, place.keys.length) * place.row + 48;
    if (!packed) {
      this.finding.textContent = "";
      area.append("text").attr("y", 20).attr("fill", palette().muted).text(noGradient);
      return 40;
    }
    const weights = tensor(packed);
    const heads = shownHeads(app);
    const planes = new Map(heads.map((head) => [head, weights.plane(head)]));
    const size = new Plane(1, weights.values.length, weights.values).maxAbs();
    const scale = show === "gradients" ? diverging(size) : sequential(size);
    const values = tensor(block.values.probabilities);
    const names = [app.tokens(block.rows), app.tokens(block.columns)] as [string[], string[]];
    const of = show === "gradients" ? app.data.outputs[output]!.name : null;
    this.finding.textContent = finding(
      planes,
      (head) => values?.plane(head) ?? planes.get(head)!,
      place.chosen,
      names,
      of,
    );
    const lines = this.drawLines(area, block, place, planes, scale);
    sentenceBands(area, app.data.texts[block.rows], place.queries, { x: place.left - 6, ...place });
    sentenceBands(area, app.data.texts[block.columns], place.keys, { x: place.right + 3, ...place });
    this.drawTokens(area, block, place);
    new HeadNumbers(app, this.picture).draw(area, block, place, planes, scale);
    const what = show === "gradients" ? "gradient of the probability" : "probability";
    legend(area, scale, what, 0, height - 32);
    const notes = width < narrow ? lines.split(/, (?=at least |opacity )|; (?=the )/) : [lines];
    notes.forEach((words, line) => {
      const note = area
        .append("text")
        .attr("x", 0)
        .attr("y", height + 12 + 16 * line);
      note.attr("fill", palette().muted).text(words);
    });
    return height + 6 + 16 * notes.length;
  }

  // A line for every visible weight, or for the strongest if there are too many. Masked weights have none: a gradient
  // arrives there too, but the probability stays 0.
  private lines(
    block: Attention,
    place: HeadLayout,
    planes: Map<number, Plane>,
    high: number,
  ): { all: number; hidden: number; kept: Line[] } {
    const found: Line[] = [];
    let hidden = 0;
    const mask = tensor(block.values.mask);
    const least = this.app.state.least / 100;
    [...planes].forEach(([head, plane], order) =>
      place.queries.forEach((query, from) => {
        if (place.chosen !== null && query !== place.chosen) return;
        const added = mask?.row(query, head);
        place.keys.forEach((key, to) => {
          const value = plane.at(query, key);
          const share = Math.abs(value) / high;
          if (!(share > 0.004 && share >= least)) return;
          if (added?.[key] === -Infinity) ++hidden;
          else found.push({ head, order, from, to, value, share });
        });
      }),
    );
    const strongest = found.length > mostLines ? found.sort((a, b) => b.share - a.share).slice(0, mostLines) : found;
    return { all: found.length, hidden, kept: strongest };
  }

  private drawLines(
    area: SvgGroup,
    block: Attention,
    place: HeadLayout,
    planes: Map<number, Plane>,
    scale: Scale,
  ): string {
    const { show } = this.app.state;
    const { all, hidden, kept } = this.lines(block, place, planes, scale.high);
    const group = area.append("g").attr("fill", "none").attr("class", "lines").attr("data-lines", kept.length);
    group.attr("stroke-width", planes.size > 4 ? 1.4 : 2.2);
    const offset = (order: number) => (planes.size === 1 ? 0 : ((order + 0.5) / planes.size - 0.5) * place.row * 0.5);
    for (const { head, order, from, to, value, share } of kept) {
      const y = (index: number) => place.top + (index + 0.5) * place.row + offset(order);
      const sign = scale.color(0.6 * Math.sign(value) * scale.high);
      group
        .append("path")
        .attr(
          "d",
          curve([
            [place.left, y(from)],
            [place.right, y(to)],
          ]),
        )
        .attr("stroke", show === "gradients" ? sign : headColor(head, block.heads))
        .attr("stroke-opacity", Math.min(1, 0.04 + 0.96 * share ** 0.8).toFixed(3));
    }
    const meaning =
      show === "gradients" ? "lines: colored by sign" : "lines: colored by head, opacity shows the probability";
    const { least } = this.app.state;
    const above = least > 0 ? `, at least ${least} % of the largest` : "";
    const masked = hidden > 0 ? "; the mask hides the others" : "";
    const strongest = kept.length < all ? `; the ${integer(kept.length)} strongest of ${integer(all)}` : "";
    return meaning + above + masked + strongest;
  }

  private drawTokens(area: SvgGroup, block: Attention, place: HeadLayout) {
    const { app } = this;
    const { ink, muted, panel } = palette();
    const { chosen } = place;
    const heading = (x: number, anchor: string, text: string) =>
      area.append("text").attr("x", x).attr("y", 12).attr("text-anchor", anchor).attr("fill", muted).text(text);
    const name = (text: number) => app.data.texts[text]?.name ?? "";
    heading(place.left - 10, "end", `queries`);
    heading(place.right + 10, "start", `keys`);
    const words =
      block.rows === block.columns ? name(block.rows) : `${name(block.rows)} attends to ${name(block.columns)}`;
    const room = (place.right - place.left) / 7; // in letters, between the other two headings
    const short = words.length > room ? words.replace(" attends to ", " → ") : words;
    heading((place.left + place.right) / 2, "middle", shortened(short, Math.max(4, Math.floor(room))));
    const column = (tokens: number[], text: number, x: number, anchor: string) =>
      tokens.map((token, index) => {
        const y = place.top + (index + 0.5) * place.row;
        const source = app.data.texts[text];
        const room = patchRoom(source, place.row);
        drawPatch(area, source, token, anchor === "end" ? x - room + 5 : x, y, room - 5);
        const label = area.append("text").attr("y", y).attr("dominant-baseline", "central");
        label.attr("x", anchor === "end" ? x - room : x + room);
        label.attr("text-anchor", anchor).attr("fill", ink).attr("class", "token");
        label.text(shortened(app.tokens(text)[token]!, 20));
        label.append("title").text(visible(app.tokens(text)[token]!));
        return label;
      });
    const labels = column(place.queries, block.rows, place.left - 10, "end");
    const keys = column(place.keys, block.columns, place.right + 10, "start");
    const query = app.state.row;
    if (query !== null)
      keys.forEach((label, index) =>
        app.live?.offerMask(label.node(), {
          module: block.module,
          heads: shownHeads(app),
          query,
          key: place.keys[index]!,
        }),
      );
    labels.forEach((label, index) => {
      const query = place.queries[index]!;
      const y = place.top + index * place.row;
      if (query === chosen) {
        label.attr("font-weight", 600);
        const back = area.insert("rect", ":first-child").attr("y", y).attr("height", place.row).attr("rx", 4);
        back
          .attr("width", place.left - 2)
          .attr("fill", panel)
          .attr("stroke", palette().line);
      }
      const cover = area.append("rect").attr("class", "screen cover query").attr("data-row", query);
      cover.attr("y", y).attr("width", place.left).attr("height", place.row);
      cover.append("title").text(visible(app.tokens(block.rows)[query]!));
      cover.on("pointerenter", () => this.point(query));
      cover.on("click", () => app.set({ row: app.state.row === query ? null : query }));
    });
  }

  // Sets the query under the pointer; null shows the selected query, or all.
  private point(query: number | null) {
    if (query === this.pointed) return;
    this.pointed = query;
    this.redraw();
  }
}
