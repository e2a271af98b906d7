// Runs as frames of a film: a slider, a play button, and the selected output over all frames.
import { scaleLinear } from "d3-scale";
import { line } from "d3-shape";
import { element } from "../../shared/dom";
import type { App } from "../app";
import { runName } from "../widgets/module_name";
import { shortened } from "../widgets/switches";
import { palette, type SvgGroup } from "../../shared/colors";
import { brief } from "../../shared/numbers";
import { Picture } from "../../shared/picture";

const pace = 700; // milliseconds per frame
const height = 150;
const margin = { left: 74, right: 26, top: 12, bottom: 26 };

export class Film {
  readonly node: HTMLElement;
  private readonly slider: HTMLInputElement;
  private readonly words = element("output", { class: "player-words", "aria-live": "polite" });
  private readonly play = element("button", { type: "button", class: "play" }, "Play");
  private readonly picture: Picture;
  private timer: number | null = null;

  constructor(
    private readonly app: App,
    private readonly shown: () => number,
  ) {
    this.slider = element("input", {
      type: "range",
      min: 0,
      max: this.last(),
      step: 1,
      "aria-label": "Frame of the film",
    });
    this.slider.addEventListener("input", () => {
      this.stop();
      this.go(Number(this.slider.value));
    });
    this.play.addEventListener("click", () => (this.timer === null ? this.start() : this.stop()));
    this.picture = new Picture({
      id: "film-picture",
      label: "An output over the frames. Left and right arrows step through them.",
      compact: true,
      draw: (area, width) => this.draw(area, width),
      key: (event) => {
        const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
        if (by) this.go(Math.max(0, Math.min(this.last(), this.shown() + by)));
        return Boolean(by);
      },
    });
    this.picture.setHint("click a frame");
    const controls = element(
      "div",
      { class: "player screen", role: "group", "aria-label": "Film" },
      this.play,
      element("span", { class: "track" }, this.slider),
      this.words,
    );
    this.node = element("div", { class: "film" }, controls, this.picture.node);
  }

  update() {
    const { frames } = this.app.data.runs!;
    const at = this.shown();
    this.slider.value = String(at);
    this.words.textContent = `Frame ${at + 1} of ${frames.length}: ${runName(this.app, frames[at]!)}`;
    this.slider.setAttribute("aria-valuetext", this.words.textContent);
    this.picture.setTitle(`${this.app.data.outputs[this.app.state.output]!.name} over the frames`);
    this.picture.redraw();
  }

  stop() {
    if (this.timer !== null) clearInterval(this.timer);
    this.timer = null;
    this.play.textContent = "Play";
  }

  private last(): number {
    return this.app.data.runs!.frames.length - 1;
  }

  private go(run: number) {
    this.app.set({ run }, { replace: true });
  }

  private start() {
    if (this.shown() === this.last()) this.go(0);
    this.play.textContent = "Pause";
    this.timer = window.setInterval(() => {
      if (this.app.state.view !== "runs" || this.shown() >= this.last()) this.stop();
      else this.go(this.shown() + 1);
    }, pace);
  }

  private draw(area: SvgGroup, width: number): number {
    const { output } = this.app.state;
    const values = this.app.data.runs!.frames.map(({ values }) => values[output] ?? NaN);
    const finite = values.filter(Number.isFinite);
    const [low, high] = [Math.min(0, ...finite), Math.max(0, ...finite)];
    const x = scaleLinear([0, this.last()], [margin.left, width - margin.right]);
    const y = scaleLinear([low, high > low ? high : low + 1], [height - margin.bottom, margin.top]);
    const { first, line: faint, muted, paper } = palette();
    for (const tick of y.ticks(3)) {
      const rule = area
        .append("line")
        .attr("x1", margin.left)
        .attr("x2", width - margin.right);
      rule.attr("y1", y(tick)).attr("y2", y(tick)).attr("stroke", faint);
      area
        .append("text")
        .attr("x", margin.left - 8)
        .attr("y", y(tick))
        .attr("text-anchor", "end")
        .attr("dominant-baseline", "central")
        .attr("fill", muted)
        .attr("font-size", 11)
        .text(brief(tick));
    }
    const path = line<number>(
      (_, run) => x(run),
      (value) => y(value),
    ).defined(Number.isFinite)(values);
    area.append("path").attr("d", path).attr("fill", "none").attr("stroke", first).attr("stroke-width", 2);
    values.forEach((value, run) => this.dot(area, run, value, x, y, paper));
    const letters = Math.floor((width - margin.left - margin.right) / 14); // half of the width for each name, at 7 pixels per letter
    area
      .append("text")
      .attr("x", margin.left)
      .attr("y", height - 6)
      .attr("fill", muted)
      .attr("font-size", 11)
      .text(shortened(runName(this.app, this.app.data.runs!.frames[0]!), letters));
    area
      .append("text")
      .attr("x", width - margin.right)
      .attr("y", height - 6)
      .attr("text-anchor", "end")
      .attr("fill", muted)
      .attr("font-size", 11)
      .text(shortened(runName(this.app, this.app.data.runs!.frames.at(-1)!), letters));
    return height;
  }

  private dot(
    area: SvgGroup,
    run: number,
    value: number,
    x: (run: number) => number,
    y: (value: number) => number,
    paper: string,
  ) {
    const { first } = palette();
    const here = run === this.shown();
    if (Number.isFinite(value)) {
      const dot = area
        .append("circle")
        .attr("cx", x(run))
        .attr("cy", y(value))
        .attr("r", here ? 6 : 3.5);
      dot
        .attr("fill", here ? first : paper)
        .attr("stroke", first)
        .attr("stroke-width", 1.6);
      dot.attr("class", "frame-dot").attr("data-value", value).attr("data-run", run);
    }
    const strip = area
      .append("rect")
      .attr("class", "screen cover")
      .attr("x", x(run) - 10)
      .attr("y", margin.top);
    strip.attr("width", 20).attr("height", height - margin.top - margin.bottom);
    const name = runName(this.app, this.app.data.runs!.frames[run]!);
    strip.on("pointerenter", () => this.picture.showReadout(`${name}:`, value));
    strip.on("pointerleave", () => this.picture.showReadout(null));
    strip.on("click", () => this.go(run));
  }
}
