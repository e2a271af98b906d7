// The effect of the edits: an output before and after, and what its gradient predicted.
import type { App } from "../app";
import { element, visible } from "../../shared/dom";
import { brief, exact, resolving } from "../../shared/numbers";
import { predicted } from "./prediction";
import type { Session } from "./session";
import { wordsOf } from "./words";

export interface Effect {
  name: string; // of the output
  before: number;
  after: number;
  predicted: number | null; // null: the page does not store what a prediction needs
}

// Null if there are no edits.
export function effectOf({ base, edits }: Session, app: App): Effect | null {
  const { output } = app.state;
  const before = base?.data.outputs[output];
  if (!base || !before || edits.length === 0) return null;
  const parts = edits.map((edit) => predicted(edit, base.data, output)?.effect ?? null);
  return {
    name: visible(before.name),
    before: before.value ?? NaN,
    after: app.data.outputs[output]?.value ?? NaN,
    predicted: parts.includes(null) ? null : parts.reduce<number>((sum, effect) => sum + effect!, 0),
  };
}

export const signed = (value: number) => `${value > 0 ? "+" : ""}${brief(value)}`;

function number(value: number | null, key: string, words = value === null ? "–" : signed(value)): HTMLElement {
  if (value === null) return element("td", { class: "number muted" }, words);
  return element("td", { class: "number", "data-effect": key, "data-value": value, title: exact(value) }, words);
}

// One row per edit, then their sum beside the actual change.
export function comparison(session: Session, app: App): HTMLElement | null {
  const effect = effectOf(session, app);
  const { base, edits } = session;
  if (!effect || !base) return null;
  const rows = edits.map((edit) => {
    const found = predicted(edit, base.data, app.state.output);
    const { short, where } = wordsOf(edit, app);
    return element(
      "tr",
      {},
      element("th", { scope: "row", title: where }, short),
      number(found?.gradient ?? null, "gradient"),
      number(found?.change ?? null, "change"),
      number(found?.effect ?? null, "predicted"),
    );
  });
  const actual = effect.after - effect.before;
  const head = ["edit", "gradient", "change", "gradient × change"].map((name, index) =>
    element("th", { scope: "col", class: index > 0 ? "number" : "" }, name),
  );
  const total = (name: string, value: number | null, key: string) =>
    element("tr", {}, element("th", { scope: "row", colspan: 3 }, name), number(value, key));
  return element(
    "section",
    { class: "comparison", "aria-label": "Effect of the edits" },
    element("h2", {}, `What the edits do to ${effect.name}`),
    element(
      "p",
      {},
      element("b", { "data-effect": "before", "data-value": effect.before }, resolving(effect.before, actual)),
      " before, ",
      element("b", { "data-effect": "after", "data-value": effect.after }, resolving(effect.after, actual)),
      " after. The gradient predicts gradient × change for each edit; it is exact only for small changes.",
    ),
    element(
      "div",
      { class: "scroll" },
      element(
        "table",
        { class: "effects" },
        element("thead", {}, element("tr", {}, ...head)),
        element("tbody", {}, ...rows),
        element(
          "tfoot",
          {},
          total("predicted change", effect.predicted, "sum"),
          total("actual change", actual, "actual"),
        ),
      ),
    ),
    effect.predicted === null &&
      element("p", { class: "note muted" }, "–: the page does not store the gradient that this prediction needs."),
  );
}
