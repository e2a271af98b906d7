// State shared by all charts: the unit of the horizontal axis, the visible range and the cursor. Range and cursor are
// steps, so they stay in place when the unit changes.
import { bisectLeft, bisector } from "d3-array";
import type { Maybe, Steps } from "./data";

export type Unit = "step" | "epoch" | "time";

export class View {
  unit: Unit = "step";
  logLoss = false;
  smooth: number | null = 1; // index of the drawn smoothing, null for none
  range: [number, number] | null = null;
  cursor: number | null = null;
  private listeners: ((what: "all" | "cursor") => void)[] = [];

  // whole: first and last step with data, including an evaluation before the first update.
  constructor(
    readonly steps: Steps,
    readonly whole: [number, number],
  ) {}

  onChange(listener: (what: "all" | "cursor") => void) {
    this.listeners.push(listener);
  }

  set(change: Partial<Pick<View, "unit" | "logLoss" | "range" | "smooth">>) {
    Object.assign(this, change);
    for (const listener of this.listeners) listener("all");
  }

  moveCursor(step: number | null) {
    if (step === this.cursor) return;
    this.cursor = step;
    for (const listener of this.listeners) listener("cursor");
  }

  units(): Unit[] {
    const has = (values: Maybe[]) => values.some((value) => value !== null);
    return [
      "step",
      ...(has(this.steps.epoch) ? ["epoch" as const] : []),
      ...(has(this.steps.seconds) ? ["time" as const] : []),
    ];
  }

  // A step's position on the axis, interpolated between the logged steps around it.
  place(step: number, unit: Unit = this.unit, steps: Steps = this.steps): number | null {
    if (unit === "step") return step;
    const values = unit === "epoch" ? steps.epoch : steps.seconds;
    const all = steps.step;
    if (all.length === 0) return null;
    const right = Math.min(bisectLeft(all, step), all.length - 1);
    const left = Math.max(0, all[right]! <= step ? right : right - 1);
    const [a, b] = [values[left], values[right]];
    if (a == null || b == null) return a ?? b ?? null;
    const span = all[right]! - all[left]!;
    return span === 0 ? b : a + ((b - a) * (step - all[left]!)) / span;
  }
}

export interface Point {
  step: number;
  y: number | null;
}

const byStep = bisector((point: Point) => point.step);

// The point with the nearest step.
export function nearest(points: Point[], step: number): Point | undefined {
  const right = byStep.left(points, step);
  const [a, b] = [points[right - 1], points[right]];
  if (!a || !b) return a ?? b;
  return step - a.step <= b.step - step ? a : b;
}
