// An output over the change of one value: the true curve through the computed changes, and the gradient's tangent.
import { scaleLinear } from "d3-scale";
import { line } from "d3-shape";
import { palette, type SvgGroup } from "../../shared/colors";
import type { NudgeCurve } from "./nudge_curve";
import { brief, exact } from "../../shared/numbers";
import { Picture } from "../../shared/picture";

const height = 260;
const margin = { left: 74, right: 26, top: 22, bottom: 34 };

export class NudgeChart {
  readonly picture: Picture;
  private curve: NudgeCurve | null = null;
  private at = 0;

  constructor(private readonly go: (stop: number) => void) {
    this.picture = new Picture({
      id: "pull-picture",
      label: "The output over the change of the value. Left and right arrows select a change.",
      compact: true,
      draw: (area, width) => this.draw(area, width),
      key: (event) => this.key(event),
    });
    this.picture.setHint("hover over a change");
  }

  show(curve: NudgeCurve, at: number, title: string) {
    this.curve = curve;
    this.at = at;
    this.picture.setTitle(title);
    this.picture.redraw();
  }

  private key(event: KeyboardEvent): boolean {
    const by = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (by === 0 || !this.curve) return false;
    this.go(Math.max(0, Math.min(this.curve.changes.length - 1, this.at + by)));
    return true;
  }

  private draw(area: SvgGroup, width: number): number {
    const { curve, at } = this;
    if (!curve) return height;
    const { changes, effects, gradient } = curve;
    const predicted = changes.map((change) => gradient * change);
    const [low, high] = [Math.min(...effects, ...predicted), Math.max(...effects, ...predicted)];
    const room = 0.08 * (high - low || 1);
    const x = scaleLinear([changes[0]!, changes.at(-1)!], [margin.left, width - margin.right]);
    const y = scaleLinear([low - room, high + room], [height - margin.bottom, margin.top]);
    this.axes(area, x, y, width);
    const { first, second, ink, paper } = palette();
    const path = line<number>(
      (_, i) => x(changes[i]!),
      (value) => y(value),
    );
    const tangent = area.append("path").attr("class", "tangent").attr("d", path(predicted));
    tangent.attr("fill", "none").attr("stroke", second).attr("stroke-width", 1.6).attr("stroke-dasharray", "6 4");
    const truth = area.append("path").attr("class", "truth").attr("d", path(effects));
    truth.attr("fill", "none").attr("stroke", first).attr("stroke-width", 2);
    changes.forEach((change, index) => {
      for (const [values, color, name] of [
        [predicted, second, "predicted"],
        [effects, first, "true"],
      ] as const) {
        const dot = area.append("circle").attr("cx", x(change)).attr("cy", y(values[index]!));
        dot
          .attr("r", index === at ? 6 : 3.5)
          .attr("fill", index === at ? color : paper)
          .attr("stroke", color);
        dot.attr("stroke-width", 1.6).attr("data-dot", name).attr("data-value", values[index]!);
      }
      const strip = area.append("rect").attr("class", "screen cover").attr("y", margin.top).attr("width", 24);
      strip.attr("x", x(change) - 12).attr("height", height - margin.top - margin.bottom);
      strip.on("pointerenter", () =>
        this.picture.showReadout(
          `change ${brief(change)}: predicted ${brief(predicted[index]!)}, true ${brief(effects[index]!)}`,
        ),
      );
      strip.on("pointerleave", () => this.picture.showReadout(null));
      strip.on("click", () => this.go(index));
    });
    this.legend(area, [
      ["true", first],
      ["predicted by the gradient", second],
    ]);
    area
      .append("text")
      .attr("x", (margin.left + width) / 2)
      .attr("y", height - 4)
      .attr("text-anchor", "middle")
      .attr("fill", ink)
      .attr("font-size", 11)
      .text("change of the value");
    return height;
  }

  private axes(
    area: SvgGroup,
    x: (value: number) => number,
    y: ((value: number) => number) & { ticks(count: number): number[] },
    width: number,
  ) {
    const { line: faint, muted } = palette();
    for (const tick of y.ticks(4)) {
      const rule = area
        .append("line")
        .attr("x1", margin.left)
        .attr("x2", width - margin.right);
      rule
        .attr("y1", y(tick))
        .attr("y2", y(tick))
        .attr("stroke", tick === 0 ? muted : faint);
      area
        .append("text")
        .attr("x", margin.left - 8)
        .attr("y", y(tick))
        .attr("text-anchor", "end")
        .attr("dominant-baseline", "central")
        .attr("fill", muted)
        .attr("font-size", 11)
        .text(brief(tick));
    }
    let right = -Infinity;
    for (const change of this.curve!.changes) {
      if (x(change) - right < 44) continue;
      right = x(change);
      area
        .append("text")
        .attr("x", right)
        .attr("y", height - 18)
        .attr("text-anchor", "middle")
        .attr("fill", muted)
        .attr("font-size", 11)
        .text(exact(Number(change.toPrecision(2))));
    }
  }

  private legend(area: SvgGroup, names: [string, string][]) {
    let left = margin.left;
    for (const [name, color] of names) {
      area
        .append("line")
        .attr("x1", left)
        .attr("x2", left + 16)
        .attr("y1", 9)
        .attr("y2", 9)
        .attr("stroke", color)
        .attr("stroke-width", 2);
      area
        .append("text")
        .attr("x", left + 21)
        .attr("y", 13)
        .attr("fill", palette().ink)
        .attr("font-size", 11)
        .text(name);
      left += 40 + 6.5 * name.length;
    }
  }
}
