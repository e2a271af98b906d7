// Chapter 4: one step of training, for one parameter, for all of them, and for the followed attention weight.
import { norm as lengthOf, tensor, type Numbers } from "../../tensor";
import { cellOf } from "./anatomy";
import { adamSteps, descended, updatedRow } from "./adam";
import { followedEntry } from "./entry";
import { agrees, factor, number, plain, resolved, result, say, term, type Step } from "./step";
import { heatPlace, lessonFact, lessonRow, type Story } from "./story";

// What the reader can set: the learning rates.
export interface Rates {
  descent: number;
  adam: number;
}
export const rates = (): Rates => ({ descent: 0.1, adam: 0.001 });

export function update(story: Story, now: Rates): (Step | null)[] {
  return [
    parameter(story),
    step(story, now),
    all(story, now),
    row(story, now),
    adam(story, now),
    adamTurns(story, now),
  ];
}

function parameter(story: Story): Step | null {
  const entry = followedEntry(story);
  if (!entry) return null;
  const { leaf, name, place, value, packed } = entry;
  const stored = story.app.data.tape.leaves[leaf]!.value ?? packed;
  return {
    id: "parameter",
    title: "One parameter",
    words: say`We stay with this one number, row ${String(place[0])}, column ${String(place[1])} of ${name}. The model stores it, and training may change it.`,
    check: say`Before the update it is ${result(value)}, under “Value”`,
    state: { view: "tape", subject: { leaf }, step: null, output: 0 },
    place: heatPlace("heat-leaf-value", stored, place[0], place[1]),
  };
}

function step(story: Story, { descent }: Rates): Step | null {
  const entry = followedEntry(story);
  if (!entry) return null;
  const { leaf, value, gradient } = entry;
  const change = descent * gradient;
  return {
    id: "step",
    title: "A small step downhill",
    words: say`The slope is ${gradient < 0 ? "negative, so a larger number lowers the loss" : "positive, so a smaller number lowers the loss"}. Gradient descent subtracts the gradient times the ${term("learning rate")} η, which you can set above.`,
    check: say`${number(value, resolved(value, change))} − ${plain(descent)} × ${factor(gradient)} = ${result(descended(value, gradient, descent), resolved(descended(value, gradient, descent), change))}`,
    state: { view: "tape", subject: { leaf }, step: null, output: 0 },
    figure: "update",
    place: lessonFact("after"),
  };
}

// Sum of the squares of all gradients of parameters.
export function squares({ app }: Story): number {
  return app.data.tape.leaves
    .filter(({ kind }) => kind === "parameter")
    .reduce((sum, { gradients }) => sum + (gradients[0] ? lengthOf(gradients[0]) ** 2 : 0), 0);
}

function all(story: Story, { descent }: Rates): Step | null {
  const entry = followedEntry(story);
  const sum = squares(story);
  if (!entry || !(sum > 0)) return null;
  const { parameters } = story.app.data.model;
  return {
    id: "all",
    title: "All parameters at once",
    words: say`${parameters > 0 ? say`All ${number(parameters, parameters.toLocaleString("en"))} parameters` : "All parameters"} take such a step together. Each change is −η × its gradient, and change × gradient, summed, predicts how the ${story.name} changes.`,
    check: say`−${plain(descent)} × ${number(sum)} = ${result(-descent * sum)}, where ${plain(sum)} is the sum of all squared gradients`,
    state: { view: "tape", subject: { leaf: entry.leaf }, step: null, output: 0 },
    figure: "update",
    place: lessonFact("predicted"),
  };
}

// The followed row of weights after an update of the matrix that makes the queries; null unless that can be computed from
// the page: the query must be the product itself, without a rotation or a norm after it.
export function rowAfter({ anatomy, followed }: Story, rate: number) {
  const product = followed && anatomy.product(followed.block, "query");
  if (!followed || !product) return null;
  const { block, head, row } = followed;
  const [queries, keys, scores] = [block.values.query, block.values.key, block.values.scores].map((part) =>
    tensor(part),
  );
  const gradients = tensor(block.gradients[0]!.query);
  const input = tensor(product.input);
  const [made, sent] = [tensor(product.node.outputs[0]?.value), tensor(product.node.outputs[0]?.gradients[0])];
  if (!queries || !keys || !scores || !gradients || !made || !sent || block.relative) return null;
  if ([input, made, sent].some(({ truncated }) => truncated)) return null;
  const depth = queries.storedShape.at(-1)!;
  const count = queries.storedShape.at(-2)!;
  const part = (values: Numbers) => Array.from(values).slice(head * depth, (head + 1) * depth);
  const all = (of: typeof queries, size: number) => Array.from({ length: size }, (_, at) => of.row(at, head));
  // Nothing but a bias may come between the product and the query, so their gradients are the same.
  const own = part(sent.row(row));
  const recorded = gradients.row(row, head);
  const size = Math.max(...recorded.map(Math.abs));
  if (own.length !== depth || own.some((value, d) => !agrees(value, recorded[d]!, size))) return null;
  const mask = tensor(block.values.mask)?.row(row, head);
  const before = Array.from(scores.row(row, head), (score, key) => score + (mask?.[key] ?? 0));
  const after = updatedRow(
    {
      scores: before,
      inputs: Array.from({ length: count }, (_, at) => input.row(at)),
      gradients: all(gradients, count),
      keys: all(keys, keys.storedShape.at(-2)!),
      scale: block.scale,
    },
    row,
    rate,
  );
  return { before, ...after };
}

function row(story: Story, { descent }: Rates): Step | null {
  const { app, followed, here, of } = story;
  const found = rowAfter(story, descent);
  if (!followed || !found) return null;
  const { block, head, row: at, key } = followed;
  const p = cellOf(block.values.probabilities, at, key, head);
  const after = found.weights[key]!;
  const change = found.scores[key]! - found.before[key]!;
  if (app.tokens(block.columns).length < 2) return null;
  return {
    id: "row",
    title: "What becomes of our weight",
    stage: "attention",
    words: say`Only the matrix of the queries has taken its step here. The score of ${of(block.columns, key)} moves against its gradient, by ${number(change)}, and softmax makes the new weights from the new scores.`,
    check: say`The weight was ${number(p, resolved(p, after - p))} and becomes ${result(after, resolved(after, after - p))}`,
    state: { view: "softmax", ...here },
    figure: "row",
    place: lessonRow(key, "after"),
  };
}

function adam(story: Story, { adam: rate }: Rates): Step | null {
  const entry = followedEntry(story);
  if (!entry) return null;
  const [only] = adamSteps([entry.gradient], rate);
  return {
    id: "adam",
    title: "What Adam makes of it",
    words: say`Most Transformers are trained with ${term("Adam")}. It divides the running mean of a gradient by its running size, so the first step is η, up or down, however small the gradient is.`,
    check: say`−${plain(rate)} × ${factor(only!.mean)} / ${number(only!.size)} = ${result(only!.change)}`,
    state: { view: "tape", subject: { leaf: entry.leaf }, step: null, output: 0 },
    figure: "adam",
    place: lessonRow(0, "same"),
  };
}

function adamTurns(story: Story, { adam: rate }: Rates): Step | null {
  const entry = followedEntry(story);
  if (!entry) return null;
  const second = adamSteps([entry.gradient, -entry.gradient], rate)[1]!;
  return {
    id: "turns",
    title: "Steady or undecided",
    words: say`If the next texts agree on the direction, the steps stay as long as η. If the gradient flips its sign, its mean nearly cancels while its size does not: the step gets short.`,
    check: say`Second step after a flip: −${plain(rate)} × ${factor(second.mean)} / ${number(second.size)} = ${result(second.change)}`,
    state: { view: "tape", subject: { leaf: entry.leaf }, step: null, output: 0 },
    figure: "adam",
    place: lessonRow(1, "flips"),
  };
}
