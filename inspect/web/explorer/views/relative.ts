// One query of attention with learned relative positions: what the tables add to its scores, and their gradients.
import { element } from "../../shared/dom";
import type { App } from "../app";
import { menu, shortened } from "../widgets/switches";
import { scaleAround, maxAbs, numbersTable, tintNote, verdict, noGradientNote } from "../widgets/number_table";
import { sequential } from "../../shared/colors";
import type { Attention, PackedTensor } from "../data";
import { Heatmap } from "../widgets/heatmap";
import { exact } from "../../shared/numbers";
import { QueryRowView } from "./query_row";
import { softmaxBackward } from "./softmax";
import { Plane, tensor, type Numbers } from "../tensor";

export const dot = (a: Numbers, b: Numbers) => Array.from(a).reduce((sum, value, d) => sum + value * b[d]!, 0);

// The table row of a query and a key: their distance, clipped to the range of the tables.
export function tableRow(table: PackedTensor, query: number, key: number): number {
  const most = (table.shape[0]! - 1) / 2;
  return Math.max(-most, Math.min(most, key - query)) + most;
}

// Gradients of the tables, summed over all heads and over all pairs at each distance.
export function tableGradients(block: Attention, output: number): { keys: Float64Array; values: Float64Array } | null {
  const { keys, values } = block.relative!;
  const of = block.gradients[output];
  const [q, p] = [tensor(block.values.query), tensor(block.values.probabilities)];
  const [ds, dz] = [tensor(of?.scores), tensor(of?.context)];
  if (!q || !p || !ds || !dz) return null;
  const sent = {
    keys: new Float64Array(keys.shape[0]! * keys.shape[1]!),
    values: new Float64Array(values.shape[0]! * values.shape[1]!),
  };
  const [, queries, count] = p.storedShape as [number, number, number];
  for (let head = 0; head < block.heads; ++head)
    for (let row = 0; row < queries; ++row)
      for (let key = 0; key < count; ++key) {
        const c = tableRow(keys, row, key);
        const add = (to: Float64Array, factor: number, from: Float32Array) =>
          from.forEach((value, d) => (to[c * from.length + d]! += factor * value));
        add(sent.keys, block.scale * ds.row(row, head)[key]!, q.row(row, head));
        add(sent.values, p.row(row, head)[key]!, dz.row(row, head));
      }
  return sent;
}

export class RelativeView extends QueryRowView {
  private readonly heats: Heatmap[] = [];

  constructor(app: App) {
    const blocks = app.data.attention.filter(({ relative }) => relative);
    const attention = menu(
      "Attention",
      () => blocks.map(({ module }) => [module, app.nameOf(module)]),
      () => app.state.block,
      (block) => app.set({ block, row: null }),
    );
    const label = "One query and its relative positions. Up and down arrows select the query, left and right the head.";
    super(app, label, [attention], (key) => !key.startsWith("Page"));
  }

  protected shown(block: Attention, head: number, row: number): HTMLElement[] {
    return [...this.worked(block, head, row), ...this.tables(block)];
  }

  protected drawn() {
    for (const heat of this.heats.splice(0)) heat.picture.redraw();
  }

  private worked(block: Attention, head: number, row: number): HTMLElement[] {
    const { app } = this;
    const gradients = block.gradients[app.state.output];
    const [table, further] = [tensor(block.relative!.keys), tensor(block.relative!.values)];
    const part = (packed: PackedTensor | null | undefined, at = row) => tensor(packed)?.row(at, head);
    const { query, key, value, scores, mask, probabilities } = block.values;
    const [q, s, recordedP, added] = [part(query)!, part(scores)!, part(probabilities)!, part(mask)!];
    const [dz, dp, ds] = [part(gradients?.context), part(gradients?.probabilities), part(gradients?.scores)];
    if (!dz || !dp || !ds) return [value ? noGradientNote() : element("p", { class: "muted" }, valuesMissing)];
    const names = app.tokens(block.columns).map((token) => shortened(token, 18));
    const c = names.map((_, j) => tableRow(block.relative!.keys, row, j));
    const dots = names.map((_, j) => block.scale * dot(q, part(key, j)!));
    const positions = c.map((at) => block.scale * dot(q, table.row(at)));
    const hidden = (j: number) => added[j] === -Infinity;
    const sums = dots.map((value, j) => (hidden(j) ? -Infinity : value + positions[j]!));
    const most = Math.max(...sums);
    const raised = sums.map((sum) => Math.exp(sum - most));
    const total = raised.reduce((a, b) => a + b, 0);
    const p = raised.map((value) => value / total);
    const g = c.map((at, j) => dot(dz, part(value, j)!) + dot(dz, further.row(at)));
    const { dx } = softmaxBackward(p, g);
    const [scoreScale, both, dsBoth] = [scaleAround(s, positions), scaleAround(g, dp), scaleAround(dx, ds)];
    const columns = numbersTable(
      "key, j − i",
      names.map((name, j) => `${name}, ${exact(j - row)}`),
      [
        { name: "s · qkⱼ", key: "dots", values: dots, scale: scoreScale },
        { name: "s · qa", key: "positions", values: positions, scale: scoreScale },
        { name: "recorded", key: "recorded-positions", values: added, scale: scoreScale },
        { name: "p", key: "p", values: p, scale: sequential(1) },
        { name: "recorded", key: "recorded-p", values: recordedP, scale: sequential(1) },
        { name: "g = dz·(v + b)", key: "g", values: g, scale: both },
        { name: "recorded", key: "recorded-g", values: dp, scale: both },
        { name: "ds = p(g − Σ)", key: "ds", values: dx, scale: dsBoth },
        { name: "recorded", key: "recorded-ds", values: ds, scale: dsBoth },
      ],
      { p: ["sum", p.reduce((a, b) => a + b, 0)] },
    );
    return [
      element(
        "p",
        { class: "formula" },
        `The score of query i and key j is s · q·(kⱼ + a), and the key contributes pⱼ(vⱼ + b), where a and b are the rows of two learned tables for the distance j − i, clipped to ±${(table.storedShape[0]! - 1) / 2}; s = ${block.scale.toPrecision(4)}. dz is the gradient at the head's output for the query.`,
      ),
      element("div", { class: "scroll" }, columns),
      verdict(
        dx,
        ds,
        maxAbs(
          p.map((value, j) => value * g[j]!),
          dx,
        ),
      ),
      element("p", { class: "note muted" }, tintNote),
    ];
  }

  // All heads and queries share the tables: their gradients are sums over all pairs at a distance.
  private tables(block: Attention): HTMLElement[] {
    const { output } = this.app.state;
    const recorded = block.relative!.gradients[output];
    const sent = tableGradients(block, output);
    if (!sent || !recorded) return [];
    const most = (block.relative!.keys.shape[0]! - 1) / 2;
    const distances = Array.from({ length: 2 * most + 1 }, (_, c) => String(c - most));
    const one = (name: string, id: string, values: Float64Array, packed: PackedTensor | null) => {
      const expected = tensor(packed)?.values;
      if (!expected) return [];
      const plane = new Plane(distances.length, values.length / distances.length, values);
      const heat = new Heatmap({ id, title: name, plane, rows: distances });
      this.heats.push(heat);
      return [element("div", {}, heat.picture.node, verdict([...values], expected, maxAbs(values)))];
    };
    return [
      element("h3", {}, "Gradients of the tables, summed over all heads and all pairs at a distance (rows: j − i)"),
      element(
        "div",
        { class: "triple" },
        ...one("da = s Σ ds · q", "relative-keys", sent.keys, recorded.keys),
        ...one("db = Σ p · dz", "relative-values", sent.values, recorded.values),
      ),
    ];
  }
}

export const valuesMissing =
  "Values and contexts are not stored because the page would be too large. Use a shorter text to see them.";
