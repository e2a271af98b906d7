// Events of the run, as marks on a chart's axis and as text.
import type { Selection } from "d3-selection";
import { symbol, symbolDiamond, symbolTriangle } from "d3-shape";
import { integer } from "../shared/format";
import type { Mark } from "./data";
import type { View } from "./view";

export function markText(mark: Mark): string {
  const texts = {
    checkpoint: `${mark.text}${mark.best ? ", best so far" : ""}`,
    resume: "resumed",
    stop: `stopped (${mark.text})`,
    warning: mark.text,
  };
  return `Step ${integer(mark.step)}: ${texts[mark.kind]}`;
}

export function drawMarks(
  body: Selection<SVGGElement, unknown, null, undefined>,
  marks: Mark[],
  view: View,
  at: (step: number) => number,
  { top, floor, width }: { top: number; floor: number; width: number },
) {
  // Checkpoints that would overlap become ticks.
  const [from, to] = view.range ?? [-Infinity, Infinity];
  const crowded = marks.filter(({ step }) => step >= from && step <= to).length > width / 14;
  for (const mark of marks) {
    const x = at(mark.step);
    if (!Number.isFinite(x)) continue;
    const kind = mark.kind === "checkpoint" && mark.best ? "checkpoint best" : mark.kind;
    const group = body.append("g").attr("class", `mark ${kind}`).attr("transform", `translate(${x},0)`);
    group.append("title").text(markText(mark));
    if (mark.kind === "resume" || mark.kind === "stop") {
      group.append("line").attr("y1", top).attr("y2", floor);
    } else if (kind === "checkpoint" && crowded) {
      group
        .append("line")
        .attr("class", "tick")
        .attr("y1", floor - 5)
        .attr("y2", floor);
    } else {
      const shape = mark.kind === "warning" ? symbolDiamond : symbolTriangle;
      group
        .append("path")
        .attr("transform", `translate(0,${floor - 1})`)
        .attr("d", symbol(shape, 34)());
    }
  }
}
