// One row of a rotary embedding: each pair of a head's columns, rotated by its angle, and its gradient rotated back.
import { element } from "../../shared/dom";
import type { App } from "../app";
import { headSwitch } from "../widgets/switches";
import { scaleAround, maxAbs, numbersTable, tintNote, verdict } from "../widgets/number_table";
import type { Rotary } from "../data";
import { LayerRowView } from "./layer_row";
import { tensor } from "../tensor";

// The columns that are rotated together, and their angle at a position.
export function pairsOf(
  { turned, theta, pairing }: Rotary,
  position: number,
): { u: number; v: number; angle: number }[] {
  const half = turned / 2;
  return Array.from({ length: half }, (_, pair) => ({
    u: pairing === "halves" ? pair : 2 * pair,
    v: pairing === "halves" ? pair + half : 2 * pair + 1,
    angle: position * theta ** ((-2 * pair) / turned),
  }));
}

export class RotaryView extends LayerRowView<Rotary> {
  constructor(app: App) {
    super(app, "Rotary", () => app.data.rotaries, [headSwitch(app)]);
  }

  protected worked(layer: Rotary, row: number, g: Float32Array, recorded: Float32Array): HTMLElement[] {
    const head = Math.min(this.app.head(), Math.floor(g.length / layer.width) - 1);
    const from = head * layer.width;
    const part = (values: Float32Array) => values.subarray(from, from + layer.width);
    const [x, y, dy, dx] = [tensor(layer.input).row(row), tensor(layer.output).row(row), g, recorded].map(part);
    const pairs = pairsOf(layer, row);
    const column = (of: (pair: { u: number; v: number; angle: number }) => number) => pairs.map(of);
    const back = pairs.flatMap(({ u, v, angle }) => [
      dy![u]! * Math.cos(angle) + dy![v]! * Math.sin(angle),
      dy![v]! * Math.cos(angle) - dy![u]! * Math.sin(angle),
    ]);
    const expected = pairs.flatMap(({ u, v }) => [dx![u]!, dx![v]!]);
    const both = scaleAround(back, expected);
    const table = numbersTable(
      "pair",
      pairs.map(({ u, v }) => `${u}, ${v}`),
      [
        { name: "angle a", key: "angle", values: column(({ angle }) => angle) },
        { name: "u", key: "u", values: column(({ u }) => x![u]!), scale: scaleAround(x!) },
        { name: "v", key: "v", values: column(({ v }) => x![v]!), scale: scaleAround(x!) },
        {
          name: "u cos a − v sin a",
          key: "turned-u",
          values: column(({ u, v, angle }) => x![u]! * Math.cos(angle) - x![v]! * Math.sin(angle)),
          scale: scaleAround(y!),
        },
        {
          name: "u sin a + v cos a",
          key: "turned-v",
          values: column(({ u, v, angle }) => x![u]! * Math.sin(angle) + x![v]! * Math.cos(angle)),
          scale: scaleAround(y!),
        },
        { name: "du", key: "du", values: back.filter((_, index) => index % 2 === 0), scale: both },
        { name: "recorded", key: "recorded-u", values: expected.filter((_, index) => index % 2 === 0), scale: both },
        { name: "dv", key: "dv", values: back.filter((_, index) => index % 2 === 1), scale: both },
        { name: "recorded", key: "recorded-v", values: expected.filter((_, index) => index % 2 === 1), scale: both },
      ],
      {},
    );
    return [
      element(
        "p",
        { class: "formula" },
        `Pair i of head ${head} is rotated by a = ${row} · ${layer.theta}^(−2i/${layer.turned}) at position ${row}. Backward rotates the gradient back: du = g_u cos a + g_v sin a, dv = g_v cos a − g_u sin a.`,
      ),
      verdict(back, expected, maxAbs(dy!)),
      element("div", { class: "scroll" }, table),
      element("p", { class: "note muted" }, tintNote),
    ];
  }
}
