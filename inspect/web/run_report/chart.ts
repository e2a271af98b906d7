import { extent } from "d3-array";
import { axisBottom, axisLeft } from "d3-axis";
import { scaleLinear, scaleLog, type ScaleContinuousNumeric } from "d3-scale";
import { pointer, select, type Selection } from "d3-selection";
import { line } from "d3-shape";
import { saveButtons, type LegendKey } from "../shared/picture";
import { element } from "../shared/dom";
import { durationTicks, duration, integer, type Format } from "../shared/format";
import type { Mark, Steps } from "./data";
import { drawMarks } from "./marks";
import { nearest, type Point, type View } from "./view";

export interface Curve {
  label: string;
  look: "raw" | "train" | "validation" | "floor";
  points: Point[];
  smoothed?: Point[][]; // per smoothing; View.smooth selects the drawn one
  other?: { place: number; steps: Steps }; // of another run: its index and its steps
}

const colors = 6; // for other runs, in the style sheet

// The points of a curve that are currently drawn.
function pointsOf(curve: Curve, view: View): Point[] {
  if (!curve.smoothed) return curve.points;
  return view.smooth === null ? [] : curve.smoothed[view.smooth]!;
}

const classOf = ({ look, other }: Curve) => `${look}${other ? ` other other-${other.place % colors}` : ""}`;

export interface ChartOptions {
  id: string;
  title: string;
  curves: Curve[];
  format: Format;
  tick?: Format;
  height: number;
  wide?: boolean;
  fromZero?: boolean;
  followsLogLoss?: boolean;
}

const margin = { top: 8, right: 18, bottom: 30, left: 52 };
const printed = { wide: 690, narrow: 333 };

type Group = Selection<SVGGElement, unknown, null, undefined>;
type Scale = ScaleContinuousNumeric<number, number>;

// Curves over the run, with its events marked on the axis. All charts of a page share a View, and with it the cursor.
export class Chart {
  readonly node: HTMLElement;
  private readonly svg: Selection<SVGSVGElement, unknown, null, undefined>;
  private readonly values: HTMLElement[] = [];
  private width = 0;
  private x: Scale = scaleLinear();
  private y: Scale = scaleLinear();
  private cursorLayer: Group | null = null;
  private dragFrom: number | null = null;

  constructor(
    private readonly view: View,
    private readonly marks: Mark[],
    private readonly options: ChartOptions,
  ) {
    const legend = element("span", { class: "legend" });
    for (const curve of options.curves) {
      const value = element("span", { class: "value" });
      this.values.push(value);
      const alone = options.curves.length === 1;
      legend.append(
        element("span", { class: alone ? "" : `key ${classOf(curve)}` }, !alone && `${curve.label} `, value),
      );
    }
    this.node = element(
      "figure",
      { class: "chart", id: options.id },
      element("figcaption", {}, element("h3", {}, options.title), legend),
    );
    const plot = element("div", {
      class: "plot",
      tabindex: 0,
      role: "application",
      "aria-label": `${options.title}. Arrow keys move the cursor, Home and End go to the ends, Escape leaves.`,
    });
    this.svg = select(plot).append("svg").attr("aria-hidden", "true");
    this.node.append(plot);
    const svg = this.svg.node()!;
    this.node.querySelector("figcaption")!.append(
      saveButtons(
        svg,
        () => options.title,
        () => this.keys(),
      ),
    );
    this.listen(plot);
    view.onChange((what) => (what === "cursor" ? this.drawCursor() : this.draw()));
    new ResizeObserver(() => {
      const width = Math.round(plot.clientWidth);
      if (width > 0 && width !== this.width && !window.matchMedia("print").matches) {
        this.resize(width);
      }
    }).observe(plot);
    window.addEventListener("beforeprint", () => this.resize(options.wide ? printed.wide : printed.narrow));
    window.addEventListener("afterprint", () => this.resize(Math.round(plot.clientWidth)));
  }

  // Legend of a saved picture; a single line needs none.
  private keys(): LegendKey[] {
    const lines = [...this.node.querySelectorAll<SVGPathElement>("path.curve")];
    const keys = this.options.curves.map(({ label }, index) => ({ words: label, line: lines[index]! }));
    return keys.length > 1 ? keys.filter(({ line }) => line.getAttribute("d")) : [];
  }

  private resize(width: number) {
    this.width = width;
    this.draw();
  }

  private shown(): Point[] {
    const [from, to] = this.view.range ?? [-Infinity, Infinity];
    return this.options.curves.flatMap((curve) =>
      pointsOf(curve, this.view).filter(({ step }) => step >= from && step <= to),
    );
  }

  private scales() {
    const { view, options } = this;
    const log = options.followsLogLoss && view.logLoss;
    const [from, to] = view.range ?? view.whole;
    const a = view.place(from) ?? 0;
    const ends = options.curves.flatMap(({ other, points }) =>
      other && !view.range ? (view.place(points.at(-1)?.step ?? 0, view.unit, other.steps) ?? 0) : [],
    );
    const b = Math.max(view.place(to) ?? 1, ...ends);
    this.x = scaleLinear([a, b > a ? b : a + 1], [margin.left, this.width - margin.right]);
    const values = this.shown()
      .map(({ y }) => y)
      .filter((y): y is number => y !== null && (!log || y > 0));
    let [low, high] = extent(values);
    if (low === undefined || high === undefined) [low, high] = log ? [0.1, 1] : [0, 1];
    if (options.fromZero) low = Math.min(0, low);
    if (low === high) [low, high] = log || low > 0 ? [low * 0.9, high * 1.1] : [low - 1, high + 1];
    const range = [options.height - margin.bottom, margin.top];
    this.y = log ? scaleLog([low / 1.03, high * 1.03], range) : scaleLinear([low, high], range).nice(5);
  }

  private yTicks(): number[] {
    const wanted = Math.max(3, Math.round(this.options.height / 48));
    const ticks = this.y.ticks(wanted);
    if (!this.options.followsLogLoss || !this.view.logLoss || ticks.length <= wanted + 2) return ticks;
    return ticks.filter((tick) => /^[125]/.test(tick.toExponential()));
  }

  private draw() {
    if (this.width === 0) return;
    const { options, width, svg, view } = this;
    this.scales();
    svg.selectAll("*").remove();
    svg.attr("viewBox", `0 0 ${width} ${options.height}`);
    this.drawAxes();
    svg
      .append("clipPath")
      .attr("id", `clip-${options.id}`)
      .append("rect")
      .attr("x", margin.left - 4)
      .attr("y", 0)
      .attr("width", Math.max(0, width - margin.left - margin.right + 8))
      .attr("height", options.height);
    const body = svg.append("g").attr("clip-path", `url(#clip-${options.id})`);
    drawMarks(body, this.marks, view, (step) => this.at(step), {
      top: margin.top,
      floor: options.height - margin.bottom,
      width,
    });
    for (const curve of options.curves) this.drawCurve(body, curve);
    this.cursorLayer = svg.append("g");
    this.drawCursor();
  }

  private drawAxes() {
    const { options, width, svg, view } = this;
    const count = Math.max(2, Math.floor(width / 110));
    const bottom = axisBottom(this.x).ticks(count).tickSize(5).tickSizeOuter(0);
    const [from, to] = this.x.domain() as [number, number];
    const brief = to < 10; // seconds: too short for minutes and seconds
    if (view.unit === "time" && !brief)
      bottom.tickValues(durationTicks(from, to, count)).tickFormat((seconds) => duration(Number(seconds)));
    if (view.unit === "step") {
      bottom.tickValues(this.x.ticks(count).filter(Number.isInteger)).tickFormat((step) => integer(Number(step)));
    }
    svg
      .append("g")
      .attr("class", "axis x")
      .attr("transform", `translate(0,${options.height - margin.bottom})`)
      .call(bottom);
    svg
      .append("text")
      .attr("class", "axis unit")
      .attr("x", margin.left - 8)
      .attr("y", options.height - margin.bottom + 17)
      .attr("text-anchor", "end")
      .text(view.unit === "time" ? (brief ? "seconds" : to < 3600 ? "min:s" : "h:min:s") : view.unit);
    const ticks = this.yTicks();
    const left = axisLeft(this.y)
      .tickValues(ticks)
      .tickSize(-(width - margin.left - margin.right))
      .tickPadding(8);
    const texts = ticks.map(options.tick ?? options.format);
    const decimals = Math.max(0, ...texts.map((text) => /^\d*\.(\d+)$/.exec(text)?.[1]!.length ?? 0));
    left.tickFormat((value, index) =>
      /^\d+(\.\d+)?$/.test(texts[index]!) && value !== 0 ? Number(value).toFixed(decimals) : texts[index]!,
    );
    const axis = svg.append("g").attr("class", "axis y").attr("transform", `translate(${margin.left},0)`).call(left);
    axis.select(".domain").remove();
  }

  private at(step: number, steps?: Steps): number {
    return this.x(this.view.place(step, this.view.unit, steps) ?? NaN);
  }

  private drawCurve(body: Group, curve: Curve) {
    const log = this.options.followsLogLoss && this.view.logLoss;
    const fits = ({ y }: Point) => y !== null && (!log || y > 0);
    const path = line<Point>()
      .defined(fits)
      .x(({ step }) => this.at(step, curve.other?.steps))
      .y(({ y }) => this.y(y!));
    body
      .append("path")
      .attr("class", `curve ${classOf(curve)}`)
      .attr("d", path(pointsOf(curve, this.view)));
    if (curve.look !== "validation" || curve.points.length > 60) return;
    body
      .append("g")
      .attr("class", `dots ${classOf(curve)}`)
      .selectAll("circle")
      .data(curve.points.filter(fits))
      .join("circle")
      .attr("r", 2.6)
      .attr("cx", ({ step }) => this.at(step, curve.other?.steps))
      .attr("cy", ({ y }) => this.y(y!));
  }

  private drawCursor() {
    const { view, options } = this;
    this.cursorLayer?.selectAll("*").remove();
    const step = view.cursor;
    options.curves.forEach((curve, index) => {
      const points = pointsOf(curve, view);
      const filled = points.filter(({ y }) => y !== null);
      // A run that ended earlier has no value here.
      const over = curve.other && step !== null && step > (points.at(-1)?.step ?? -1);
      const point = over
        ? undefined
        : step === null
          ? filled[filled.length - 1]
          : nearest(curve.look === "validation" ? filled : points, step);
      this.values[index]!.textContent = point && point.y !== null ? options.format(point.y) : "–";
      if (step === null || point?.y == null || !this.cursorLayer) return;
      const [cx, cy] = [this.at(point.step, curve.other?.steps), this.y(point.y)];
      if (Number.isFinite(cx) && Number.isFinite(cy))
        this.cursorLayer
          .append("circle")
          .attr("class", `here ${classOf(curve)}`)
          .attr("r", 3.5)
          .attr("cx", cx)
          .attr("cy", cy);
    });
    if (step === null || !this.cursorLayer) return;
    const x = this.at(step);
    if (x < margin.left - 1 || x > this.width - margin.right + 1) return;
    this.cursorLayer
      .insert("line", ":first-child")
      .attr("class", "cursor")
      .attr("x1", x)
      .attr("x2", x)
      .attr("y1", margin.top)
      .attr("y2", options.height - margin.bottom);
  }

  // The logged step nearest to the pointer.
  private stepAt(event: PointerEvent): number | null {
    const scale = this.width / (this.svg.node()!.clientWidth || 1);
    const wanted = this.x.invert(pointer(event, this.svg.node()!.parentElement)[0] * scale);
    const points = this.view.steps.step.map((step) => ({ step: this.view.place(step) ?? NaN, y: step }));
    return nearest(points, wanted)?.y ?? null;
  }

  private listen(plot: HTMLElement) {
    plot.addEventListener("pointermove", (event) => this.view.moveCursor(this.stepAt(event)));
    plot.addEventListener("pointerleave", () => {
      this.dragFrom = null;
      this.view.moveCursor(null);
    });
    plot.addEventListener("pointerdown", (event) => {
      this.dragFrom = this.stepAt(event);
    });
    plot.addEventListener("pointerup", (event) => {
      const to = this.stepAt(event);
      const from = this.dragFrom;
      this.dragFrom = null;
      if (from === null || to === null || Math.abs(this.at(from) - this.at(to)) < 12) return;
      this.view.set({ range: from < to ? [from, to] : [to, from] });
    });
    plot.addEventListener("dblclick", () => this.view.set({ range: null }));
    plot.addEventListener("blur", () => this.view.moveCursor(null));
    plot.addEventListener("keydown", (event) => {
      if (this.key(event)) event.preventDefault();
    });
  }

  private key(event: KeyboardEvent): boolean {
    const [from, to] = this.view.range ?? [-Infinity, Infinity];
    const steps = this.view.steps.step.filter((step) => step >= from && step <= to);
    const here = this.view.cursor === null ? -1 : steps.findIndex((step) => step >= this.view.cursor!);
    const far = event.shiftKey ? Math.max(1, Math.round(steps.length / 20)) : 1;
    const last = steps.length - 1;
    const moves: Record<string, number> = {
      ArrowLeft: here < 0 ? last : Math.max(0, here - far),
      ArrowRight: here < 0 ? 0 : Math.min(last, here + far),
      Home: 0,
      End: last,
    };
    if (event.key === "Escape") {
      this.view.moveCursor(null);
      if (this.view.range) this.view.set({ range: null });
      return true;
    }
    const move = moves[event.key];
    if (move === undefined || last < 0) return false;
    this.view.moveCursor(steps[move]!);
    return true;
  }
}
