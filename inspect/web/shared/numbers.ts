// Number formatting of the explorer: with a real minus sign, and exact in tooltips.
import { fourDigits } from "./format";

const special = (value: number) => (Number.isNaN(value) ? "NaN" : value > 0 ? "∞" : "−∞");
const minus = (text: string) => text.replaceAll("-", "−");

export function brief(value: number): string {
  return Number.isFinite(value) ? minus(fourDigits(value)) : special(value);
}

// Fewest digits that round-trip the float32; nine if the value is not a float32.
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

// Formats a value from which a nearly equal one is subtracted, with enough digits for three in the difference.
export function resolving(value: number, difference: number): string {
  if (value === 0 || difference === 0 || !Number.isFinite(value - difference)) return brief(value);
  const places = Math.max(4, 2 - magnitude(difference));
  const powers = Math.abs(value) < 1e-3;
  return minus(powers ? value.toExponential(Math.max(2, places + magnitude(value))) : value.toFixed(places));
}

// For table columns: six decimals, or scientific notation where they would carry no information.
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

// Suffix of a repeated token, as in "cat₂".
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
