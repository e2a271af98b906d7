// The contributions that add up to a gradient, as they arrive.
import { element } from "../../shared/dom";
import type { App } from "../app";
import type { Axis, PackedTensor } from "../data";
import { Heatmap } from "../widgets/heatmap";
import { tapeLink } from "./links";
import { exact } from "../../shared/numbers";
import { summed, type Contribution, type Operand, type Replay } from "./replay";
import type { Slices } from "./slices";
import { planeOf, tensor } from "../tensor";

// The shown value and gradients of an operand.
export interface Shown {
  value: PackedTensor | null;
  gradients: (PackedTensor | null)[];
  axes: Axis[] | null;
  module: string;
}

// The contributions that have arrived by a step, and their sum.
export function arrivals(
  app: App,
  replay: Replay,
  slices: Slices,
  { operand, of, step, heats, id }: { operand: Operand; of: Shown; step: number | null; heats: Heatmap[]; id: string },
): HTMLElement[] {
  const all = replay.contributions(operand);
  const seed = "node" in operand && operand.node === app.data.tape.roots[replay.output];
  if (seed) return [element("p", { class: "muted" }, "Backward starts here, with a gradient of 1.")];
  if (all.length === 0) return [];
  const arrived = all.filter((contribution) => step === null || contribution.step <= step);
  const title = element("h4", {}, `Contributions to its gradient: ${arrived.length} of ${all.length}`);
  const list = element("ol", { class: "contributions", "data-arrived": arrived.length, "data-all": all.length });
  const cells = all.map((contribution) => contributionItem(app, contribution, arrived.includes(contribution), list));
  const sum = summed(arrived);
  const shape = tensor(arrived[0]?.value);
  if (!sum || !shape) return [title, list];
  const words = element("p", { class: "addition muted" }, "hover over the sum to see its terms");
  const recorded = of.gradients[replay.output] ?? null;
  const places = slices.places(shape.storedShape, of.axes);
  const plane = planeOf(shape.storedShape, sum, places);
  const point = (row: number, column: number) => {
    const terms = arrived.map(({ value }) =>
      tensor(value)!
        .plane(...places)
        .at(row, column),
    );
    terms.forEach((term, index) => {
      cells[index]!.textContent = exact(term);
      cells[index]!.dataset.value = String(term);
    });
    const target = tensor(recorded)
      ?.plane(...places)
      .at(row, column);
    const complete = arrived.length === all.length && target !== undefined;
    words.textContent = `${terms.map(exact).join(" + ")} = ${exact(plane.at(row, column))}${complete ? `; recorded ${exact(target)}` : ""}`;
    words.dataset.value = String(plane.at(row, column));
  };
  if (sum.length === 1) {
    point(0, 0);
    return [title, list, words];
  }
  const heat = new Heatmap({
    id: `heat-${id}`,
    title: arrived.length === all.length ? "Sum" : "Sum so far",
    plane,
    rows: slices.names(of.axes?.at(-2), plane.rows),
    columns: slices.names(of.axes?.at(-1), plane.columns, arrived[0]?.value?.columns),
    point,
  });
  heats.push(heat);
  return [title, list, element("div", { class: "heat" }, heat.picture.node), words];
}

function contributionItem(app: App, contribution: Contribution, arrived: boolean, list: HTMLElement): HTMLElement {
  const value = element("span", { class: "term" });
  const { node, input } = contribution;
  const name = `${node.operation} #${node.id}, input ${input}`;
  const item = element("li", { class: arrived ? "" : "waiting" }, tapeLink(app, name, { node: node.id }), " ", value);
  if (!arrived) value.textContent = "not computed yet";
  list.append(item);
  return value;
}
