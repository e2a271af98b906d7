// A matrix drawn as colored cells.
import { inkOn, legend, palette, sequential, diverging, type SvgGroup, type Scale } from "../../shared/colors";
import { Picture } from "../../shared/picture";
import type { Plane } from "../tensor";
import { lettersWide } from "./letters";

const levels = 64;

// Draws a matrix into a box. Cells of one color share a path, which keeps a page of thumbnails fast.
export function drawCells(
  parent: SvgGroup,
  plane: Plane,
  scale: Scale,
  x: number,
  y: number,
  width: number,
  height: number,
) {
  const paths = new Map<string, string>();
  const span = scale.high - scale.low;
  const level = (value: number) =>
    Number.isFinite(value) && span > 0
      ? Math.max(0, Math.min(levels, Math.round(((value - scale.low) / span) * levels)))
      : value;
  for (let row = 0; row < plane.rows; ++row) {
    for (let column = 0; column < plane.columns;) {
      const here = level(plane.at(row, column));
      let end = column + 1;
      while (end < plane.columns && Object.is(level(plane.at(row, end)), here)) ++end;
      const color = scale.color(Number.isFinite(here) && span > 0 ? scale.low + (span * here) / levels : here);
      paths.set(color, `${paths.get(color) ?? ""}M${column} ${row}h${end - column}v1h${column - end}z`);
      column = end;
    }
  }
  const group = parent.append("g").attr("class", "field");
  group.attr("transform", `translate(${x},${y}) scale(${width / plane.columns},${height / plane.rows})`);
  for (const [color, d] of paths) group.append("path").attr("d", d).attr("fill", color);
  const frame = parent.append("rect").attr("x", x).attr("y", y).attr("width", width).attr("height", height);
  frame.attr("fill", "none").attr("stroke", palette().line);
}

// Returns the row and column of the cell under the pointer.
export function cellAt(event: PointerEvent, plane: Plane, box: SVGGraphicsElement): [number, number] {
  const area = box.getBoundingClientRect();
  const place = (at: number, size: number, count: number) =>
    Math.max(0, Math.min(count - 1, Math.floor((at / size) * count)));
  return [
    place(event.clientY - area.top, area.height, plane.rows),
    place(event.clientX - area.left, area.width, plane.columns),
  ];
}

// Sequential if no value is negative, otherwise diverging.
export function scaleOf(plane: Plane): Scale {
  return plane.low() < 0 ? diverging(plane.maxAbs()) : sequential(plane.maxAbs());
}

export interface HeatmapOptions {
  id: string;
  title: string;
  details?: string; // in the title's tooltip
  plane: Plane;
  scale?: () => Scale;
  rows?: string[]; // names
  columns?: string[];
  missing?: { rows: boolean; columns: boolean }; // hatched on the sides where values are not stored
  unit?: string; // legend title
  hint?: string; // instead of that to hover over a cell
  cell?: number; // largest cell size
  point?: (row: number, column: number) => void;
  edit?: (row: number, column: number, cell: Element) => void; // for a click or Enter
  describe?: (row: number, column: number) => string; // what the readout shows before the value
  parts?: Part[]; // of the columns, marked above them
}

// Consecutive columns with a name and a color. The chosen one is framed.
export interface Part {
  name: string;
  columns: number;
  color: string;
  chosen: boolean;
  click: () => void;
}

const mostNames = 64; // rows with names
const hatchSize = 11;
const partsHeight = 22;
const longest = (names: string[]) => Math.max(...names.map(lettersWide));

function nameRows(area: SvgGroup, names: string[], x: number, top: number, high: number) {
  names.forEach((name, row) => {
    const text = area
      .append("text")
      .attr("class", "axis-name")
      .attr("x", x)
      .attr("y", top + (row + 0.5) * high);
    text.attr("text-anchor", "end").attr("dominant-baseline", "central").attr("fill", palette().muted).text(name);
  });
}

function nameColumns(area: SvgGroup, names: string[], left: number, y: number, wide: number) {
  names.forEach((name, column) => {
    const x = left + (column + 0.5) * wide;
    const text = area.append("text").attr("class", "axis-name").attr("transform", `translate(${x},${y}) rotate(-60)`);
    text.attr("dominant-baseline", "central").attr("fill", palette().muted).text(name);
  });
}

// Hatching where values are missing.
function hatch(area: SvgGroup, x: number, y: number, width: number, height: number) {
  const lines: string[] = [];
  for (let at = -height; at < width; at += 5) {
    const [from, to] = [Math.max(0, at), Math.min(width, at + height)];
    if (to > from) lines.push(`M${x + from} ${y + height - (from - at)}L${x + to} ${y + height - (to - at)}`);
  }
  const made = area.append("path").attr("class", "hatch").attr("d", lines.join("")).attr("fill", "none");
  made.attr("stroke", palette().muted).attr("stroke-width", 0.8);
}

// Names and colored bars above the columns, and a frame around the chosen part.
function markParts(area: SvgGroup, parts: Part[], left: number, top: number, wide: number, tall: number) {
  let x = left;
  for (const { name, columns, color, chosen, click } of parts) {
    const width = columns * wide;
    const button = area.append("g").attr("class", "columns-part").attr("data-part", name);
    const bar = button
      .append("rect")
      .attr("x", x + 1)
      .attr("y", top - 5);
    bar
      .attr("width", Math.max(1, width - 2))
      .attr("height", 3)
      .attr("fill", color);
    const text = button
      .append("text")
      .attr("x", x + width / 2)
      .attr("y", top - 9)
      .attr("text-anchor", "middle");
    text.attr("fill", palette().muted).attr("font-weight", chosen ? 600 : 400);
    text.text(width > 7 * name.length ? name : name.replace(/^.* /, ""));
    const cover = button
      .append("rect")
      .attr("class", "screen cover")
      .attr("x", x)
      .attr("y", top - partsHeight);
    cover.attr("width", width).attr("height", partsHeight);
    button.on("click", click);
    if (chosen) {
      const frame = area.append("rect").attr("class", "part-frame").attr("x", x).attr("y", top);
      frame
        .attr("width", width)
        .attr("height", tall)
        .attr("fill", "none")
        .attr("stroke", color)
        .attr("stroke-width", 2);
    }
    x += width;
  }
}

// A matrix whose values can be read with the pointer and the arrow keys.
export class Heatmap {
  readonly picture: Picture;
  private at: [number, number] | null = null;
  private cursor: SVGRectElement | null = null;
  private box = [0, 0, 0, 0];

  constructor(private readonly options: HeatmapOptions) {
    this.picture = new Picture({
      id: options.id,
      label: `${options.title}. Arrow keys move between its cells.`,
      compact: true,
      draw: (area, width) => this.draw(area, width),
      key: (event) => this.key(event),
    });
    this.picture.setTitle(options.title, options.details);
    this.picture.setHint(options.hint ?? "hover over a cell");
    this.picture.plot.addEventListener("blur", () => this.go(null));
  }

  private draw(area: SvgGroup, width: number): number {
    const { plane, cell = 22, rows, columns, missing, parts } = this.options;
    const scale = this.options.scale?.() ?? scaleOf(plane);
    const rowNames = rows && plane.rows <= mostNames ? rows : null;
    const left = 1 + (rowNames ? Math.min(110, 6.4 * longest(rowNames) + 6) : 0);
    const beyond = missing?.columns ? hatchSize : 0;
    // How far the last name, slanted by 60 degrees, extends past the middle of its column.
    const slanted = columns ? Math.max(14, 8 + 3.2 * lettersWide(columns.at(-1) ?? "")) : 0;
    const most = Math.max(1, Math.min(cell, (width - 1 - left - beyond - slanted) / plane.columns));
    const columnNames = columns && most >= 11 ? columns : null;
    const top = 1 + (columnNames ? Math.min(90, 5.6 * longest(columnNames) + 6) : 0) + (parts ? partsHeight : 0);
    const high = plane.rows === 1 ? Math.max(most, 14) : rowNames ? Math.max(most, 12) : most;
    const [wide, tall] = [plane.columns * most, plane.rows * high];
    this.box = [left, top, most, high];
    drawCells(area, plane, scale, left, top, wide, tall);
    if (rowNames) nameRows(area, rowNames, left - 5, top, high);
    if (columnNames) nameColumns(area, columnNames, left, top - 4, most);
    if (parts) markParts(area, parts, left, top, most, tall);
    if (missing?.columns) hatch(area, left + wide, top, hatchSize - 1, tall);
    if (missing?.rows) hatch(area, left, top + tall, wide, hatchSize - 1);
    const bottom = top + tall + (missing?.rows ? hatchSize : 0);
    const { ink } = palette();
    this.cursor = area.append("rect").attr("class", "screen cursor").attr("width", most).attr("height", high).node();
    this.cursor!.setAttribute("stroke", ink);
    this.go(null);
    const cover = area.append("rect").attr("class", "screen cover");
    cover.attr("x", left).attr("y", top).attr("width", wide).attr("height", tall);
    cover.on("pointermove", (event: PointerEvent) => this.go(cellAt(event, plane, cover.node()!)));
    cover.on("pointerleave", () => this.go(null));
    cover.on("click", (event: PointerEvent) => {
      this.go(cellAt(event, plane, cover.node()!));
      this.editHere();
    });
    legend(area, scale, this.options.unit ?? "", 1, bottom + 3, Math.min(170, Math.max(110, wide)));
    return bottom + 35;
  }

  private go(at: [number, number] | null) {
    this.at = at;
    const { plane, rows, columns, point, describe } = this.options;
    this.cursor?.setAttribute("visibility", at ? "visible" : "hidden");
    if (!at) {
      this.picture.showReadout(null);
      return;
    }
    const [row, column] = at;
    const [x, y, wide, high] = this.box as [number, number, number, number];
    this.cursor?.setAttribute("x", String(x + column * wide));
    this.cursor?.setAttribute("y", String(y + row * high));
    const name = (names: string[] | undefined, index: number) => names?.[index] ?? String(index);
    const where = plane.rows === 1 && !rows ? name(columns, column) : `${name(rows, row)}, ${name(columns, column)}`;
    const words = describe ? describe(row, column) : rows || columns ? where : `[${where}]`;
    this.picture.showReadout(words, plane.at(row, column));
    point?.(row, column);
  }

  // Returns whether there is a cell to edit.
  private editHere(): boolean {
    if (!this.at || !this.cursor || !this.options.edit) return false;
    this.options.edit(...this.at, this.cursor);
    return true;
  }

  private key(event: KeyboardEvent): boolean {
    const { plane } = this.options;
    const moves: Record<string, [number, number]> = {
      ArrowUp: [-1, 0],
      ArrowDown: [1, 0],
      ArrowLeft: [0, -1],
      ArrowRight: [0, 1],
    };
    if (event.key === "Escape") return (this.go(null), true);
    if (event.key === "Enter") return this.editHere();
    const move = moves[event.key];
    if (!move) return false;
    const [row, column] = this.at ?? [0, 0];
    const within = (value: number, count: number) => Math.max(0, Math.min(count - 1, value));
    this.go(this.at ? [within(row + move[0], plane.rows), within(column + move[1], plane.columns)] : [0, 0]);
    return true;
  }
}

// Tints a table cell by its value.
export function tint(cell: HTMLElement, value: number, scale: Scale) {
  const color = scale.color(value);
  cell.style.backgroundColor = color;
  cell.style.color = inkOn(color);
}
