// One-line summaries of values and gradients for a box of the graph.
import type { PackedTensor } from "../data";
import { brief } from "../../shared/numbers";
import { range, tensor } from "../tensor";

// "0.0481", or the range of several values.
export function valueFigure(packed: PackedTensor | null | undefined): string {
  if (!packed) return "";
  const all = tensor(packed).values;
  if (all.length === 1 && !packed.cut) return short(all[0]!);
  const [low, high] = range(packed);
  return low > high ? "" : `${short(low)} … ${short(high)}`;
}

// "∂ 1", or "|∂| ≤ 0.021", the largest absolute value of several.
export function gradientFigure(packed: PackedTensor | null | undefined): string {
  if (!packed) return "no ∂";
  const all = tensor(packed).values;
  if (all.length === 1 && !packed.cut) return `∂ ${short(all[0]!)}`;
  const [low, high] = range(packed);
  return low > high ? "∂" : `|∂| ≤ ${short(Math.max(Math.abs(low), Math.abs(high)))}`;
}

// At most three significant digits.
function short(value: number): string {
  if (!Number.isFinite(value) || value === 0) return brief(value);
  const size = Math.abs(value);
  const text = size >= 1e-3 && size < 1e4 ? String(Number(value.toPrecision(3))) : value.toExponential(1);
  return text.replaceAll("-", "−");
}
