// Sample outputs next to their references, at the selected step.
import { element, stepper, visible } from "../shared/dom";
import { integer } from "../shared/format";
import type { Samples, Subset } from "./data";

// Whether each word of `text` is outside the longest common subsequence with `reference`.
export function differing(text: string[], reference: string[]): boolean[] {
  const lengths = Array.from({ length: text.length + 1 }, () => new Uint16Array(reference.length + 1));
  for (let i = text.length - 1; i >= 0; --i) {
    for (let j = reference.length - 1; j >= 0; --j) {
      lengths[i]![j] =
        text[i] === reference[j] ? lengths[i + 1]![j + 1]! + 1 : Math.max(lengths[i + 1]![j]!, lengths[i]![j + 1]!);
    }
  }
  const marks = text.map(() => true);
  for (let i = 0, j = 0; i < text.length && j < reference.length;) {
    if (text[i] === reference[j]) {
      marks[i++] = false;
      ++j;
    } else if (lengths[i + 1]![j]! >= lengths[i]![j + 1]!) ++i;
    else ++j;
  }
  return marks;
}

function output(text: string, reference: string): (Node | string)[] {
  if (reference === "") return [visible(text)];
  const pieces = text.split(/(\s+)/);
  const words = pieces.filter((_, index) => index % 2 === 0);
  const wanted = reference.split(/\s+/);
  if (words.length * wanted.length > 250_000) return [visible(text)];
  const marks = differing(words, wanted);
  return pieces.map((piece, index) =>
    index % 2 === 0 && marks[index / 2] && piece !== "" ? element("mark", {}, visible(piece)) : visible(piece),
  );
}

export function samples(sets: Subset<Samples>): HTMLElement | null {
  if (sets.shown.length === 0) return null;
  const has = (column: 0 | 1 | 2) => sets.shown.some((set) => set.samples.some((sample) => sample[column] !== ""));
  const columns = (
    [
      [0, "Input"],
      [1, "Reference"],
      [2, "Output"],
    ] as [0 | 1 | 2, string][]
  ).filter(([column]) => has(column));
  const body = element("tbody");
  const show = (index: number) =>
    body.replaceChildren(
      ...sets.shown[index]!.samples.map((sample) =>
        element(
          "tr",
          {},
          ...columns.map(([column, name]) =>
            element(
              "td",
              { dir: "auto", "data-name": name },
              ...(column === 2 ? output(sample[2], sample[1]) : [visible(sample[column])]),
            ),
          ),
        ),
      ),
    );
  const steps = stepper(sets.shown.length, (index) => `Step ${integer(sets.shown[index]!.step)}`, show);
  const table = element(
    "table",
    { class: `samples of-${columns.length}` },
    element("thead", {}, element("tr", {}, ...columns.map(([, name]) => element("th", { scope: "col" }, name)))),
    body,
  );
  const drawn = [...new Set(sets.shown.map((set) => set.drawn))];
  const note = [
    drawn.length === 1 && drawn[0] !== "" && `Chosen independently of the outputs: ${visible(drawn[0]!)}.`,
    drawn.includes("") && "The log does not record how these were chosen.",
    has(1) && "Output words that differ from the reference are marked.",
    sets.shown.length < sets.logged && `${sets.shown.length} of ${integer(sets.logged)} sets are shown.`,
  ]
    .filter(Boolean)
    .join(" ");
  return element(
    "section",
    { id: "samples" },
    element("div", { class: "head" }, element("h2", {}, "Sample outputs"), steps),
    table,
    note !== "" && element("p", { class: "note muted" }, note),
  );
}
