// One row of a LayerNorm or an RMSNorm: forward and backward, term by term.
import { element } from "../../shared/dom";
import { legend, palette, diverging, type SvgGroup } from "../../shared/colors";
import type { App } from "../app";
import { Toolbar, menu, outputSwitch } from "../widgets/switches";
import {
  scaleAround,
  maxAbs,
  numbersTable,
  formulaSteps,
  tintNote,
  verdict,
  type Column,
  noGradientNote,
} from "../widgets/number_table";
import { cellAt, drawCells } from "../widgets/heatmap";
import { Picture } from "../../shared/picture";
import { layerRowSwitch, missingRows, rowTitle, stepRow } from "./layer_row";
import { Plane, tensor, type Numbers } from "../tensor";

// y = γ x̂ + β, x̂ = (x − μ) / √(σ² + ε); dx = (γg − mean(γg) − x̂ mean(γg x̂)) / √(σ² + ε). An RMSNorm is the same with
// μ = 0 and without mean(γg).
export function layerNormBackward(x: Numbers, weight: Numbers | null, g: Numbers, eps: number, centered = true) {
  const n = x.length;
  const list = Array.from(x);
  const mean = centered ? list.reduce((a, b) => a + b, 0) / n : 0;
  const variance = list.reduce((a, b) => a + (b - mean) ** 2, 0) / n;
  const inverse = 1 / Math.sqrt(variance + eps);
  const hat = list.map((value) => (value - mean) * inverse);
  const scaled = list.map((_, c) => (weight?.[c] ?? 1) * g[c]!);
  const first = centered ? scaled.reduce((a, b) => a + b, 0) / n : 0;
  const second = scaled.reduce((a, b, c) => a + b * hat[c]!, 0) / n;
  const dx = scaled.map((value, c) => inverse * (value - first - hat[c]! * second));
  return { mean, variance, inverse, hat, scaled, first, second, dx };
}

export class LayerNormView {
  readonly node: HTMLElement;
  private readonly bar: Toolbar;
  private readonly picture: Picture;
  private readonly body = element("div", { class: "closeup-body" });
  private lines: [string, Numbers][] = [];

  constructor(private readonly app: App) {
    this.bar = new Toolbar([
      menu(
        app.data.rms_norms.length === 0 ? "LayerNorm" : app.data.layer_norms.length === 0 ? "RMSNorm" : "Norm",
        () => app.norms().map(({ module }) => [module, app.nameOf(module)]),
        () => app.state.norm,
        (norm) => app.set({ norm, row: null }),
      ),
      layerRowSwitch(app, () => app.norm()!),
      outputSwitch(app, true),
    ]);
    this.picture = new Picture({
      id: "layernorm-picture",
      label: "The row over its features. Up and down arrows select the row.",
      draw: (area, width) => this.draw(area, width),
      key: (event) => this.key(event),
    });
    this.node = element("section", { class: "view" }, this.bar.node, this.picture.node, this.body);
  }

  private centered(): boolean {
    return this.app.data.layer_norms.includes(this.app.norm()!);
  }

  update() {
    this.bar.update();
    const { app } = this;
    const norm = app.norm()!;
    const row = app.state.row ?? 0;
    const { output } = app.state;
    const x = tensor(norm.input).row(row);
    const weight = tensor(norm.weight)?.row(0) ?? null;
    const g = tensor(norm.gradient_output[output])?.row(row);
    const recorded = tensor(norm.gradient_input[output])?.row(row);
    this.picture.setTitle(rowTitle(app, norm));
    this.picture.setHint("hover over a number; ↑ ↓ row");
    if (!g || !recorded) {
      this.lines = [["x", x]];
      this.body.replaceChildren(noGradientNote());
    } else {
      const worked = layerNormBackward(x, weight, g, norm.eps, this.centered());
      this.lines = [
        ["x", x],
        ["x̂", worked.hat],
        ["g = dL/dy", g],
        ["γg", worked.scaled],
        ["dx", worked.dx],
      ];
      this.body.replaceChildren(...this.worked(x, weight, g, recorded, worked));
    }
    const rest = missingRows(norm);
    if (rest) this.body.prepend(rest);
    this.picture.redraw();
  }

  private worked(
    x: Float32Array,
    weight: Float32Array | null,
    g: Float32Array,
    recorded: Float32Array,
    { mean, variance, inverse, hat, scaled, first, second, dx }: ReturnType<typeof layerNormBackward>,
  ): HTMLElement[] {
    const both = scaleAround(dx, recorded);
    const { input, weight: gamma } = this.app.norm()!;
    const row = this.app.state.row ?? 0;
    const { live } = this.app;
    const columns: Column[] = [
      {
        name: "x",
        key: "x",
        values: x,
        scale: scaleAround(x),
        offer: (cell, c) => live?.offer(cell, input, () => [row, c]),
      },
      { name: this.centered() ? "x̂ = (x − μ)/σ" : "x̂ = x/σ", key: "hat", values: hat, scale: scaleAround(hat) },
      { name: "g = dL/dy", key: "g", values: g, scale: scaleAround(g) },
      ...(weight
        ? [
            {
              name: "γ",
              key: "weight",
              values: weight,
              offer: (cell: HTMLElement, c: number) => live?.offer(cell, gamma, () => [c]),
            },
          ]
        : []),
      { name: "γg", key: "scaled", values: scaled, scale: scaleAround(scaled) },
      { name: "γg·x̂", key: "product", values: scaled.map((value, c) => value * hat[c]!) },
      { name: "dx", key: "dx", values: dx, scale: both },
      { name: "recorded", key: "recorded", values: recorded, scale: both },
      { name: "difference", key: "difference", values: dx.map((value, c) => value - recorded[c]!) },
    ];
    const names = Array.from(x, (_, c) => String(c));
    const table = numbersTable("feature", names, columns, {
      ...(this.centered() ? { x: ["μ", mean] as [string, number], scaled: ["m₁", first] as [string, number] } : {}),
      product: ["m₂", second],
    });
    const region = { class: "scroll tall", tabindex: 0, role: "region", "aria-label": "All features of the row" };
    const note =
      x.length > 40 && element("p", { class: "note muted print" }, `In print, the first 40 of ${x.length} features.`);
    return [
      element(
        "p",
        { class: "formula" },
        this.centered()
          ? "y = γ x̂ + β with x̂ = (x − μ)/σ. Given the gradient g at y, the gradient at x is dx = (γg − m₁ − x̂ m₂)/σ."
          : "y = γ x̂ with x̂ = x/σ, where σ is the root mean square. Given the gradient g at y, the gradient at x is dx = (γg − x̂ m₂)/σ.",
      ),
      this.centered()
        ? formulaSteps(
            ["μ = mean(x)", mean, "mean"],
            ["variance", variance, "variance"],
            ["1/σ = 1/√(variance + ε)", inverse, "inverse"],
            ["m₁ = mean(γg)", first, "first"],
            ["m₂ = mean(γg·x̂)", second, "second"],
          )
        : formulaSteps(
            ["mean(x²)", variance, "variance"],
            ["1/σ = 1/√(mean(x²) + ε)", inverse, "inverse"],
            ["m₂ = mean(γg·x̂)", second, "second"],
          ),
      verdict(dx, recorded, inverse * maxAbs(scaled)),
      element("div", region, table),
      element("p", { class: "note muted" }, tintNote),
      ...(note ? [note] : []),
    ];
  }

  private draw(area: SvgGroup, width: number): number {
    const { muted, ink } = palette();
    const left = 76;
    const high = 22;
    const wide = width - left - 4;
    this.lines.forEach(([name, values], index) => {
      const y = index * (high + 6);
      const plane = new Plane(1, values.length, values);
      const scale = diverging(plane.maxAbs());
      area
        .append("text")
        .attr("x", left - 12)
        .attr("y", y + 15)
        .attr("text-anchor", "end")
        .attr("fill", ink)
        .text(name);
      drawCells(area, plane, scale, left, y, wide, high);
      const cover = area.append("rect").attr("class", "screen cover strip").attr("data-strip", name);
      cover.attr("x", left).attr("y", y).attr("width", wide).attr("height", high);
      cover.on("pointermove", (event: PointerEvent) => {
        const [, c] = cellAt(event, plane, cover.node()!);
        this.picture.showReadout(`${name}[${c}]`, values[c]);
      });
      cover.on("pointerleave", () => this.picture.showReadout(null));
    });
    const bottom = this.lines.length * (high + 6) + 6;
    legend(area, diverging(1), "each line relative to its largest value", left, bottom);
    area
      .append("text")
      .attr("x", left + wide)
      .attr("y", bottom + 9)
      .attr("text-anchor", "end")
      .attr("fill", muted)
      .text("features →");
    return bottom + 32;
  }

  private key(event: KeyboardEvent): boolean {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    return by !== undefined && stepRow(this.app, this.app.norm()!, by);
  }
}
