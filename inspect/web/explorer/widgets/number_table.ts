// Tables of exact values and their comparison with recorded ones, shared by the numeric views.
import { element } from "../../shared/dom";
import { diverging, type Scale } from "../../shared/colors";
import { tint } from "./heatmap";
import { brief, tabular, exact } from "../../shared/numbers";
import { Plane, type Numbers } from "../tensor";

export interface Column {
  name: string;
  key: string; // data-column of its cells
  values: Numbers;
  scale?: Scale;
  offer?: (cell: HTMLElement, index: number) => void; // makes its cells editable
}

// One row per index; sums is the footer, by column key.
export function numbersTable(
  heading: string,
  names: string[],
  columns: Column[],
  sums: Record<string, [string, number]>,
) {
  const cell = (value: number, { key, scale, offer }: Column, index: number) => {
    const made = element(
      "td",
      { class: "number", "data-column": key, "data-value": value, title: exact(value) },
      tabular(value),
    );
    if (scale) tint(made, value, scale);
    offer?.(made, index);
    return made;
  };
  const head = element("tr", {}, element("th", { scope: "col" }, heading));
  for (const { name } of columns) head.append(element("th", { scope: "col", class: "number" }, name));
  const body = element("tbody");
  names.forEach((name, index) =>
    body.append(
      element(
        "tr",
        { "data-index": index },
        element("th", { scope: "row", dir: "auto" }, name),
        ...columns.map((entry) => cell(entry.values[index]!, entry, index)),
      ),
    ),
  );
  const foot = element("tr", {}, element("th", { scope: "row" }, ""));
  for (const { key } of columns) {
    const sum = sums[key];
    const shown = sum && [element("span", { class: "muted" }, `${sum[0]} `), tabular(sum[1])];
    const attributes: Record<string, string | number> = sum
      ? { "data-sum": key, "data-value": sum[1], title: exact(sum[1]) }
      : {};
    foot.append(element("td", { class: "number", ...attributes }, ...(shown ?? [])));
  }
  const any = Object.keys(sums).length > 0;
  return element("table", { class: "numbers" }, element("thead", {}, head), body, any && element("tfoot", {}, foot));
}

export const noGradient = "This output has no gradient here.";
export const noGradientNote = () => element("p", { class: "muted" }, noGradient);

export const tintNote =
  "Tint shows the size relative to the largest value of the column: blue is positive, orange negative. Hover over a number to see all its digits.";

export function maxAbs(...lists: Numbers[]): number {
  return Math.max(0, ...lists.map((list) => new Plane(1, list.length, list).maxAbs()));
}

export function scaleAround(...lists: Numbers[]): Scale {
  return diverging(maxAbs(...lists));
}

// Compares computed numbers with the recorded ones. terms: the largest term, which bounds the float32 rounding error.
export function verdict(worked: number[], recorded: Numbers, terms: number, what = "gradient"): HTMLElement {
  let [off, size] = [0, 0];
  worked.forEach((value, index) => {
    off = Math.max(off, Math.abs(value - recorded[index]!));
    size = Math.max(size, Math.abs(recorded[index]!));
  });
  const agrees = off <= 1e-5 * size + 2e-6 * terms;
  const words = `${agrees ? "Matches" : "Differs from"} the ${what} recorded on the tape: largest difference ${brief(Number(off.toPrecision(2)))}, largest ${what} ${brief(size)}.`;
  return element(
    "p",
    { class: `verdict ${agrees ? "good" : "bad"}`, "data-difference": off, "data-size": size },
    words,
  );
}

// Formulas with their values; the key becomes data-step.
export function formulaSteps(...lines: [string, number, string][]): HTMLElement {
  const list = element("dl", { class: "steps" });
  for (const [formula, value, key] of lines) {
    const number = element("dd", { "data-step": key, "data-value": value, title: exact(value) }, tabular(value));
    list.append(element("div", {}, element("dt", {}, formula), number));
  }
  return list;
}

// Scrolls a table to one of its cells so that the row names cut no column: the tail of a number would read as another
// number.
export function scrollToCell(part: Element) {
  const box = part.closest(".scroll");
  const [names, ...cells] = part.closest("tr")?.cells ?? [];
  if (!box || !names) return;
  const [from, to] = [names.getBoundingClientRect().right, box.getBoundingClientRect().right];
  const of = (element: Element) => element.getBoundingClientRect();
  if (of(part).right > to || of(part).left < from) box.scrollLeft += (of(part).left + of(part).right - from - to) / 2;
  const cut = cells.find((cell) => of(cell).left < from - 1 && of(cell).right > from + 1);
  if (!cut) return;
  const back = from - of(cut).left;
  box.scrollLeft += of(part).right + back > to ? of(cut).right - from : -back;
}
