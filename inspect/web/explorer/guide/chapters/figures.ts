// The figures that the chapters draw above a view, for numbers that no view shows: an update, and a replaced token.
import { element, radioGroup } from "../../../shared/dom";
import { exact } from "../../../shared/numbers";
import { numbersTable, scaleAround } from "../../widgets/number_table";
import { sequential } from "../../../shared/colors";
import { shortened } from "../../widgets/switches";
import { adamSteps, descended, softmaxOf } from "./adam";
import { followedEntry } from "./entry";
import { plain, resolved, type Step } from "./step";
import type { Story } from "./story";
import { rowAfter, squares, type Rates } from "./update";
import { replacement } from "./what_if";

const choices = [0.001, 0.01, 0.1, 1];

function rateSwitch(rate: number, chosen: (rate: number) => void): HTMLElement {
  const options = choices.map((value): [string, string] => [String(value), String(value)]);
  return radioGroup("Learning rate η", options, String(rate), (value) => chosen(Number(value)));
}

// Quantities with their values; key: data-lesson.
function facts(lines: [string, number, string, string][]): HTMLElement {
  const list = element("dl", { class: "steps" });
  for (const [name, value, key, words] of lines) {
    const shown = element("dd", { "data-lesson": key, "data-value": value, title: exact(value) }, words);
    list.append(element("div", {}, element("dt", {}, name), shown));
  }
  return list;
}

// changed: called after the reader has set a learning rate.
export function figureOf(kind: Step["figure"], story: Story, rates: Rates, changed: () => void): HTMLElement[] {
  if (kind === "update") return updateFigure(story, rates, changed);
  if (kind === "row") return rowFigure(story, rates, changed);
  if (kind === "adam") return adamFigure(story, rates, changed);
  return kind === "token" ? tokenFigure(story) : [];
}

function descent(rates: Rates, changed: () => void): HTMLElement {
  return rateSwitch(rates.descent, (rate) => {
    rates.descent = rate;
    changed();
  });
}

function updateFigure(story: Story, rates: Rates, changed: () => void): HTMLElement[] {
  const entry = followedEntry(story);
  if (!entry) return [];
  const { name, place, value, gradient } = entry;
  const after = descended(value, gradient, rates.descent);
  const sum = squares(story);
  return [
    element("h2", {}, `An update of ${name}, row ${place[0]}, column ${place[1]}`),
    descent(rates, changed),
    facts([
      ["before, w", value, "before", resolved(value, after - value)],
      ["gradient g", gradient, "gradient", plain(gradient)],
      ["change, −η · g", after - value, "change", plain(-rates.descent * gradient)],
      ["after, w − η · g", after, "after", resolved(after, after - value)],
    ]),
    facts([
      ["squared gradients of all parameters, Σ g²", sum, "squares", plain(sum)],
      [
        `predicted change of the ${story.name}, −η · Σ g²`,
        -rates.descent * sum,
        "predicted",
        plain(-rates.descent * sum),
      ],
    ]),
    story.loss && rates.descent * sum > story.app.data.outputs[0]!.value!
      ? element(
          "p",
          { class: "note muted" },
          "That is more than the whole loss: the slope is no guide for such a large step.",
        )
      : element("p", { class: "note muted" }, "A prediction, as good as the step is small."),
  ];
}

function rowFigure(story: Story, rates: Rates, changed: () => void): HTMLElement[] {
  const { app, followed } = story;
  const found = rowAfter(story, rates.descent);
  if (!followed || !found) return [];
  const { block, head, row } = followed;
  const before = softmaxOf(found.before);
  const change = found.scores.map((score, key) => (Number.isFinite(score) ? score - found.before[key]! : 0));
  const names = app.tokens(block.columns).map((token) => shortened(token, 18));
  const seen = names.map((_, key) => key).filter((key) => found.before[key]! > -1e30);
  const of = (values: number[]) => seen.map((key) => values[key]!);
  const query = shortened(app.tokens(block.rows)[row]!, 18);
  const table = numbersTable(
    "key",
    of(seen).map((key) => names[key]!),
    [
      { name: "Δ score", key: "change", values: of(change), scale: scaleAround(change) },
      { name: "weight before", key: "before", values: of(before), scale: sequential(1) },
      { name: "weight after", key: "after", values: of(found.weights), scale: sequential(1) },
    ],
    {},
  );
  table.querySelectorAll("tbody tr").forEach((line, index) => line.setAttribute("data-index", String(seen[index])));
  return [
    element("h2", {}, `Head ${head}, row “${query}”, after an update of its query matrix`),
    descent(rates, changed),
    element("div", { class: "scroll" }, table),
  ];
}

const steps = 5;

function adamFigure(story: Story, rates: Rates, changed: () => void): HTMLElement[] {
  const entry = followedEntry(story);
  if (!entry) return [];
  const g = entry.gradient;
  const count = Array.from({ length: steps }, (_, step) => step);
  const changes = (sign: (step: number) => number) =>
    adamSteps(
      count.map((step) => g * sign(step)),
      rates.adam,
    ).map(({ change }) => change);
  const [same, flips] = [changes(() => 1), changes((step) => (step % 2 === 0 ? 1 : -1))];
  const plainSteps = count.map(() => -rates.adam * g);
  const scale = scaleAround(same);
  return [
    element("h2", {}, `Adam's steps for a gradient of ${plain(g)}`),
    rateSwitch(rates.adam, (rate) => {
      rates.adam = rate;
      changed();
    }),
    element(
      "div",
      { class: "scroll" },
      numbersTable(
        "step",
        count.map((step) => String(step + 1)),
        [
          { name: "gradient descent, −η · g", key: "plain", values: plainSteps },
          { name: "Adam, if g stays", key: "same", values: same, scale },
          { name: "Adam, if g flips its sign", key: "flips", values: flips, scale },
        ],
        {},
      ),
    ),
    element(
      "p",
      { class: "note muted" },
      "Running mean with factor 0.9, running mean of squares with factor 0.999, both corrected for their start at 0.",
    ),
  ];
}

const mostRows = 6;

function tokenFigure(story: Story): HTMLElement[] {
  const found = replacement(story);
  if (!found) return [];
  const { of, text, token, name } = story;
  const { pairs, from, to, slope, other, predicted } = found;
  const size = (d: number) => Math.abs(pairs[d]![0] * pairs[d]![1]);
  const order = pairs.map((_, d) => d).sort((a, b) => size(b) - size(a));
  const kept = order.slice(0, mostRows);
  const values = kept.map((d) => pairs[d]![0] * pairs[d]![1]);
  return [
    element("h2", {}, `${of(text, other)} instead of ${of(text, token)}, number by number`),
    facts([[`predicted change of the ${name}, Σ change × gradient`, predicted, "predicted", plain(predicted)]]),
    element(
      "div",
      { class: "scroll" },
      numbersTable(
        "number",
        kept.map(String),
        [
          { name: of(text, token), key: "from", values: kept.map((d) => from[d]!) },
          { name: of(text, other), key: "to", values: kept.map((d) => to[d]!) },
          { name: "change", key: "change", values: kept.map((d) => pairs[d]![0]) },
          { name: "gradient", key: "gradient", values: kept.map((d) => slope[d]!) },
          { name: "change × gradient", key: "product", values, scale: scaleAround(values) },
        ],
        {},
      ),
    ),
    element("p", { class: "note muted" }, `The ${kept.length} largest products of ${pairs.length}.`),
  ];
}
