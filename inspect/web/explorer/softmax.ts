// One row of a softmax: its Jacobian-vector product term by term.
import { element } from "../shared/dom";
import { rising, signed } from "./colours";
import type { App } from "./app";
import { attentionKeys, Bar, headSwitch, kindSwitch, layerSwitch, outputSwitch, rowSwitch, shortened } from "./bar";
import { around, largest, numbersTable, steps, tints, verdict } from "./closeup";
import { Heat, tint } from "./heat";
import { column, exact } from "./numbers";
import { Plane, tensor } from "./tensor";

const shortRow = 12; // up to here the Jacobian is written in numbers

// dx_j = p_j (g_j − Σ_k p_k g_k).
export function softmaxBackward(p: ArrayLike<number>, g: ArrayLike<number>) {
  const products = Array.from(p, (value, j) => value * g[j]!);
  const sum = products.reduce((a, b) => a + b, 0);
  const differences = Array.from(g, (value) => value - sum);
  return { products, sum, differences, dx: differences.map((value, j) => p[j]! * value) };
}

// J_jk = p_j (δ_jk − p_k).
export function softmaxJacobian(p: ArrayLike<number>): Plane {
  const n = p.length;
  const values = Float64Array.from({ length: n * n }, (_, i) => {
    const [j, k] = [Math.floor(i / n), i % n];
    return p[j]! * ((j === k ? 1 : 0) - p[k]!);
  });
  return new Plane(n, n, values);
}

export class SoftmaxView {
  readonly node: HTMLElement;
  private readonly bar: Bar;
  private readonly body = element("div", {
    class: "closeup",
    tabindex: 0,
    role: "region",
    "aria-label":
      "One row of a softmax. Arrow up and down choose the row, left and right the head, page up and down the layer.",
  });

  constructor(private readonly app: App) {
    this.bar = new Bar([
      kindSwitch(app),
      layerSwitch(app),
      headSwitch(app),
      rowSwitch(app, "Row", () => app.tokens(app.block()?.rows ?? 0)),
      outputSwitch(app, true),
    ]);
    this.body.addEventListener("keydown", (event) => {
      if (event.target === this.body && attentionKeys(app, event)) event.preventDefault();
    });
    this.node = element("section", { class: "view" }, this.bar.node, this.body);
  }

  update() {
    this.bar.update();
    const { app } = this;
    const block = app.block()!;
    const [row, head] = [app.state.row ?? 0, app.head()];
    const gradients = block.gradients[app.state.output];
    const p = tensor(block.values.probabilities)?.row(row, head);
    const g = tensor(gradients?.probabilities)?.row(row, head);
    const recorded = tensor(gradients?.scores)?.row(row, head);
    const query = shortened(app.tokens(block.rows)[row] ?? "", 24);
    const title = element("h2", {}, `${block.module}, head ${head}, row ${row} “${query}”`);
    if (!p || !g || !recorded) {
      const none = element("p", { class: "muted" }, "No gradient of this output arrives here.");
      return this.body.replaceChildren(title, none);
    }
    const names = app.tokens(block.columns).map((token) => shortened(token, 18));
    this.body.replaceChildren(title, ...this.worked(p, g, recorded, names));
  }

  private worked(p: Float32Array, g: Float32Array, recorded: Float32Array, names: string[]): HTMLElement[] {
    const { products, sum, differences, dx } = softmaxBackward(p, g);
    const difference = dx.map((value, j) => value - recorded[j]!);
    const both = around(dx, recorded);
    const table = numbersTable(
      "key",
      names,
      [
        { name: "p", key: "p", values: p, scale: rising(1) },
        { name: "g = dL/dp", key: "g", values: g, scale: around(g) },
        { name: "p·g", key: "pg", values: products, scale: around(products) },
        { name: "g − Σ", key: "g-sum", values: differences, scale: around(differences) },
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
        "p = softmax(x). The gradient g arrives at p; to x goes dx = Jᵀg with Jⱼₖ = pⱼ(δⱼₖ − pₖ), which is dxⱼ = pⱼ(gⱼ − Σ).",
      ),
      steps(["Σ = Σₖ pₖ gₖ", sum, "sum"]),
      element("div", { class: "scroll" }, table),
      verdict(dx, recorded, largest(products, dx)),
      element("p", { class: "note muted" }, tints),
      this.jacobian(p, g, dx, names),
    ];
  }

  private jacobian(p: Float32Array, g: Float32Array, dx: number[], names: string[]): HTMLElement {
    const plane = softmaxJacobian(p);
    const title = "The Jacobian, J = diag(p) − ppᵀ";
    if (p.length > shortRow) {
      const heat = new Heat({ id: "jacobian-picture", title, plane, rows: names, columns: names, unit: "dp / dx" });
      requestAnimationFrame(() => heat.picture.redraw());
      return element("div", { class: "jacobian" }, heat.picture.node);
    }
    const scale = signed(plane.size());
    const [ofG, ofDx] = [around(g), around(dx)];
    const number = (value: number, key: string, colours: typeof scale) => {
      const cell = element(
        "td",
        { class: "number", "data-column": key, "data-value": value, title: exact(value) },
        column(value),
      );
      tint(cell, value, colours);
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
