import { format } from "d3-format";

export type Format = (value: number) => string;

const grouped = format(",d");
const short = format(".3~s");

export const integer: Format = (value) => grouped(Math.round(value));

// Four digits; scientific notation only for very small or very large values.
export const fourDigits: Format = (value) => {
  const size = Math.abs(value);
  if (value === 0) return "0";
  if (size < 1e-3 || size >= 1e6) return value.toExponential(2);
  if (size >= 1000) return grouped(value);
  return value.toFixed(size >= 100 ? 1 : size >= 10 ? 2 : 4);
};

// 12.5k, 3M; a plain decimal below 1, where an SI prefix (980m) would mislead.
export const compact: Format = (value) =>
  Math.abs(value) < 1 ? String(Number(value.toPrecision(3))) : short(value).replace("G", "B");

export const percent: Format = (value) => `${(100 * value).toFixed(1)}%`;

// 0:07, 12:34, 1:02:03.
export const duration: Format = (seconds) => {
  const total = Math.round(seconds);
  const two = (value: number) => String(value).padStart(2, "0");
  const hours = Math.floor(total / 3600);
  const minutes = Math.floor(total / 60) % 60;
  return hours > 0 ? `${hours}:${two(minutes)}:${two(total % 60)}` : `${minutes}:${two(total % 60)}`;
};

// Returns about `wanted` multiples of a round duration between two times in seconds.
export function durationTicks(from: number, to: number, wanted: number): number[] {
  const steps = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400];
  const step =
    steps.find((length) => (to - from) / length <= wanted) ?? 86400 * Math.ceil((to - from) / 86400 / wanted);
  const ticks = [];
  for (let tick = Math.ceil(from / step) * step; tick <= to; tick += step) ticks.push(tick);
  return ticks;
}
