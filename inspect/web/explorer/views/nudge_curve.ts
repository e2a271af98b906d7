// The effect of a nudged value on an output, and what its gradient predicts.
import type { Nudges } from "../data";
import { tensor } from "../tensor";

// One nudged element: the changes, including 0, and the effect of each on an output.
export interface NudgeCurve {
  value: number;
  gradient: number;
  changes: number[];
  effects: number[];
  start: number; // index of the change 0
}

export function curveOf(nudges: Nudges, place: number, output: number): NudgeCurve {
  const below = (change: number) => change < 0;
  const changes = [...tensor(nudges.changes).row(place)];
  const effects = [...tensor(nudges.effects).row(output, place)];
  const start = changes.filter(below).length;
  changes.splice(start, 0, 0);
  effects.splice(start, 0, 0);
  const gradient = tensor(nudges.gradients).row(place)[output]!;
  return { value: nudges.places[place]!.value, gradient, changes, effects, start };
}

// Compares the true change with the predicted one, in words. rounding: changes up to this size are noise.
export function verdictOf(predicted: number, effect: number, rounding: number): string {
  if (Math.abs(effect) <= rounding && Math.abs(predicted) <= rounding) return "Nothing changes beyond rounding.";
  const off = Math.abs(effect - predicted);
  if (off <= Math.max(0.02 * Math.abs(effect), rounding))
    return "The gradient predicts it: the curve is straight up to here.";
  if (predicted * effect <= 0)
    return "The gradient does not even predict the direction: the curve turns before this point.";
  const share = Math.abs(effect) < Math.abs(predicted) ? "smaller" : "larger";
  return `The true change is ${share} than the gradient predicts: the curve bends away from its tangent.`;
}
