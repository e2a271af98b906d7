// Chapter 3: from the loss back to the embeddings, by the chain rule.
import { norm as lengthOf, tensor } from "../../tensor";
import type { PackedTensor } from "../../data";
import { Replay } from "../../tape/replay";
import { softmaxBackward } from "../../views/softmax";
import { cellOf } from "./anatomy";
import {
  agrees,
  factor,
  number,
  plain,
  probability,
  products,
  resolved,
  result,
  say,
  sumOf,
  term,
  type Step,
} from "./step";
import { followedEntry } from "./entry";
import { heatPlace, largestColumn, recordedAs, tableRow, type Story } from "./story";

export function backward(story: Story): (Step | null)[] {
  return [
    start(story),
    first(story),
    outputLayer(story),
    twoWays(story),
    headOutput(story),
    weight(story),
    meaning(story),
    score(story),
    query(story),
    key(story),
    value(story),
    matrix(story),
    embedding(story),
    input(story),
  ];
}

function start({ app, name, loss }: Story): Step | null {
  const root = app.operation(app.data.tape.roots[0]!);
  const gradient = tensor(root?.outputs[0]?.gradients[0])?.values[0];
  if (!root || gradient === undefined) return null;
  return {
    id: "start",
    title: "Gradients are slopes",
    stage: "loss",
    words: say`The ${term("gradient")} of a number x is the slope dL/dx: by how much ${loss ? "the loss L" : `the ${name}, L,`} changes for each unit that x changes. Backward starts at L itself.`,
    check: say`dL/dL = ${result(gradient)}, under “Gradient of ${name}”`,
    recorded: recordedAs(root),
    state: { view: "tape", subject: { node: root.id }, step: null, output: 0 },
    place: { at: "#heat-output-0-gradient" },
  };
}

function first({ app, position, prediction, correct }: Story): Step | null {
  if (!position || !prediction || !app.hasView("output")) return null;
  const { count, target, row, output } = position;
  const p = position.p[target]!;
  const gradient = (p - 1) / count;
  const words = resolved(p, 1 - p);
  return {
    id: "first",
    title: "At the logits: p − y",
    stage: "probabilities",
    words: say`The gradient of a ${term("logit")} is p − y: its probability minus what it should be, 1 for “${correct}” and 0 for all others. Negative means: a larger logit would lower the loss.`,
    check: say`“${correct}”: (${number(p, words)} − 1)${count > 1 ? ` / ${count} positions` : ""} = ${result(gradient)}`,
    state: { view: "output", row, output },
    place: tableRow(target, "first"),
  };
}

function outputLayer({ app, anatomy, prediction }: Story): Step | null {
  let node = prediction && app.operation(prediction.node);
  for (let hop = 0; node && node.operation !== "matmul" && hop < 4; ++hop) node = anatomy.input(node, 0);
  const packed = node?.contributions[0]?.[0];
  if (!node || !packed) return null;
  const length = lengthOf(packed);
  return {
    id: "output-layer",
    title: "Through the output layer",
    stage: "probabilities",
    words: say`Forward, a logit was a sum of products: vector times a row of weights. So backward, by the ${term("chain rule")}, each row is multiplied with the gradient of its logit, and all of them are summed.`,
    check: say`All numbers of this new gradient together have the length √(sum of squares) = ${result(length)}: “gradient of norm” at Inputs`,
    recorded: recordedAs(node),
    state: { view: "tape", subject: { node: node.id }, step: null, output: 0 },
    place: { at: ".inspector .inputs", number: '[data-sent="0"]' },
  };
}

function twoWays({ app, anatomy, followed, of }: Story): Step | null {
  if (!followed) return null;
  const { block, row } = followed;
  const node = anatomy.residual(block);
  const recorded = node?.outputs[0]?.gradients[0];
  if (!node || !recorded) return null;
  const all = new Replay(app.data, 0).contributions({ node: node.id, output: 0 });
  if (all.length < 2 || all.length > 3) return null;
  const d = largestColumn(recorded, row);
  const terms = all.map(({ value }) => cellOf(value, row, d));
  const total = terms.reduce((a, b) => a + b, 0);
  if (!agrees(total, cellOf(recorded, row, d))) return null;
  return {
    id: "two-ways",
    title: "Two ways back",
    stage: "feed-forward",
    words: say`The vector after attention was used ${terms.length === 2 ? "twice: by the next layer" : "three times: twice inside the next norm"}, and by the ${term("residual", "residual connection")} around it. The gradients of all uses are added.`,
    check: say`Number ${String(d)} of ${of(block.rows, row)}: ${terms.flatMap((one, index) => [index > 0 ? " + " : "", ...(index > 0 ? factor(one) : [number(one)])])} = ${result(total)}`,
    recorded: recordedAs(node),
    state: { view: "tape", subject: { node: node.id }, step: null, output: 0 },
    place: heatPlace("heat-sum-0", all[0]!.value!, row, d),
  };
}

// The gradient of a head's output.
function contextGradient({ anatomy, followed }: Story): { node: number; gradient: PackedTensor } | null {
  const node = followed && anatomy.context(followed.block);
  const gradient = node?.outputs[0]?.gradients[0];
  return node && gradient ? { node: node.id, gradient } : null;
}

function headOutput(story: Story): Step | null {
  const { anatomy, followed, here, name, of } = story;
  const found = contextGradient(story);
  const output = followed && anatomy.product(followed.block, "output");
  if (!found || !output) return null;
  const { block, head, row } = followed;
  const d = largestColumn(found.gradient, row, head);
  const gradient = cellOf(found.gradient, row, d, head);
  const node = anatomy.context(block)!;
  // The products with a column of W_O, if the page stores all of it.
  const after = tensor(output.node.outputs[0]?.gradients[0]);
  const mixer = tensor(anatomy.app.data.tape.leaves[output.leaf]!.value);
  const depth = found.gradient.shape.at(-1)!;
  const complete = after && mixer && !after.truncated && !mixer.truncated;
  const pairs = complete
    ? Array.from(after.row(row), (g, o): [number, number] => [g, mixer.plane().at(o, head * depth + d)])
    : [];
  const worked = complete && agrees(sumOf(pairs), gradient) ? say`${products(pairs)} = ` : [];
  return {
    id: "head-output",
    title: "Through W_O to one head",
    stage: "attention",
    words: say`W_O mixed the heads, so the same matrix tells how much each ${term("head")} is to blame: gradient of the sum, times W_O. This is what arrives at the output of head ${String(head)}.`,
    check: say`Number ${String(d)} of ${of(block.rows, row)}: ${worked}${result(gradient)}, in “Gradient of ${name}”`,
    recorded: recordedAs(node),
    state: { view: "tape", subject: { node: node.id }, step: null, output: 0, heads: here.heads },
    place: heatPlace("heat-output-0-gradient", found.gradient, row, d),
  };
}

function weight(story: Story): Step | null {
  const { anatomy, followed, here, of } = story;
  const found = contextGradient(story);
  if (!followed || !found) return null;
  const { block, head, row, key } = followed;
  const node = anatomy.context(block)!;
  const value = tensor(anatomy.input(node, 1)?.outputs[0]?.value)?.row(key, head);
  const gradient = tensor(found.gradient).row(row, head);
  const recorded = cellOf(block.gradients[0]!.probabilities, row, key, head);
  if (value?.length !== gradient.length) return null;
  const pairs = Array.from(gradient, (one, d): [number, number] => [one, value[d]!]);
  if (!agrees(sumOf(pairs), recorded) || !tensor(block.gradients[0]!.query)) return null;
  return {
    id: "weight",
    title: "The gradient of one weight",
    stage: "attention",
    words: say`The weight of ${of(block.columns, key)} multiplied its ${term("value")}. So its gradient g is that value times the gradient of the head's output, number by number, summed.`,
    check: say`${products(pairs)} = ${result(recorded)}, the column dp`,
    state: { view: "neuron", show: "gradients", ...here },
    place: { at: `[data-figure="dp"][data-key="${key}"]` },
  };
}

function meaning({ followed, here, loss, name, of }: Story): Step | null {
  if (!followed) return null;
  const { block, head, row, key } = followed;
  const g = cellOf(block.gradients[0]!.probabilities, row, key, head);
  const effect = loss
    ? g < 0
      ? "would help"
      : "would harm"
    : g < 0
      ? `would lower the ${name}`
      : `would raise the ${name}`;
  return {
    id: "meaning",
    title: "What it means",
    stage: "attention",
    words: say`If this one weight grew by 0.01 and all others stayed, the ${name} would change by about g × 0.01. So a little more attention from ${of(block.rows, row)} to ${of(block.columns, key)} ${effect}.`,
    check: say`${result(g)} × 0.01 = ${number(g * 0.01)}`,
    state: { view: "head", show: "gradients", ...here },
    place: { at: `.number-cell[data-head="${head}"][data-key="${key}"]` },
  };
}

function score({ followed, anatomy, here, of }: Story): Step | null {
  if (!followed) return null;
  const { block, head, row, key } = followed;
  const p = tensor(block.values.probabilities)!.row(row, head);
  const g = tensor(block.gradients[0]!.probabilities)!.row(row, head);
  const { sum, dx } = softmaxBackward(p, g);
  const recorded = cellOf(block.gradients[0]!.scores, row, key, head);
  if (!agrees(dx[key]!, recorded, Math.max(Math.abs(recorded), Math.abs(1e-4 * p[key]! * g[key]!)))) return null;
  const above = g[key]! - sum;
  const [own, mean] = [resolved(g[key]!, above), resolved(sum, above)];
  const softmax = anatomy.softmax(block);
  return {
    id: "score",
    title: "Back through softmax",
    stage: "attention",
    words: say`Weights share a sum of 1, so a ${term("score")} is judged by comparison: its weight's g minus the mean Σ of the row, times p. ${above < 0 ? "Below the mean: a larger score for" : "Above the mean: a larger score for"} ${of(block.columns, key)} would ${above < 0 ? "lower" : "raise"} the loss.`,
    check: say`${number(p[key]!, probability(p[key]!))} × (${number(g[key]!, own)} − ${factor(sum, mean)}) = ${result(dx[key]!)}`,
    ...(softmax ? { recorded: recordedAs(softmax) } : {}),
    state: { view: "softmax", ...here },
    place: tableRow(key, "dx"),
  };
}

// The column in which the gradient of a vector gets the most from the followed score.
function largest(values: ArrayLike<number>): number {
  return Array.from(values).reduce((best, value, d) => (Math.abs(value) > Math.abs(values[best]!) ? d : best), 0);
}

function query({ followed, here, of }: Story): Step | null {
  if (!followed) return null;
  const { block, head, row, key } = followed;
  const other = tensor(block.values.key)?.row(key, head);
  const ds = cellOf(block.gradients[0]!.scores, row, key, head);
  const dq = tensor(block.gradients[0]!.query);
  if (!other?.length || block.relative || !dq || !tensor(block.gradients[0]!.key)) return null;
  const d = largest(other);
  const strip = `ds·scale·k ${key}`;
  return {
    id: "query",
    title: "Into the query",
    stage: "attention",
    words: say`The score was ${term("query")} · ${term("key")} × scale. So the query receives the key, times the scale, times the gradient of the score, and the same from every other key.`,
    check: say`From ${of(block.columns, key)}, number ${String(d)}: ${number(ds)} × ${number(block.scale)} × ${factor(other[d]!)} = ${result(ds * block.scale * other[d]!)}`,
    state: { view: "neuron", show: "gradients", ...here },
    place: { at: "#neuron-picture", cell: { strip, row: 0, column: d, rows: 1, columns: other.length } },
  };
}

function key({ followed, here, of }: Story): Step | null {
  if (!followed) return null;
  const { block, head, key } = followed;
  const [queries, scores] = [tensor(block.values.query), tensor(block.gradients[0]!.scores)];
  const gradient = tensor(block.gradients[0]!.key)?.row(key, head);
  if (!queries || !scores || !gradient?.length || block.relative) return null;
  const d = largest(gradient);
  const count = scores.storedShape.at(-2)!;
  const pairs = Array.from({ length: count }, (_, at): [number, number] => [
    scores.row(at, head)[key]! * block.scale,
    queries.row(at, head)[d] ?? NaN,
  ]);
  if (!agrees(sumOf(pairs), gradient[d]!)) return null;
  return {
    id: "key",
    title: "Into the key",
    stage: "attention",
    words: say`The ${term("key")} of ${of(block.columns, key)} met every ${term("query")}. It receives each query, times the gradient of their score and the scale.`,
    check: say`Number ${String(d)}: ${products(pairs)} = ${result(gradient[d]!)}`,
    state: { view: "neuron", show: "gradients", ...here },
    place: {
      at: "#neuron-picture",
      cell: { strip: `dk ${key}`, row: 0, column: d, rows: 1, columns: gradient.length },
    },
  };
}

function value(story: Story): Step | null {
  const { anatomy, followed, here, of } = story;
  const found = contextGradient(story);
  if (!followed || !found) return null;
  const { block, head, key } = followed;
  const node = anatomy.input(anatomy.context(block), 1);
  const packed = node?.outputs[0]?.gradients[0];
  const weights = tensor(block.values.probabilities)!;
  if (!node || !packed) return null;
  const d = largestColumn(packed, key, head);
  const pairs = Array.from({ length: weights.storedShape.at(-2)! }, (_, at): [number, number] => [
    weights.row(at, head)[key]!,
    cellOf(found.gradient, at, d, head),
  ]);
  const recorded = cellOf(packed, key, d, head);
  if (!agrees(sumOf(pairs), recorded)) return null;
  return {
    id: "value",
    title: "Into the value",
    stage: "attention",
    words: say`The ${term("value")} of ${of(block.columns, key)} went into every query's output, times the weight. So it receives the gradient of each output, times the same weight.`,
    check: say`Number ${String(d)}: ${products(pairs)} = ${result(recorded)}`,
    recorded: recordedAs(node),
    state: { view: "tape", subject: { node: node.id }, step: null, output: 0, heads: here.heads },
    place: heatPlace("heat-output-0-gradient", packed, key, d),
  };
}

function matrix(story: Story): Step | null {
  const entry = followedEntry(story);
  if (!entry) return null;
  const { place, packed, pairs, gradient, leaf, of } = entry;
  return {
    id: "matrix",
    title: "Into the parameters",
    stage: "attention",
    words: say`A matrix made the ${of}: this is a ${term("parameter")}, what training changes. Each of its numbers receives what it was multiplied with, times the gradient of what came out, summed over the tokens.`,
    check: say`Row ${String(place[0])}, column ${String(place[1])}: ${products(pairs)} = ${result(gradient)}`,
    state: { view: "tape", subject: { leaf }, step: null, output: 0 },
    place: heatPlace("heat-leaf-gradient", packed, place[0], place[1]),
  };
}

function embedding({ anatomy, text, token, name, of }: Story): Step | null {
  const node = anatomy.embedding(text);
  const packed = node?.outputs[0]?.gradients[0];
  if (!node || !packed || !anatomy.app.data.texts[text]) return null;
  const d = largestColumn(packed, token);
  const recorded = cellOf(packed, token, d);
  const found = anatomy.positions(node);
  const scale = found?.scaling ? Number(found.scaling.attributes.scale) : 1;
  const after = cellOf(found?.sum.outputs[0]?.gradients[0], token, d);
  const holds = agrees(after * scale, recorded);
  const factored = holds && scale !== 1;
  return {
    id: "embedding",
    title: "Back at the embedding",
    stage: "embedding",
    words: say`All paths that began at ${of(text, token)} end here, in its row of the ${term("embedding")}.${holds ? ` The added position passed the gradient on unchanged${factored ? `; the factor ${plain(scale)} multiplies it` : ""}.` : ""}`,
    check: factored
      ? say`Number ${String(d)}: ${number(after)} × ${number(scale)} = ${result(recorded)}`
      : say`Number ${String(d)} of ${of(text, token)}: ${result(recorded)}, under “Gradient of ${name}”`,
    recorded: recordedAs(node),
    state: { view: "tape", subject: { node: node.id }, step: null, output: 0 },
    place: heatPlace("heat-output-0-gradient", packed, token, d),
  };
}

// Of a function of tensors, which has no tokens: the number of an input or a parameter with the largest gradient.
function input({ app, name }: Story): Step | null {
  if (app.data.texts.length > 0) return null;
  const { leaves } = app.data.tape;
  const size = (leaf: number) =>
    tensor(leaves[leaf]!.gradients[0])?.values.reduce((a, b) => Math.max(a, Math.abs(b)), 0) ?? 0;
  const leaf = leaves.reduce((best, _, index) => (size(index) > size(best) ? index : best), 0);
  const packed = leaves[leaf]?.gradients[0];
  if (!packed || size(leaf) === 0) return null;
  const { rows } = tensor(packed).plane();
  const row = Array.from({ length: rows }, (_, at) => at).reduce((best, at) => {
    const most = (one: number) => Math.abs(cellOf(packed, one, largestColumn(packed, one)));
    return most(at) > most(best) ? at : best;
  }, 0);
  const column = largestColumn(packed, row);
  const g = cellOf(packed, row, column);
  const grown = app.data.tape.leaves[leaf]!.name;
  return {
    id: "input",
    title: "Back at the inputs",
    words: say`Each operation turned the gradient of its output into gradients of its inputs, by the ${term("chain rule")}, down to ${grown}. If this number grew by 0.01, the ${name} would change by about its gradient × 0.01.`,
    check: say`Row ${String(row)}, column ${String(column)}: ${result(g)} × 0.01 = ${number(g * 0.01)}`,
    state: { view: "tape", subject: { leaf }, step: null, output: 0 },
    place: heatPlace("heat-leaf-gradient", packed, row, column),
  };
}
