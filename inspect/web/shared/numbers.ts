// Numbers as the explorer writes them: with a true minus sign, and exact where somebody points at one.
import { fourDigits } from "./format";

const special = (value: number) => (Number.isNaN(value) ? "NaN" : value > 0 ? "∞" : "−∞");
const minus = (text: string) => text.replaceAll("-", "−");

export function brief(value: number): string {
  return Number.isFinite(value) ? minus(fourDigits(value)) : special(value);
}

// The fewest digits that name the float32, nine where it is none.
export function digits(value: number): string {
  if (!Number.isFinite(value)) return String(value);
  for (let precision = 1; precision < 9; ++precision) {
    const text = Number(value.toPrecision(precision));
    if (Math.fround(text) === value) return String(text);
  }
  return String(Number(value.toPrecision(9)));
}

export function exact(value: number): string {
  return Number.isFinite(value) ? minus(digits(value)) : special(value);
}

const magnitude = (value: number) => Math.floor(Math.log10(Math.abs(value)));

// Of a number from which one is subtracted that is as near: as many digits as give the difference three.
export function resolving(value: number, difference: number): string {
  if (value === 0 || difference === 0 || !Number.isFinite(value - difference)) return brief(value);
  const places = Math.max(4, 2 - magnitude(difference));
  const powers = Math.abs(value) < 1e-3;
  return minus(powers ? value.toExponential(Math.max(2, places + magnitude(value))) : value.toFixed(places));
}

// In a column, six digits after the point, or powers of ten where these would say nothing.
export function tabular(value: number): string {
  if (!Number.isFinite(value)) return special(value);
  const size = Math.abs(value);
  if (value !== 0 && (size < 1e-4 || size >= 1e5)) return minus(value.toExponential(4));
  return minus(value.toFixed(6));
}

const raised = ["⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"];

// "10⁻³".
export function powerOfTen(power: number): string {
  const text = String(Math.abs(power)).replace(/\d/g, (digit) => raised[Number(digit)]!);
  return `10${power < 0 ? "⁻" : ""}${text}`;
}

export function shapeText(shape: number[]): string {
  return `[${shape.join(", ")}]`;
}

// What stands behind a token that was there before, as in "cat₂".
export function subscript(number: number): string {
  return String(number).replace(/\d/g, (digit) => "₀₁₂₃₄₅₆₇₈₉"[Number(digit)]!);
}

export function bytes(count: number): string {
  if (count < 1000) return `${count} B`;
  if (count < 1e6) return `${(count / 1e3).toFixed(1)} kB`;
  return `${(count / 1e6).toFixed(1)} MB`;
}

export function microseconds(value: number | null): string {
  if (value === null) return "–";
  return value < 1000 ? `${value.toFixed(1)} µs` : `${(value / 1000).toFixed(2)} ms`;
}
