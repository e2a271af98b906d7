// Ablations of a head: all of its weights set to 0, one key masked, or one row made uniform.
import { element } from "../../shared/dom";
import type { App } from "../app";
import { shortened } from "../widgets/switches";
import { scaleAround, numbersTable, tintNote } from "../widgets/number_table";
import { sequential } from "../../shared/colors";
import type { Cut } from "../data";

export function cutsTable(app: App): HTMLElement[] {
  const block = app.block()!;
  const { output } = app.state;
  const of = app.data.nudges!.cuts.filter(({ module, head }) => module === block.module && head === app.head());
  const named = ({ kind, place }: Cut) => {
    if (kind === "head") return "the whole head";
    const token = shortened(app.tokens(kind === "key" ? block.columns : block.rows)[place] ?? "", 18);
    return kind === "key" ? `key ${place} ${token} masked` : `row ${place} ${token} uniform`;
  };
  const predicted = of.map((cut) => cut.predicted[output]!);
  const effects = of.map((cut) => cut.effects[output]!);
  const scale = scaleAround(predicted, effects);
  const moved = of.map((cut) => cut.moved);
  const name = shortened(app.data.outputs[output]!.name, 24);
  return [
    element("h2", { title: block.module }, `${app.nameOf(block.module)}, head ${app.head()}: effect of ablations`),
    element(
      "div",
      { class: "scroll" },
      numbersTable(
        "ablation",
        of.map(named),
        [
          { key: "predicted", name: "predicted, Σ g · Δ", values: predicted, scale },
          { key: "effect", name: `true change of ${name}`, values: effects, scale },
          { key: "moved", name: "|y′ − y| / |y|", values: moved, scale: sequential(Math.max(0, ...moved)) },
        ],
        {},
      ),
    ),
    element(
      "p",
      { class: "note muted" },
      `y is the output of this attention module. The whole head: all its weights are 0. A masked key: no query attends to it, and the rest of each row is rescaled to sum to 1. A uniform row: the query attends equally to all keys that it may see. An ablation is not a small change: where the two numbers differ, the gradient alone would be misleading. ${tintNote}`,
    ),
  ];
}
