// Chapter 5: larger changes, where the page knows what really happens if it was written with nudges, and what the gradient
// predicts otherwise.
import { tensor } from "../../tensor";
import { curveOf } from "../../views/nudge_curve";
import { softmaxBackward } from "../../views/softmax";
import { cellOf } from "./anatomy";
import { factor, number, products, result, say, sumOf, term, type Step } from "./step";
import { lessonFact, tableRow, type Story } from "./story";

export function whatIf(story: Story): (Step | null)[] {
  const { nudges } = story.app.data;
  return [
    nudges ? nudge(story) : without(story),
    nudges ? ablation(story) : rowOff(story),
    token(story),
    answer(story),
  ];
}

function nudge({ app, followed, here, name, of }: Story): Step | null {
  const nudges = app.data.nudges;
  if (!nudges || !followed) return null;
  const { block, head, row, key } = followed;
  const index = nudges.places.findIndex(
    ({ kind, node, index: at }) =>
      kind === "weight" &&
      app.operation(node)?.module === block.module &&
      at.slice(1).join() === [head, row, key].join(),
  );
  if (index < 0) return null;
  const { start, changes, effects, gradient } = curveOf(nudges, index, 0);
  const stop = Math.min(start + 2, changes.length - 1);
  const [change, effect] = [changes[stop]!, effects[stop]!];
  return {
    id: "nudge",
    title: "Nudge one weight",
    stage: "attention",
    words: say`The model ran again with the weight of ${of(block.columns, key)} larger by ${number(change)} and nothing else changed. The gradient predicts ${number(gradient * change)}: close for small changes, worse for large ones, because the curve bends.`,
    check: say`Predicted ${number(gradient)} × ${number(change)} = ${number(gradient * change)}, true change of the ${name}: ${result(effect)}`,
    state: { view: "nudge", ...here, pull: "weight", place: index, stop },
    place: { at: ".pulled .steps", number: '[data-pull="effect"]' },
  };
}

function without({ followed, here, name, of }: Story): Step | null {
  if (!followed) return null;
  const { block, head, row, key } = followed;
  const p = cellOf(block.values.probabilities, row, key, head);
  const g = cellOf(block.gradients[0]!.probabilities, row, key, head);
  return {
    id: "nudge",
    title: "Take one weight away",
    stage: "attention",
    words: say`What if ${of(block.rows, row)} did not attend to ${of(block.columns, key)} at all? Change × gradient predicts the effect: the weight changes by −p, so the ${name} by about −p·g.`,
    check: say`p·g = ${number(p)} × ${factor(g)} = ${result(p * g)}; the prediction is this with its sign changed`,
    state: { view: "softmax", ...here },
    place: tableRow(key, "pg"),
  };
}

function ablation({ app, followed, here, name }: Story): Step | null {
  const nudges = app.data.nudges;
  if (!nudges || !followed) return null;
  const { block, head } = followed;
  const cut = nudges.cuts.find((one) => one.kind === "head" && one.module === block.module && one.head === head);
  if (!cut) return null;
  const [predicted, effect] = [cut.predicted[0]!, cut.effects[0]!];
  return {
    id: "ablation",
    title: "Switch a head off",
    stage: "attention",
    words: say`An ${term("ablation")} sets all weights of head ${String(head)} to 0, and the model runs again. That is no small change: the gradient predicts ${number(predicted)}, and the truth may be far from it.`,
    check: say`First row: predicted ${number(predicted)}, true change of the ${name} ${result(effect)}`,
    state: { view: "nudge", ...here, pull: "cut", place: null, stop: null },
    place: {
      at: '.cuts tbody tr[data-index="0"]',
      number: '.cuts tbody tr[data-index="0"] [data-column="effect"]',
    },
  };
}

function rowOff({ followed, here, name, of }: Story): Step | null {
  if (!followed) return null;
  const { block, head, row } = followed;
  const p = tensor(block.values.probabilities)!.row(row, head);
  const { sum } = softmaxBackward(p, tensor(block.gradients[0]!.probabilities)!.row(row, head));
  return {
    id: "ablation",
    title: "Switch a head off for one token",
    stage: "attention",
    words: say`An ${term("ablation")} sets all weights of ${of(block.rows, row)} in head ${String(head)} to 0. Each changes by −p, so together they change the ${name} by about −Σ: a rough guess, because that is no small change.`,
    check: say`Σ = Σ p·g = ${result(sum)}; the prediction is this with its sign changed`,
    state: { view: "softmax", ...here },
    place: { at: '[data-step="sum"]' },
  };
}

// A token's embedding replaced by that of another token of the same text.
export function replacement({ app, anatomy, text, token: at }: Story) {
  const node = anatomy.embedding(text);
  const [value, gradient] = [node?.outputs[0]?.value, node?.outputs[0]?.gradients[0]];
  const tokens = app.data.texts[text]?.tokens ?? [];
  if (!node || !value || !gradient || value.cut || gradient.cut) return null;
  const other = tokens.findIndex((token) => token !== tokens[at]);
  if (other < 0) return null;
  const [from, to, slope] = [tensor(value).row(at), tensor(value).row(other), tensor(gradient).row(at)];
  const pairs = Array.from(slope, (g, d): [number, number] => [to[d]! - from[d]!, g]);
  return { node: node.id, other, from, to, slope, pairs, predicted: sumOf(pairs) };
}

function token(story: Story): Step | null {
  const { text, token: at, of, name } = story;
  const found = replacement(story);
  if (!found) return null;
  return {
    id: "token",
    title: "Change a token",
    stage: "embedding",
    words: say`If the model read ${of(text, found.other)} instead of ${of(text, at)}, every number of that vector would change. Change × gradient, summed, predicts how the ${name} changes: between two words the curve bends, so this is only a hint.`,
    check: say`${products(found.pairs)} = ${result(found.predicted)}`,
    state: { view: "tape", subject: { node: found.node }, step: null, output: 0 },
    figure: "token",
    place: lessonFact("predicted"),
  };
}

function answer({ followed, here, loss, name }: Story): Step | null {
  if (!followed) return null;
  const { block, head, row, key } = followed;
  const [g, ds] = [block.gradients[0]!.probabilities, block.gradients[0]!.scores].map((of) =>
    cellOf(of, row, key, head),
  );
  const goes = ds! < 0 ? "raises" : "lowers";
  return {
    id: "answer",
    title: "In your own words",
    stage: "attention",
    words: say`Cover the next line and say it: what does the gradient of this weight mean, and what will an update do to it?`,
    check: say`g = ${result(g!)} is the slope of the ${name} if only this weight changes, by a little. ${loss ? `An update ${goes} the score, and so the weight, because g is ${ds! < 0 ? "below" : "above"} the mean of its row.` : ""}`,
    state: { view: "head", show: "gradients", ...here },
    place: { at: `.number-cell[data-head="${head}"][data-key="${key}"]` },
  };
}
