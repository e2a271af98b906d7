// One row of a softmax: its vector-Jacobian product, term by term.
import { element } from "../../shared/dom";
import { sequential, diverging } from "../../shared/colors";
import type { App } from "../app";
import { kindSwitch, layerSwitch, shortened } from "../widgets/switches";
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
import type { Attention } from "../data";
import { Heatmap, tint } from "../widgets/heatmap";
import { tabular, exact } from "../../shared/numbers";
import { QueryRowView } from "./query_row";
import { Plane, tensor, type Numbers } from "../tensor";

const shortRow = 12; // longest row whose Jacobian is shown in numbers

// dx_j = p_j (g_j − Σ_k p_k g_k).
export function softmaxBackward(p: Numbers, g: Numbers) {
  const products = Array.from(p, (value, j) => value * g[j]!);
  const sum = products.reduce((a, b) => a + b, 0);
  const differences = Array.from(g, (value) => value - sum);
  return { products, sum, differences, dx: differences.map((value, j) => p[j]! * value) };
}

// J_jk = p_j (δ_jk − p_k).
export function softmaxJacobian(p: Numbers): Plane {
  const n = p.length;
  const values = Float64Array.from({ length: n * n }, (_, i) => {
    const [j, k] = [Math.floor(i / n), i % n];
    return p[j]! * ((j === k ? 1 : 0) - p[k]!);
  });
  return new Plane(n, n, values);
}

export class SoftmaxView extends QueryRowView {
  constructor(app: App) {
    const label =
      "One row of a softmax. Up and down arrows select the row, left and right the head, page up and down the layer.";
    super(app, label, [kindSwitch(app), layerSwitch(app)]);
  }

  private heat: Heatmap | null = null;

  protected shown(block: Attention, head: number, row: number): HTMLElement[] {
    this.heat = null;
    const gradients = block.gradients[this.app.state.output];
    const p = tensor(block.values.probabilities)?.row(row, head);
    const g = tensor(gradients?.probabilities)?.row(row, head);
    const recorded = tensor(gradients?.scores)?.row(row, head);
    if (!p || !g || !recorded) return [noGradientNote()];
    const names = this.app.tokens(block.columns).map((token) => shortened(token, 18));
    const offer = (cell: HTMLElement, key: number) =>
      this.app.live?.offer(cell, block.values.probabilities, () => [head, row, key]);
    return this.worked(p, g, recorded, names, offer);
  }

  protected drawn() {
    this.heat?.picture.redraw();
  }

  private worked(
    p: Float32Array,
    g: Float32Array,
    recorded: Float32Array,
    names: string[],
    offer: Column["offer"],
  ): HTMLElement[] {
    const { products, sum, differences, dx } = softmaxBackward(p, g);
    const difference = dx.map((value, j) => value - recorded[j]!);
    const both = scaleAround(dx, recorded);
    const table = numbersTable(
      "key",
      names,
      [
        { name: "p", key: "p", values: p, scale: sequential(1), offer },
        { name: "g = dL/dp", key: "g", values: g, scale: scaleAround(g) },
        { name: "p·g", key: "pg", values: products, scale: scaleAround(products) },
        { name: "g − Σ", key: "g-sum", values: differences, scale: scaleAround(differences) },
        { name: "dx = p(g − Σ)", key: "dx", values: dx, scale: both },
        { name: "recorded", key: "recorded", values: recorded, scale: both },
        { name: "difference", key: "difference", values: difference },
      ],
      {
        p: ["sum", p.reduce((a, b) => a + b, 0)],
        pg: ["Σ", sum],
        dx: ["sum", dx.reduce((a, b) => a + b, 0)],
      },
    );
    return [
      element(
        "p",
        { class: "formula" },
        "p = softmax(x). Given the gradient g at p, the gradient at x is dx = Jᵀg with Jⱼₖ = pⱼ(δⱼₖ − pₖ), that is dxⱼ = pⱼ(gⱼ − Σ).",
      ),
      formulaSteps(["Σ = Σₖ pₖ gₖ", sum, "sum"]),
      element("div", { class: "scroll" }, table),
      verdict(dx, recorded, maxAbs(products, dx)),
      element("p", { class: "note muted" }, tintNote),
      this.jacobian(p, g, dx, names),
    ];
  }

  private jacobian(p: Float32Array, g: Float32Array, dx: number[], names: string[]): HTMLElement {
    const plane = softmaxJacobian(p);
    const title = "The Jacobian, J = diag(p) − ppᵀ";
    if (p.length > shortRow) {
      this.heat = new Heatmap({ id: "jacobian-picture", title, plane, rows: names, columns: names, unit: "dp / dx" });
      return element("div", { class: "jacobian" }, this.heat.picture.node);
    }
    const scale = diverging(plane.maxAbs());
    const [ofG, ofDx] = [scaleAround(g), scaleAround(dx)];
    const number = (value: number, key: string, colors: typeof scale) => {
      const cell = element(
        "td",
        { class: "number", "data-column": key, "data-value": value, title: exact(value) },
        tabular(value),
      );
      tint(cell, value, colors);
      return cell;
    };
    const head = element("tr", {}, element("th", {}, "x ↓  p →"));
    for (const name of [...names, "· g", "= dx"]) head.append(element("th", { scope: "col", class: "number" }, name));
    const rows = names.map((name, j) =>
      element(
        "tr",
        {},
        element("th", { scope: "row", dir: "auto" }, name),
        ...names.map((_, k) => number(plane.at(j, k), "jacobian", scale)),
        number(g[j]!, "g", ofG),
        number(dx[j]!, "dx", ofDx),
      ),
    );
    const table = element("table", { class: "numbers" }, element("thead", {}, head), element("tbody", {}, ...rows));
    return element("div", { class: "jacobian" }, element("h3", {}, title), element("div", { class: "scroll" }, table));
  }
}
