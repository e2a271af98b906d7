// What all chapters share: the followed weight, the token and the position in question, and how they are named.
import { visible } from "../../../shared/dom";
import type { App } from "../../app";
import type { PackedTensor, Prediction, TapeNode } from "../../data";
import { tensor } from "../../tensor";
import { positionOf, type Position } from "../../views/output";
import { shortened } from "../../widgets/switches";
import { Anatomy, type FollowedWeight } from "./anatomy";
import { plain, type Place } from "./step";

export interface Story {
  app: App;
  anatomy: Anatomy;
  followed: FollowedWeight | null;
  here: { block: string; heads: number[]; row: number; output: number }; // the view's state at the followed weight
  text: number; // whose embedding is followed
  token: number;
  prediction: Prediction | null;
  position: (Position & { row: number; output: number; count: number }) | null;
  correct: string; // the token or label that the position should predict
  loss: boolean; // whether the output is a loss: lower is better
  name: string; // of the output
  of: (text: number | null, token: number) => string; // a token in quotes
}

export function storyOf(app: App): Story {
  const anatomy = new Anatomy(app);
  const { followed } = anatomy;
  const output = 0;
  const prediction = app.data.predictions[output] ?? null;
  // The position that the followed query predicts, or else the one with the largest loss.
  const own = followed && prediction?.text === followed.block.rows ? followed.row - prediction.start : -1;
  const count = prediction?.targets.length ?? 0;
  const rows = Array.from({ length: count }, (_, row) => row);
  const lossAt = (row: number) => positionOf(prediction!, row).loss;
  const worst = rows.reduce((best, row) => (lossAt(row) > lossAt(best) ? row : best), 0);
  const row = own >= 0 && own < count ? own : worst;
  const position = prediction && count > 0 ? { ...positionOf(prediction, row), row, output, count } : null;
  return {
    app,
    anatomy,
    followed,
    here: {
      block: followed?.block.module ?? "",
      heads: [followed?.head ?? 0],
      row: followed?.row ?? 0,
      output,
    },
    text: followed?.block.columns ?? 0,
    token: followed?.key ?? 0,
    prediction,
    position,
    correct: position ? shortened(position.names[position.target] ?? "", 16) : "",
    loss: prediction !== null,
    name: visible(app.data.outputs[output]!.name),
    of: (text, token) => `“${shortened(app.tokens(text)[token] ?? `row ${token}`, 16)}”`,
  };
}

// A cell of a picture of the tape's inspector.
export function heatPlace(id: string, packed: PackedTensor, row: number, column: number): Place {
  const shape = packed.cut ?? packed.shape;
  return { at: `#${id}`, cell: { row, column, rows: shape.at(-2) ?? 1, columns: shape.at(-1) ?? 1 } };
}

// A row of a view's table of numbers.
export function tableRow(index: number, column: string): Place {
  const at = `table.numbers tbody tr[data-index="${index}"]`;
  return { at, number: `${at} [data-column="${column}"]` };
}

// A number of the figure above a view, or a row of its table.
export function lessonFact(key: string): Place {
  const number = `.lesson [data-lesson="${key}"]`;
  return { at: `.lesson div:has(> [data-lesson="${key}"])`, number };
}
export function lessonRow(index: number, column: string): Place {
  const at = `.lesson tbody tr[data-index="${index}"]`;
  return { at, number: `${at} [data-column="${column}"]` };
}

// The column of a row with the largest value.
export function largestColumn(packed: PackedTensor, row: number, ...places: number[]): number {
  const values = tensor(packed).row(row, ...places);
  return values.reduce((best, value, column) => (Math.abs(value) > Math.abs(values[best]!) ? column : best), 0);
}

// What an operation does, for readers who do not know the name that the tape records.
export function doing({ operation, attributes }: Pick<TapeNode, "operation" | "attributes">): string {
  const { scale, shift } = attributes;
  if (operation === "affine" && typeof scale === "number" && typeof shift === "number") {
    const parts = [scale !== 1 && `multiplied by ${plain(scale)}`, shift !== 0 && `${plain(shift)} added`];
    return parts.filter(Boolean).join(", ") || "unchanged";
  }
  return known[operation] ?? "";
}

const known: Record<string, string> = {
  embedding: "rows of a table looked up",
  add: "two tensors added",
  mul: "multiplied number by number",
  matmul: "multiplied with a matrix",
  softmax: "exponentials divided by their sum",
  log_softmax: "logarithm of the softmax",
  gather: "one number of each row picked",
  sum: "summed",
  neg: "the sign changed",
};

export function recordedAs(node: TapeNode): string {
  const words = doing(node);
  return `${node.operation} #${node.id}${words === "" ? "" : `, ${words}`}`;
}
