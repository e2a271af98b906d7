// The confusion matrix as a table; cells are tinted by their share of the row.
import { sum } from "d3-array";
import { element, stepper, visible } from "../shared/dom";
import { percent, integer } from "../shared/format";
import type { Confusion, Subset } from "./data";

const share = (part: number, all: number) => (all > 0 ? part / all : null);
const shown = (value: number | null) => (value === null ? "–" : percent(value));

function rows({ labels, counts }: Confusion): HTMLElement[] {
  const predicted = labels.map((_, column) => sum(counts, (row) => row[column]!));
  return labels.map((label, row) => {
    const all = sum(counts[row]!);
    const cells = counts[row]!.map((count, column) => {
      const part = share(count, all) ?? 0;
      const kind = row === column ? "right" : "wrong";
      const cell = element(
        "td",
        {
          class: `cell ${kind}${part > 0.55 ? " strong" : ""}${count === 0 ? " none" : ""}`,
          title: `${visible(label)}, predicted as ${visible(labels[column]!)}: ${integer(count)} of ${integer(all)} (${percent(part)})`,
        },
        integer(count),
      );
      cell.style.setProperty("--share", `${Math.round(100 * part)}%`);
      return cell;
    });
    const hits = counts[row]![row]!;
    const [precision, recall] = [share(hits, predicted[row]!), share(hits, all)];
    const f1 = share(2 * hits, all + predicted[row]!);
    const figures = [integer(all), shown(precision), shown(recall), shown(f1)].map((text, index) =>
      element("td", { class: index === 0 ? "number sum" : "number" }, text),
    );
    return element("tr", {}, element("th", { scope: "row", dir: "auto" }, visible(label)), ...cells, ...figures);
  });
}

export function confusion(tables: Subset<Confusion>): HTMLElement | null {
  if (tables.logged === 0) return null;
  const head = element("h2", {}, "Confusion matrix");
  if (tables.shown.length === 0)
    return element(
      "section",
      { id: "confusion" },
      head,
      element("p", { class: "note muted" }, "It has too many labels to show here; it is in log.jsonl."),
    );
  const host = element("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Confusion matrix" });
  const show = (index: number) => {
    const table = tables.shown[index]!;
    const top = element(
      "tr",
      {},
      element("th", { class: "corner" }, "truth ↓  predicted →"),
      ...table.labels.map((label) => element("th", { scope: "col", class: "predicted", dir: "auto" }, visible(label))),
      ...["all", "precision", "recall", "F1"].map((name) => element("th", { scope: "col", class: "number" }, name)),
    );
    host.replaceChildren(
      element(
        "table",
        { class: `confusion${table.labels.length > 14 ? " dense" : ""}` },
        element("thead", {}, top),
        element("tbody", {}, ...rows(table)),
      ),
    );
  };
  const steps = stepper(tables.shown.length, (index) => `Step ${integer(tables.shown[index]!.step)}`, show);
  return element(
    "section",
    { id: "confusion" },
    element("div", { class: "head" }, head, steps),
    host,
    element("p", { class: "note muted" }, "Tint shows the share of the row: blue if correct, orange if wrong."),
  );
}
