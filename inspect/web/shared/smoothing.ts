// Why a model trained with label smoothing gives no probability close to 1. The target of its loss is 1 − s for the correct
// class plus s/V for each of the V classes, and the loss is smallest when the probabilities equal that target.
import { brief } from "./numbers";

// Probability of the correct class at which the loss is smallest.
export const smoothedTarget = (smoothing: number, classes: number) => 1 - smoothing + smoothing / classes;

export function smoothingNote(smoothing: number, classes: number): string {
  const share = `1 − ${smoothing} + ${smoothing}/${classes}`;
  return `Trained with label smoothing ${smoothing}: the loss was smallest when the correct token had the probability ${share} = ${brief(smoothedTarget(smoothing, classes))}, so a perfect model stays below 1.`;
}
