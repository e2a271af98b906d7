// The Train view: loss and attention maps of a model that learns in the page, one update in three parts, and a test.
import { max, min } from "d3-array";
import { scaleLinear } from "d3-scale";
import { line } from "d3-shape";
import type { App } from "../app";
import { legend, palette, sequential, type SvgGroup } from "../../shared/colors";
import { element, visible } from "../../shared/dom";
import { integer } from "../../shared/format";
import { brief, exact } from "../../shared/numbers";
import { Picture } from "../../shared/picture";
import { Plane } from "../tensor";
import { drawCells } from "../widgets/heatmap";
import type { Session } from "./session";
import { grouped, type Training } from "./training";

const mostPoints = 800; // of the loss curve; more are averaged
const newest = 50; // losses whose mean is shown

export class TrainView {
  readonly node: HTMLElement;
  private readonly controls = element("div", { class: "bar screen train-controls" });
  private readonly words = element("p", { class: "train-words", "aria-live": "polite" });
  private readonly curve: Picture;
  private readonly maps: Picture;
  private readonly parts = element("section", { class: "train-parts", "aria-label": "One update" });
  private readonly result = element("section", { class: "train-result", "aria-live": "polite" });
  private drawn: unknown = null; // the maps that the picture shows

  constructor(
    app: App,
    private readonly training: Training,
    private readonly session: Session,
  ) {
    this.curve = new Picture({
      id: "train-loss",
      label: "The loss of each update.",
      draw: (area, width) => this.drawCurve(area, width),
    });
    this.maps = new Picture({
      id: "train-maps",
      label: "The attention maps of the page's text while the model trains.",
      draw: (area, width) => this.drawMaps(area, width, app),
    });
    this.curve.setTitle("Loss of each update");
    this.maps.setTitle("Attention to this page's text: rows are queries, columns keys");
    this.node = element(
      "section",
      { class: "view train" },
      this.controls,
      this.words,
      this.curve.node,
      this.maps.node,
      this.parts,
      this.result,
    );
    training.listen(() => this.update(), app.signal);
    session.listen(() => this.update(), app.signal);
  }

  update() {
    if (!this.node.isConnected) return;
    const { training } = this;
    this.updateControls();
    this.words.textContent = this.summary();
    this.curve.node.hidden = training.losses.length === 0;
    this.curve.redraw();
    this.maps.node.hidden = training.maps.length === 0;
    if (this.drawn !== training.maps) this.maps.redraw();
    this.drawn = training.maps;
    this.parts.replaceChildren(...this.update3());
    this.result.replaceChildren(...this.tested());
  }

  private updateControls() {
    const { training, session } = this;
    const { begun, running, testing } = training;
    const ready = session.engine === "ready";
    const all: [string, () => unknown, boolean][] = [
      [
        begun ? "Start again from random weights" : "Train from random weights",
        () => training.begin(),
        ready && !running,
      ],
      running ? ["Pause", () => training.pause(), true] : ["Continue", () => training.go(), ready && begun],
      [this.nextPart(), () => training.part(), ready && !running],
      ["Test on held-out numbers", () => training.test(), ready && begun && !testing],
      ["Use these weights", () => training.use(), ready && begun],
      ["Restore the model's weights", () => training.restore(), ready && begun],
    ];
    const known = [...this.controls.querySelectorAll("button")];
    all.forEach(([words, click, enabled], index) => {
      const made = known[index] ?? this.controls.appendChild(element("button", { type: "button" }));
      if (made.textContent !== words) made.textContent = words;
      made.disabled = !enabled;
      made.onclick = () => void click();
    });
  }

  private nextPart(): string {
    const { forward, backward, update } = this.training.parts;
    if (!forward || update) return "One update: forward";
    return backward ? "One update: Adam" : "One update: backward";
  }

  private summary(): string {
    const { begun, steps, losses, lr } = this.training;
    if (!begun)
      return "The demo's model can learn to translate numbers here, from random weights, in this page. Its own weights can be restored afterwards.";
    if (losses.length === 0) return "Random weights; no update yet.";
    const last = losses.slice(-newest);
    const mean = last.reduce((sum, loss) => sum + loss, 0) / last.length;
    return `${integer(steps)} update${steps === 1 ? "" : "s"}; loss ${brief(mean)} (mean of the last ${last.length}); learning rate ${brief(lr)}.`;
  }

  private drawCurve(area: SvgGroup, width: number): number {
    const { losses } = this.training;
    const { ink, muted, line: lines, first } = palette();
    const [left, top, high] = [44, 8, 150];
    const each = Math.max(1, Math.ceil(losses.length / mostPoints));
    const points = Array.from({ length: Math.ceil(losses.length / each) }, (_, index): [number, number] => {
      const part = losses.slice(index * each, (index + 1) * each);
      return [index * each + part.length, part.reduce((sum, loss) => sum + loss, 0) / part.length];
    });
    const x = scaleLinear([1, Math.max(20, losses.length)], [left, width - 8]);
    const [low, most] = [Math.min(0, min(losses) ?? 0), max(losses) ?? 1];
    const y = scaleLinear([low, most], [top + high, top]).nice(4);
    const text = (at: [number, number], anchor: string, words: string) => {
      const made = area.append("text").attr("x", at[0]).attr("y", at[1]).attr("text-anchor", anchor);
      made.attr("fill", muted).text(words);
    };
    for (const tick of y.ticks(4)) {
      const rule = area
        .append("line")
        .attr("x1", left)
        .attr("x2", width - 8)
        .attr("stroke", lines);
      rule.attr("y1", y(tick)).attr("y2", y(tick));
      text([left - 6, y(tick) + 4], "end", brief(tick).replace(/\.?0+$/, ""));
    }
    for (const tick of x.ticks(Math.max(2, Math.floor(width / 140))).filter(Number.isInteger))
      text([x(tick), top + high + 16], "middle", integer(tick));
    text([width - 8, top + high + 32], "end", "updates");
    const path = line()
      .x(([step]) => x(step))
      .y(([, loss]) => y(loss));
    const made = area.append("path").attr("class", "loss-curve").attr("data-points", points.length);
    made
      .attr("fill", "none")
      .attr("stroke", first)
      .attr("stroke-width", 1.6)
      .attr("d", path(points) ?? "");
    const last = points.at(-1);
    if (last) area.append("circle").attr("cx", x(last[0])).attr("cy", y(last[1])).attr("r", 3).attr("fill", ink);
    return top + high + 38;
  }

  private drawMaps(area: SvgGroup, width: number, app: App): number {
    const { maps } = this.training;
    const { muted } = palette();
    const side = width < 560 ? 74 : 96;
    const label = width < 560 ? 0 : 210;
    let y = 0;
    for (const { module, heads, weights } of maps) {
      const name = area.append("text").attr("y", label > 0 ? y + side / 2 : y + 13);
      name.attr("fill", muted).text(visible(app.nameOf(module)));
      if (label === 0) y += 20;
      const columns = Math.max(1, Math.floor((width - label) / (side + 10)));
      for (let head = 0; head < heads; ++head) {
        const rows = weights[head] ?? [];
        const plane = new Plane(rows.length, rows[0]?.length ?? 0, rows.flat());
        const [at, down] = [label + (head % columns) * (side + 10), y + Math.floor(head / columns) * (side + 10)];
        if (plane.rows > 0 && plane.columns > 0) drawCells(area, plane, sequential(1), at, down, side, side);
      }
      y += Math.ceil(heads / columns) * (side + 10) + 6;
    }
    legend(area, sequential(1), "weight", label, y);
    return y + 34;
  }

  // The update that is shown part by part.
  private update3(): HTMLElement[] {
    const { forward, backward, update } = this.training.parts;
    if (!forward) return [];
    const rows = (forward.batch ?? [])
      .slice(0, 6)
      .map(({ source, target }) =>
        element("tr", {}, element("td", {}, visible(source)), element("td", {}, visible(target))),
      );
    const more = (forward.batch?.length ?? 0) - rows.length;
    const parts: HTMLElement[] = [
      element("h2", {}, `Update ${integer(forward.step ?? this.training.steps + 1)}: forward`),
      element(
        "p",
        {},
        `The model reads a batch of ${integer(forward.batch?.length ?? 0)} and predicts the translations. Mean loss: `,
        element("b", { "data-part": "loss", "data-value": forward.loss ?? NaN }, brief(forward.loss ?? NaN)),
      ),
      element("div", { class: "scroll" }, element("table", {}, element("tbody", {}, ...rows))),
    ];
    if (more > 0) parts.push(element("p", { class: "note muted" }, `and ${more} more`));
    if (backward)
      parts.push(
        element("h2", {}, "Backward"),
        element(
          "p",
          {},
          "Every parameter gets its gradient. Norm of all gradients together: ",
          element("b", { "data-part": "grad_norm" }, brief(backward.grad_norm ?? NaN)),
        ),
        bars(
          grouped(backward.parameters ?? []).map(({ name, norm }) => [name, norm]),
          "gradient",
        ),
      );
    if (update)
      parts.push(
        element("h2", {}, "Adam"),
        element(
          "p",
          {},
          `Adam changes each parameter, with learning rate ${brief(update.lr ?? NaN)}. Norm of the changes:`,
        ),
        bars(
          grouped(update.parameters ?? []).map(({ name, change }) => [name, change ?? NaN]),
          "change",
        ),
      );
    return parts;
  }

  private tested(): HTMLElement[] {
    const { result, testing } = this.training;
    if (testing) return [element("p", {}, "Testing …")];
    if (!result) return [];
    const heading = ["number", "expected", "output"].map((name) => element("th", { scope: "col" }, name));
    const rows = result.samples.map(({ source, expected, output }) =>
      element(
        "tr",
        {},
        element("td", {}, visible(source)),
        element("td", {}, visible(expected)),
        element(
          "td",
          { class: output === expected ? "good" : "bad" },
          `${output === expected ? "✓" : "✗"} ${visible(output)}`,
        ),
      ),
    );
    return [
      element("h2", { "data-right": result.right }, `${result.right} of ${result.count} right`),
      element("p", { class: "muted" }, "Numbers that are not among those it trains on."),
      element(
        "div",
        { class: "scroll tall", tabindex: 0, role: "region", "aria-label": "Tested numbers" },
        element("table", {}, element("thead", {}, element("tr", {}, ...heading)), element("tbody", {}, ...rows)),
      ),
    ];
  }
}

// A bar per group of parameters.
function bars(values: [string, number][], key: string): HTMLElement {
  const most = Math.max(...values.map(([, value]) => value).filter(Number.isFinite), 0);
  const rows = values.map(([name, value]) => {
    const bar = element("span", { class: "norm-bar" });
    bar.style.setProperty("--part", String(most > 0 && Number.isFinite(value) ? value / most : 0));
    return element(
      "tr",
      {},
      element("th", { scope: "row" }, visible(name)),
      element("td", { class: "number", "data-norm": key, "data-value": value, title: exact(value) }, brief(value)),
      element("td", {}, bar),
    );
  });
  return element("div", { class: "scroll" }, element("table", { class: "norms" }, element("tbody", {}, ...rows)));
}
