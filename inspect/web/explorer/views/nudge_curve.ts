// What a nudged value does to an output, beside what its gradient predicts.
import type { Nudges } from "../data";
import { tensor } from "../tensor";

// What is known of one place: changes and what the chosen output does at each, 0 among them.
export interface NudgeCurve {
  value: number;
  gradient: number;
  changes: number[];
  effects: number[];
  start: number; // where the change is 0
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

// How far the true change is from the predicted one, in words; rounding: changes that are no larger say nothing.
export function verdictOf(predicted: number, effect: number, rounding: number): string {
  if (Math.abs(effect) <= rounding && Math.abs(predicted) <= rounding) return "Nothing changes but the last digits.";
  const off = Math.abs(effect - predicted);
  if (off <= Math.max(0.02 * Math.abs(effect), rounding))
    return "The gradient tells it: the curve is straight this far.";
  if (predicted * effect <= 0) return "The gradient tells not even the direction: the curve turns before.";
  const share = Math.abs(effect) < Math.abs(predicted) ? "less" : "more";
  return `The truth is ${share} than the gradient says: the curve bends away from its tangent.`;
}
