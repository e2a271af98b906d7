// Positions of the tokens, lines and numbers in the head view.
import { max } from "d3-array";
import type { App } from "../app";
import type { Attention } from "../data";
import { shortened } from "../widgets/switches";
import { shownHeads } from "./heads";
import { patchRoom } from "./image";

export const narrow = 560; // pixels

export interface HeadLayout {
  chosen: number | null; // the selected query
  queries: number[]; // shown tokens
  keys: number[];
  row: number; // height of a row
  top: number;
  left: number; // start of the lines
  right: number; // end of the lines
  cells: number; // start of the numbers
  cell: number; // width of a number
}

// wanted: the query to select, if it is shown.
export function headLayout(app: App, block: Attention, width: number, wanted: number | null): HeadLayout {
  const kept = (text: number, which: string) =>
    app
      .tokens(text)
      .map((_, index) => index)
      .filter((index) => which === "*" || app.data.texts[text]?.segments?.[index] === (which === "A" ? 0 : 1));
  const { filter } = app.state;
  const [queries, keys] = [kept(block.rows, filter[0]!), kept(block.columns, filter[1]!)];
  const lines = Math.max(queries.length, keys.length);
  const row = Math.max(15, Math.min(34, Math.round(520 / lines)));
  const longest = (text: number, of: number[]) =>
    max(of, (index) => Array.from(shortened(app.tokens(text)[index]!, 20)).length) ?? 1;
  // At least as wide as the headings.
  const [leftText, rightText] = [Math.max(6, longest(block.rows, queries)), Math.max(5, longest(block.columns, keys))];
  const [leftPatch, rightPatch] = [block.rows, block.columns].map((text) => patchRoom(app.data.texts[text], row));
  const left = 18 + 7.6 * leftText + leftPatch!;
  const heads = shownHeads(app).length;
  const forLines = width < narrow ? 160 : 300;
  const cell = Math.max(10, Math.min(52, (width - left - 8 * rightText - forLines) / heads));
  const gap = 22 + 7.6 * rightText + rightPatch!;
  const right = Math.min(width - gap - Math.max(heads * cell, 200) - 4, left + 680);
  const chosen = wanted !== null && queries.includes(wanted) ? wanted : null;
  return { chosen, queries, keys, row, top: 46, left, right, cells: right + gap, cell };
}
