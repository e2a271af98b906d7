// One row of a feed-forward activation: forward and backward, unit by unit.
import { element } from "../../shared/dom";
import type { App } from "../app";
import { scaleAround, maxAbs, numbersTable, tintNote, verdict } from "../widgets/number_table";
import type { Activation } from "../data";
import { LayerRowView } from "./layer_row";
import { tensor, type Numbers } from "../tensor";

// A series near 0 and a continued fraction elsewhere: Abramowitz and Stegun 7.1.26 is not accurate enough.
export function erf(x: number): number {
  const z = Math.abs(x);
  if (z < 2.5) {
    let [term, sum] = [z, z];
    for (let n = 1; Math.abs(term) > 1e-17 * Math.abs(sum) && n < 200; ++n) {
      term *= (-z * z) / n;
      sum += term / (2 * n + 1);
    }
    return (Math.sign(x) * 2 * sum) / Math.sqrt(Math.PI);
  }
  let fraction = 0;
  for (let n = 60; n > 0; --n) fraction = n / 2 / (z + fraction);
  return Math.sign(x) * (1 - Math.exp(-z * z) / Math.sqrt(Math.PI) / (z + fraction));
}

const sigmoid = (x: number) => 1 / (1 + Math.exp(-x));
const root = Math.sqrt(2 / Math.PI);

// Each activation with its derivative and their formula.
export const activations: Record<string, { f: (x: number) => number; slope: (x: number) => number; formula: string }> =
  {
    relu: {
      f: (x) => Math.max(0, x),
      slope: (x) => (x > 0 ? 1 : 0),
      formula: "f(h) = max(h, 0), f′ = 1 where h > 0, else 0",
    },
    gelu: {
      f: (x) => 0.5 * x * (1 + erf(x / Math.SQRT2)),
      slope: (x) => 0.5 * (1 + erf(x / Math.SQRT2)) + (x * Math.exp((-x * x) / 2)) / Math.sqrt(2 * Math.PI),
      formula: "f(h) = h Φ(h), f′ = Φ(h) + h φ(h), Φ and φ of the normal distribution",
    },
    gelu_tanh: {
      f: (x) => 0.5 * x * (1 + Math.tanh(root * (x + 0.044715 * x ** 3))),
      slope: (x) => {
        const t = Math.tanh(root * (x + 0.044715 * x ** 3));
        return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * root * (1 + 3 * 0.044715 * x * x);
      },
      formula: "f(h) = h (1 + t)/2 with t = tanh(√(2/π) (h + 0.044715 h³)), f′ = (1 + t)/2 + h t′/2",
    },
    silu: {
      f: (x) => x * sigmoid(x),
      slope: (x) => sigmoid(x) * (1 + x * (1 - sigmoid(x))),
      formula: "f(h) = h σ(h), f′ = σ(h) (1 + h (1 − σ(h)))",
    },
    tanh: { f: Math.tanh, slope: (x) => 1 - Math.tanh(x) ** 2, formula: "f(h) = tanh h, f′ = 1 − f²" },
    sigmoid: { f: sigmoid, slope: (x) => sigmoid(x) * (1 - sigmoid(x)), formula: "f(h) = σ(h), f′ = σ (1 − σ)" },
  };

export class ActivationView extends LayerRowView<Activation> {
  constructor(app: App) {
    super(app, "Activation", () => app.data.activations);
  }

  protected worked(layer: Activation, row: number, g: Float32Array, recorded: Float32Array): HTMLElement[] {
    const known = activations[layer.function]!;
    const h = tensor(layer.input).row(row);
    const output = tensor(layer.output).row(row);
    const f = Array.from(h, known.f);
    const slope = Array.from(h, known.slope);
    const dh = slope.map((value, unit) => value * g[unit]!);
    const awake = f.filter((value) => value > 0).length;
    const both = scaleAround(dh, recorded);
    // Units with the largest gradient first.
    const order = Array.from(dh.keys()).sort((a, b) => Math.abs(dh[b]!) - Math.abs(dh[a]!) || a - b);
    const sorted = (values: Numbers) => order.map((unit) => values[unit]!);
    const table = numbersTable(
      "unit",
      order.map(String),
      [
        { name: "h", key: "h", values: sorted(h), scale: scaleAround(h) },
        { name: "f(h)", key: "f", values: sorted(f), scale: scaleAround(f) },
        { name: "recorded f", key: "output", values: sorted(output), scale: scaleAround(f) },
        { name: "f′(h)", key: "slope", values: sorted(slope), scale: scaleAround(slope) },
        { name: "g = dL/df", key: "g", values: sorted(g), scale: scaleAround(g) },
        { name: "dh = g f′(h)", key: "dh", values: sorted(dh), scale: both },
        { name: "recorded", key: "recorded", values: sorted(recorded), scale: both },
        { name: "difference", key: "difference", values: order.map((unit) => dh[unit]! - recorded[unit]!) },
      ],
      {},
    );
    const region = { class: "scroll tall", tabindex: 0, role: "region", "aria-label": "All units of the row" };
    return [
      element(
        "p",
        { class: "formula" },
        `The activation between the two linear layers: ${known.formula}. Given the gradient g at f, the gradient at h is dh = g f′(h), unit by unit.`,
      ),
      element(
        "p",
        { class: "muted" },
        `${awake} of ${h.length} units are above 0. Units with the largest gradient come first.`,
      ),
      verdict(dh, recorded, maxAbs(g)),
      element("div", region, table),
      element("p", { class: "note muted" }, tintNote),
    ];
  }
}
