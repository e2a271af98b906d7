// What becomes of the loss when a head says nothing, a key is hidden or a row looks everywhere alike.
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
    return kind === "key" ? `key ${place} ${token} hidden` : `row ${place} ${token} flattened`;
  };
  const predicted = of.map((cut) => cut.predicted[output]!);
  const effects = of.map((cut) => cut.effects[output]!);
  const scale = scaleAround(predicted, effects);
  const moved = of.map((cut) => cut.moved);
  const name = shortened(app.data.outputs[output]!.name, 24);
  return [
    element("h2", {}, `${block.module}, head ${app.head()}: what a cut does`),
    element(
      "div",
      { class: "scroll" },
      numbersTable(
        "without",
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
      `y is what this attention module gives. A whole head: its weights are 0. A key hidden: no query sees it, the rest of each row is scaled to 1. A row flattened: the query looks at all keys it may see alike. A cut is no small change: where the two numbers differ, the gradient alone would have misled. ${tintNote}`,
    ),
  ];
}
