// Updates of a single parameter, and what the update of a query projection does to one row of attention weights.
import type { Numbers } from "../../tensor";

// Plain gradient descent.
export const descended = (value: number, gradient: number, rate: number) => value - rate * gradient;

export interface AdamStep {
  mean: number; // m, corrected for its start at 0
  size: number; // √v, corrected likewise
  change: number;
}

// Adam's steps for successive gradients (Kingma and Ba 2015, algorithm 1).
export function adamSteps(gradients: number[], rate: number, betas: [number, number] = [0.9, 0.999]): AdamStep[] {
  const eps = 1e-8;
  let [m, v] = [0, 0];
  return gradients.map((gradient, index) => {
    m = betas[0] * m + (1 - betas[0]) * gradient;
    v = betas[1] * v + (1 - betas[1]) * gradient * gradient;
    const mean = m / (1 - betas[0] ** (index + 1));
    const size = Math.sqrt(v / (1 - betas[1] ** (index + 1)));
    return { mean, size, change: (-rate * mean) / (size + eps) };
  });
}

export const dot = (a: Numbers, b: Numbers) => Array.from(a).reduce((sum, value, index) => sum + value * b[index]!, 0);

export function softmaxOf(scores: Numbers): number[] {
  const high = Math.max(...scores);
  const powers = Array.from(scores, (score) => Math.exp(score - high));
  const sum = powers.reduce((a, b) => a + b, 0);
  return powers.map((power) => power / sum);
}

// One row of scores after a step of gradient descent on the matrix that made its query, everything else fixed. The
// matrix changes by −rate Σₜ dqₜ xₜᵀ, so the query of row r by −rate Σₜ (xₜ · xᵣ) dqₜ, and a score by scale · dq · key.
export function updatedRow(
  {
    scores,
    inputs,
    gradients,
    keys,
    scale,
  }: Record<"inputs" | "gradients" | "keys", Numbers[]> & {
    scores: Numbers;
    scale: number;
  },
  row: number,
  rate: number,
): { scores: number[]; weights: number[] } {
  const near = inputs.map((input) => dot(input, inputs[row]!));
  const change = Array.from(gradients[row]!, (_, d) =>
    gradients.reduce((sum, gradient, t) => sum - rate * near[t]! * gradient[d]!, 0),
  );
  const after = Array.from(scores, (score, key) => score + scale * dot(change, keys[key]!));
  return { scores: after, weights: softmaxOf(after) };
}
