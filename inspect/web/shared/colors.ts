// Colors of values and heads, derived from the page's palette so that they fit the light and the dark theme.
import { hcl, rgb } from "d3-color";
import { interpolateLab } from "d3-interpolate";
import { scaleLinear } from "d3-scale";
import { select, type Selection } from "d3-selection";
import { element } from "./dom";
import { brief, exact } from "./numbers";

const names = ["paper", "panel", "ink", "muted", "line", "first", "second", "good", "warn"] as const;
type Palette = Record<(typeof names)[number], string>;

let known: Palette | null = null;

// Returns the style sheet's current colors.
export function palette(): Palette {
  if (known) return known;
  const probe = document.body.appendChild(element("span"));
  known = {} as Palette;
  for (const name of names) {
    probe.style.color = `var(--${name})`;
    known[name] = rgb(getComputedStyle(probe).color).formatHex();
  }
  probe.remove();
  return known;
}

export const dark = () => hcl(palette().paper).l < 50;

// Functions to call when the theme changes.
const redraws: (() => void)[] = [];
export function onThemeChange(redraw: () => void) {
  redraws.push(redraw);
}
export function themeChanged() {
  known = null;
  for (const redraw of redraws) redraw();
}
window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", themeChanged);
window.matchMedia("print").addEventListener("change", themeChanged);

export function headColor(head: number, heads: number): string {
  return hcl((360 * head) / heads + 255, dark() ? 52 : 58, dark() ? 72 : 50).formatHex();
}

// Maps values to colors; low and high are the ends of its legend.
export interface Scale {
  low: number;
  high: number;
  color(value: number): string;
}

// From 0 to high.
export function sequential(high: number): Scale {
  const { panel, first, ink } = palette();
  const deep = interpolateLab(first, ink)(0.55);
  const scale = scaleLinear<string>([0, 0.6 * high, high], [panel, first, deep])
    .interpolate(interpolateLab)
    .clamp(true);
  return { low: 0, high, color: (value) => special(value) ?? (high > 0 ? scale(value) : panel) };
}

// From -size to size: orange is negative, blue positive.
export function diverging(size: number): Scale {
  const { panel, first, second, ink } = palette();
  const deep = (color: string) => interpolateLab(color, ink)(0.45);
  const colors = [deep(second), second, panel, first, deep(first)];
  const scale = scaleLinear<string>([-size, -0.6 * size, 0, 0.6 * size, size], colors)
    .interpolate(interpolateLab)
    .clamp(true);
  return { low: -size, high: size, color: (value) => special(value) ?? (size > 0 ? scale(value) : panel) };
}

// Color of a value that is not finite: -∞ is masked, anything else is an error.
function special(value: number): string | null {
  if (Number.isFinite(value)) return null;
  return value === -Infinity ? palette().line : palette().warn;
}

// Black or white, whichever contrasts more with the color.
export function inkOn(color: string): string {
  const { ink, paper } = palette();
  const distance = (other: string) => Math.abs(hcl(other).l - hcl(color).l);
  return distance(ink) >= distance(paper) ? ink : paper;
}

export type SvgGroup = Selection<SVGGElement, unknown, null, undefined>;

let legends = 0;

// Draws a color bar with its end values; 30 pixels high.
export function legend(parent: SvgGroup, scale: Scale, title: string, x: number, y: number, width = 150) {
  const id = `legend-${++legends}`;
  const { ink, muted, line } = palette();
  const gradient = parent.append("linearGradient").attr("id", id);
  for (let stop = 0; stop <= 16; ++stop)
    gradient
      .append("stop")
      .attr("offset", stop / 16)
      .attr("stop-color", scale.color(scale.low + ((scale.high - scale.low) * stop) / 16));
  const group = parent.append("g").attr("class", "legend").attr("transform", `translate(${x},${y})`);
  const end = (value: number) =>
    value !== 0 && Math.abs(value) < 1e-4 ? brief(value) : exact(Number(value.toPrecision(3)));
  const text = (at: number, anchor: string, words: string) =>
    group.append("text").attr("x", at).attr("y", 27).attr("text-anchor", anchor).attr("fill", muted).text(words);
  group.append("text").attr("x", 0).attr("y", 9).attr("fill", ink).text(title);
  const bar = group.append("rect").attr("y", 13).attr("width", width).attr("height", 5);
  bar.attr("fill", `url(#${id})`).attr("stroke", line).attr("stroke-width", 0.5);
  text(0, "start", end(scale.low));
  if (scale.low < 0 && width >= 110) text(width / 2, "middle", "0");
  text(width, "end", end(scale.high));
}

export function area(svg: SVGSVGElement): SvgGroup {
  return select(svg).append("g");
}
