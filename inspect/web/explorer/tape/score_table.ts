// Logits over a vocabulary, or their gradients: the largest of each position, and that of the correct token.
import { element } from "../../shared/dom";
import type { App } from "../app";
import { targetWord } from "../views/output";
import { shortened } from "../widgets/switches";
import type { Axis } from "../data";
import { brief, exact } from "../../shared/numbers";
import type { Plane } from "../tensor";

const most = 2; // per position, in addition to the correct one

export function scoreTable(
  app: App,
  plane: Plane,
  axes: Axis[],
  columns: number[] | undefined,
  gradients: boolean,
): HTMLElement | null {
  const prediction = app.data.predictions.find(Boolean);
  const rows = axes.at(-2);
  if (!prediction) return null;
  const start = rows && typeof rows === "object" ? (rows.start ?? 0) : 0;
  const tokens = app.tokens(prediction.text);
  const tokenOf = (column: number) => columns?.[column] ?? column;
  const nameOf = (token: number) => shortened(prediction.names[token] ?? `#${token}`, 12);
  const cell = (column: number | undefined, row: number, right: boolean) => {
    if (column === undefined || (gradients && !right && plane.at(row, column) === 0)) return element("td", {}, "–");
    const value = plane.at(row, column);
    const attributes = { "data-row": row, "data-token": tokenOf(column), "data-value": value, title: exact(value) };
    return element(
      "td",
      { class: right ? "right" : "", ...attributes },
      nameOf(tokenOf(column)),
      element("span", {}, ` ${brief(value)}`),
    );
  };
  const body = element("tbody");
  for (let row = 0; row < plane.rows; ++row) {
    const ofText = rows && typeof rows === "object";
    const alone = prediction.text === null && plane.rows === prediction.targets.length;
    const target = ofText
      ? prediction.targets[start + row - prediction.start]
      : alone
        ? prediction.targets[row]
        : undefined;
    const order = Array.from({ length: plane.columns }, (_, column) => column);
    const size = (column: number) => (gradients ? Math.abs(plane.at(row, column)) : plane.at(row, column));
    order.sort((a, b) => size(b) - size(a) || a - b);
    const right = order.find((column) => tokenOf(column) === target);
    body.append(
      element(
        "tr",
        {},
        element(
          "th",
          { scope: "row", dir: "auto" },
          shortened(prediction.rows?.[row] ?? tokens[start + row] ?? String(row), 12),
        ),
        ...order.slice(0, most).map((column) => cell(column, row, column === right)),
        cell(right, row, true),
      ),
    );
  }
  const head = element("tr", {}, element("th", {}, "position"));
  for (const name of [gradients ? "largest" : "highest", "second", targetWord(prediction)])
    head.append(element("th", { scope: "col" }, name));
  return element("div", { class: "scroll" }, element("table", { class: "scores" }, element("thead", {}, head), body));
}
