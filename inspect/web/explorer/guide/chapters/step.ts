// A step of the chapters: a sentence, the place in the page that it is about, and a number that the reader can check.
import { element } from "../../../shared/dom";
import { exact, powerOfTen } from "../../../shared/numbers";
import type { State } from "../../state";

export type Words = (Node | string)[];

// The stages that a text passes through, shown above the sentence.
export const stages = ["tokens", "embedding", "attention", "feed-forward", "probabilities", "loss"] as const;
export type Stage = (typeof stages)[number];

// What a step outlines, by selectors within the page's view and the lesson's figure.
export interface Place {
  at: string;
  number?: string; // the element with the number, if not `at`
  // A cell of the picture at `at` to point at, because its number is only shown under the pointer.
  cell?: { strip?: string; row: number; column: number; rows: number; columns: number };
}

export interface Step {
  id: string; // unique within its chapter, the same in all models
  title: string;
  stage?: Stage;
  words: Words;
  check: Words; // the number and how to verify it
  recorded?: string; // the name of the operation on the tape
  state: Partial<State>;
  place: Place;
  figure?: "update" | "row" | "adam" | "token"; // drawn above the view
}

export interface Chapter {
  id: string;
  name: string;
  backward: boolean; // whether its steps go from the loss to the tokens
  steps: Step[];
}

// Flattens the parts of a sentence: say`A ${term("token")} is …`.
export function say(texts: TemplateStringsArray, ...parts: (Node | string | Words)[]): Words {
  return texts.flatMap((text, index) => {
    const part = parts[index] ?? "";
    return [text, ...(Array.isArray(part) ? part : [part])].filter((piece) => piece !== "");
  });
}

// A word that the glossary explains.
export function term(word: string, shown = word): HTMLElement {
  const attributes = { class: "word", role: "button", tabindex: 0, "data-term": word };
  return element("span", { ...attributes, title: "Explain this word" }, shown);
}

const minus = (text: string) => text.replaceAll("-", "−");

// A number for readers who have not met scientific notation: 0.0000765, and 1.2 × 10⁻⁹ only below a millionth.
export function plain(value: number, digits = 4): string {
  if (!Number.isFinite(value) || value === 0) return exact(value);
  const rounded = Number(value.toPrecision(digits));
  const size = Math.abs(rounded);
  if (size >= 1e-6) return minus(size >= 10 ** digits ? String(Math.round(value)) : String(rounded));
  const power = Math.floor(Math.log10(size));
  return `${minus(String(Number((rounded / 10 ** power).toPrecision(Math.min(digits, 3)))))} × ${powerOfTen(power)}`;
}

// A number from which a nearly equal one is subtracted, with three digits of the difference.
export function resolved(value: number, difference: number): string {
  if (difference === 0 || !Number.isFinite(value - difference)) return plain(value);
  const places = Math.max(4, 2 - Math.floor(Math.log10(Math.abs(difference))));
  return minus(String(Number(value.toFixed(Math.min(places, 14)))));
}

// A probability: close to 1 with the digits that tell it from 1.
export const probability = (p: number) => (p > 0.9 && p < 1 ? resolved(p, 1 - p) : plain(p));

function written(value: number, name: string, words: string): HTMLElement {
  return element("b", { "data-tour": name, "data-value": value, title: exact(value) }, words);
}
// A number that a formula uses.
export const number = (value: number, words = plain(value)) => written(value, "term", words);
// The number of a step, which is shown at its place.
export const result = (value: number, words = plain(value)) => written(value, "result", words);

// In parentheses if it is negative, after an operator.
export const factor = (value: number, words = plain(value)): Words =>
  value < 0 ? ["(", number(value, words), ")"] : [number(value, words)];

const most = 3; // products written in full

// "a × b + c × d + 5 more (0.02)"; the products with the largest size first.
export function products(pairs: [number, number][]): Words {
  const size = ([a, b]: [number, number]) => Math.abs(a * b);
  const sorted = pairs.filter((pair) => size(pair) > 0).sort((one, other) => size(other) - size(one));
  if (sorted.length === 0) return ["0"];
  const kept = sorted.slice(0, sorted.length > most ? most - 1 : most);
  const rest = sorted.slice(kept.length);
  const words = kept.flatMap(([a, b], index) => [...(index > 0 ? [" + "] : []), ...factor(a), " × ", ...factor(b)]);
  if (rest.length === 0) return words;
  const sum = rest.reduce((all, [a, b]) => all + a * b, 0);
  return [...words, ` + ${rest.length} more (`, number(sum), ")"];
}

// "(a + b + c) / 3", or the sum of many.
export function meanOf(values: number[]): Words {
  const sum = values.reduce((a, b) => a + b, 0);
  if (values.length > 6) return [number(sum), ` / ${values.length}`];
  return ["(", ...values.flatMap((value, index) => [index > 0 ? " + " : "", number(value)]), `) / ${values.length}`];
}

export const sumOf = (pairs: [number, number][]) => pairs.reduce((all, [a, b]) => all + a * b, 0);

// Whether a formula gives what the page recorded, up to the rounding of f32. A step whose formula does not hold in a
// model, which may compute it in another way, is left out.
export const agrees = (computed: number, recorded: number, size = Math.abs(recorded)) =>
  Number.isFinite(computed) && Math.abs(computed - recorded) <= 2e-3 * size + 1e-12;
