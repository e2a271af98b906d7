// Chapter 2: from the probabilities to the one number that training lowers.
import { tensor } from "../../tensor";
import { positionOf } from "../../views/output";
import { agrees, meanOf, number, plain, probability, result, say, term, type Step } from "./step";
import { recordedAs, type Story } from "./story";

export function loss(story: Story): (Step | null)[] {
  return [surprise(story), mean(story), end(story)];
}

function surprise({ app, position, prediction, correct }: Story): Step | null {
  if (!position || !app.hasView("output")) return null;
  const p = position.p[position.target]!;
  const better = Math.min(0.9, (1 + p) / 2);
  return {
    id: "surprise",
    title: "How wrong is that?",
    stage: "loss",
    words: say`The ${term("cross-entropy")} of a prediction is −ln p of the ${prediction?.classes === "token" ? "correct one" : "target"}: 0 if the model is certain of “${correct}”, and without limit as p goes to 0.`,
    check:
      p < 0.9
        ? say`−ln ${number(p)} = ${result(position.loss)}; with p = ${plain(better)} it would be ${plain(-Math.log(better))}`
        : say`−ln ${number(p, probability(p))} = ${result(position.loss)}; with p = 0.5 it would be ${plain(Math.LN2)}`,
    state: { view: "output", row: position.row, output: position.output },
    place: { at: '[data-step="loss"]' },
  };
}

function mean({ app, prediction, position }: Story): Step | null {
  if (!prediction || !position || position.count < 2 || !app.hasView("output")) return null;
  const losses = prediction.targets.map((_, row) => positionOf(prediction, row).loss);
  const value = losses.reduce((a, b) => a + b, 0) / losses.length;
  if (!agrees(value, app.data.outputs[position.output]!.value ?? NaN)) return null;
  return {
    id: "mean",
    title: "One number for the text",
    stage: "loss",
    words: say`The model predicts a next token at every position. The ${term("loss")} of the text is the mean over its ${number(losses.length)} positions: training makes this one number smaller.`,
    check: say`${meanOf(losses)} = ${result(value)}`,
    state: { view: "output", row: position.row, output: position.output },
    place: { at: '[data-step="mean"]' },
  };
}

function end({ app, anatomy, name }: Story): Step | null {
  const { nodes, roots } = app.data.tape;
  const root = app.operation(roots[0]!);
  const value = tensor(root?.outputs[0]?.value)?.values[0];
  if (!root || value === undefined) return null;
  const before = anatomy.input(root, 0)?.outputs[0]?.value;
  const from = tensor(before)?.values;
  const { scale } = root.attributes;
  const scaled = typeof scale === "number" && from?.length === 1 && agrees(from[0]! * scale, value);
  return {
    id: "end",
    title: "The end of the tape",
    stage: "loss",
    words: say`Everything that was computed is recorded on a ${term("tape")}: ${number(nodes.length)} operations on ${term("tensor", "tensors")}, tables of numbers. The last one gives the ${name}.`,
    check: scaled
      ? say`${number(from[0]!)} × ${number(scale)} = ${result(value)}, under “Output”`
      : say`The ${name} is ${result(value)}, under “Output”`,
    recorded: recordedAs(root),
    state: { view: "tape", subject: { node: root.id }, step: null, output: 0 },
    place: { at: "#heat-output-0-value" },
  };
}
