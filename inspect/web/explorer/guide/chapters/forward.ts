// Chapter 1: from the tokens to the probabilities, with the numbers of the followed weight.
import { shortened } from "../../widgets/switches";
import { within } from "../../architecture";
import { storedRows, type TapeNode } from "../../data";
import { tensor } from "../../tensor";
import { activations } from "../../views/activation";
import { layerNormBackward } from "../../views/layernorm";
import { pairsOf } from "../../views/rotary";
import { cellOf, type FollowedWeight } from "./anatomy";
import { agrees, factor, number, plain, probability, products, result, say, sumOf, term, type Step } from "./step";
import { heatPlace, largestColumn, recordedAs, tableRow, type Story } from "./story";

export function forward(story: Story): (Step | null)[] {
  return [
    tokens(story),
    embedding(story),
    positions(story),
    rotation(story),
    norm(story),
    matches(story),
    score(story),
    weight(story),
    values(story),
    residual(story),
    feedForward(story),
    probabilities(story),
  ];
}

function tokens({ app, text }: Story): Step | null {
  const source = app.data.texts[text];
  if (!source || !app.hasView("overview")) return null;
  const count = source.tokens.length;
  const { image } = source;
  const patches = image ? image.rows * image.columns : 0;
  const shown = source.tokens.slice(0, 8).map((token) => shortened(token, 16));
  const mark = ["Ġ", "▁"].find((sign) => source.tokens.some((token) => token.startsWith(sign)));
  const list = `${shown.join(" · ")}${count > shown.length ? " …" : ""}`;
  return {
    id: "tokens",
    title: image ? "An image becomes tokens" : "Text becomes tokens",
    stage: "tokens",
    words: image
      ? say`The model reads an image as a list of ${term("token", "tokens")}: one for each square patch, and ${number(count - patches)} that stands for the whole.`
      : say`The model reads ${term("token", "tokens")}, pieces of text from a fixed list: ${list}. ${mark ? `${mark} marks the start of a word.` : ""}`,
    check: image
      ? say`${number(image.rows)} × ${number(image.columns)} + ${number(count - patches)} = ${result(count)} tokens`
      : say`Count them at the top of the picture: ${result(count)}`,
    state: { view: "overview", show: "values", output: 0 },
    place: { at: `.chips[data-text="${text}"]` },
  };
}

// The sum of a token's vector and its position's, in a column where both count.
function sumAt({ anatomy, token }: Story, node: TapeNode) {
  const found = anatomy.positions(node);
  const sum = found?.sum.outputs[0]?.value;
  if (!found || !sum) return null;
  const scale = found.scaling ? Number(found.scaling.attributes.scale) : 1;
  const parts = (column: number) =>
    [cellOf(node.outputs[0]!.value, token, column), cellOf(found.other, token, column)] as const;
  const columns = Array.from({ length: Math.min(8, sum.shape.at(-1)!) }, (_, column) => column);
  const least = (column: number) => Math.min(...parts(column).map(Math.abs));
  const column = columns.reduce((best, one) => (least(one) > least(best) ? one : best), 0);
  const [value, added] = parts(column);
  const total = cellOf(sum, token, column);
  return agrees(value * scale + added, total) ? { node: found.sum, sum, scale, column, value, added, total } : null;
}

function embedding(story: Story): Step | null {
  const { app, anatomy, text, token, of } = story;
  const node = anatomy.embedding(text);
  const value = node?.outputs[0]?.value;
  if (!node || !value || !app.data.texts[text]) return null;
  const column = sumAt(story, node)?.column ?? largestColumn(value, token);
  const found = cellOf(value, token, column);
  if (!Number.isFinite(found)) return null;
  return {
    id: "embedding",
    title: "A token becomes numbers",
    stage: "embedding",
    words: say`A table, the ${term("embedding")}, has one row of ${number(value.shape.at(-1)!)} numbers for each token, learned in training. The row of ${of(text, token)} is its ${term("vector")}.`,
    check: say`Its number ${String(column)}, counted from 0, is ${result(found)}: row ${of(text, token)} of “Value”`,
    recorded: recordedAs(node),
    state: { view: "tape", subject: { node: node.id }, step: null, output: 0 },
    place: heatPlace("heat-output-0-value", value, token, column),
  };
}

function positions(story: Story): Step | null {
  const { anatomy, text, token, of } = story;
  const node = anatomy.embedding(text);
  const found = node && sumAt(story, node);
  if (!found) return null;
  const { sum, scale, column, value, added, total } = found;
  const width = sum.shape.at(-1)!;
  const root = Math.abs(scale / Math.sqrt(width) - 1) < 1e-4;
  const scaled = scale === 1 ? [] : root ? [` × √${width}`] : [" × ", number(scale)];
  return {
    id: "positions",
    title: "Where a token stands",
    stage: "embedding",
    words: say`These numbers are the same wherever ${of(text, token)} stands. So a second vector, one for each position, is added.`,
    check: say`Number ${String(column)} of ${of(text, token)}: ${number(value)}${scaled} + ${factor(added)} = ${result(total)}`,
    recorded: recordedAs(found.node),
    state: { view: "tape", subject: { node: found.node.id }, step: null, output: 0 },
    place: heatPlace("heat-output-0-value", sum, token, column),
  };
}

function rotation({ app, followed, of }: Story): Step | null {
  const block = followed?.block;
  const layer = app.data.rotaries.findLast(({ module }) => block && within(module, block.module.split(" (")[0]!));
  if (!block || !layer) return null;
  const row = Math.min(Math.max(followed.row, 1), storedRows(layer) - 1);
  const pairs = pairsOf(layer, row);
  const pair = Math.min(1, pairs.length - 1);
  if (row < 1) return null;
  const { angle } = pairs[pair]!;
  return {
    id: "rotation",
    title: "Where a token stands",
    stage: "attention",
    words: say`Positions enter as rotations: pairs of numbers of a ${term("query")} or a ${term("key")} turn by an angle that grows with the position, here ${String(row)}, of ${of(block.rows, row)}.`,
    check: say`Pair ${String(pair)}: ${number(row)} × ${plain(layer.theta, 7)}^(${number((-2 * pair) / layer.turned)}) = ${result(angle)}`,
    state: { view: "rotary", layer: layer.module, heads: [followed.head], row, output: 0 },
    place: tableRow(pair, "angle"),
  };
}

function norm({ app, followed, of }: Story): Step | null {
  if (!followed) return null;
  const { block } = followed;
  const owner = block.module.split(".").slice(0, -1).join(".");
  const layer = app.norms().find(({ module, text }) => within(module, owner) && text === block.rows) ?? app.norms()[0];
  const packed = layer?.gradient_output[0];
  if (!layer || !packed || !tensor(layer.gradient_input[0])) return null;
  const row = followed.row < storedRows(layer) ? followed.row : 0;
  const centered = app.data.layer_norms.includes(layer);
  const x = tensor(layer.input).row(row);
  const { mean, inverse, hat } = layerNormBackward(x, null, tensor(packed).row(row), layer.eps, centered);
  return {
    id: "norm",
    title: "A common scale",
    stage: "attention",
    words: say`Every block brings its vectors to a common scale. ${centered ? term("LayerNorm") : term("RMSNorm")} ${centered ? "subtracts the mean μ of a vector and divides by its spread σ" : "divides a vector by the typical size σ of its numbers"}.`,
    check: centered
      ? say`Number 0 of ${of(layer.text, row)}: (${number(x[0]!)} − ${factor(mean)}) × ${number(inverse)} = ${result(hat[0]!)}, where ${plain(inverse)} is 1/σ`
      : say`Number 0 of ${of(layer.text, row)}: ${number(x[0]!)} × ${number(inverse)} = ${result(hat[0]!)}, where ${plain(inverse)} is 1/σ`,
    state: { view: "layernorm", norm: layer.module, row, output: 0 },
    place: tableRow(0, "hat"),
  };
}

// The query, the key and their products.
function comparison({ block, head, row, key }: FollowedWeight) {
  const [query, other] = [tensor(block.values.query)?.row(row, head), tensor(block.values.key)?.row(key, head)];
  if (!query?.length || !other?.length) return null;
  const pairs = Array.from(query, (value, d): [number, number] => [value, other[d]!]);
  return { pairs, dot: sumOf(pairs) };
}

function matches({ followed, here, of }: Story): Step | null {
  const found = followed && comparison(followed);
  if (!found) return null;
  const { block, head, row, key } = followed;
  const { pairs } = found;
  const size = (d: number) => Math.abs(pairs[d]![0] * pairs[d]![1]);
  const d = Array.from(pairs.keys()).reduce((best, one) => (size(one) > size(best) ? one : best), 0);
  const [a, b] = pairs[d]!;
  const strip = `q·k ${key}`;
  const starts = block.rows !== block.columns && row === 0; // at a token that only marks the start
  return {
    id: "products",
    title: "A query meets a key",
    stage: "attention",
    words: say`${term("head", `Head ${head}`)} makes from each vector a ${term("query")}, what the token looks for, and a ${term("key")}, what it offers. The query of ${of(block.rows, row)}${starts ? ", where the translation starts," : ""} is multiplied with the key of ${of(block.columns, key)}, number by number.`,
    check: say`Number ${String(d)}: ${number(a)} × ${factor(b)} = ${result(a * b)}`,
    state: { view: "neuron", show: "values", ...here },
    place: { at: "#neuron-picture", cell: { strip, row: 0, column: d, rows: 1, columns: pairs.length } },
  };
}

function score({ followed, anatomy, here, of }: Story): Step | null {
  const found = followed && comparison(followed);
  if (!found) return null;
  const { block, head, row, key } = followed;
  const recorded = cellOf(block.values.scores, row, key, head);
  if (!agrees(found.dot * block.scale, recorded, Math.max(Math.abs(recorded), 0.01))) return null;
  const depth = found.pairs.length;
  const usual = Math.abs(block.scale * Math.sqrt(depth) - 1) < 1e-4;
  const scaling = anatomy.scaling(block);
  return {
    id: "score",
    title: "A score",
    stage: "attention",
    words: say`The ${number(depth)} products are summed and ${usual ? "divided by the square root of their number" : "scaled"}. The ${term("score")} of ${of(block.columns, key)} is large if query and key match.`,
    check: say`${number(found.dot)} ${usual ? say`/ √${number(depth)}` : say`× ${number(block.scale)}`} = ${result(recorded)}`,
    ...(scaling ? { recorded: recordedAs(scaling) } : {}),
    state: { view: "neuron", show: "values", ...here },
    place: { at: `[data-figure="score"][data-key="${key}"]` },
  };
}

function weight({ followed, here, anatomy, of }: Story): Step | null {
  if (!followed) return null;
  const { block, head, row, key } = followed;
  const scores = tensor(block.values.scores)?.row(row, head);
  const mask = tensor(block.values.mask)?.row(row, head);
  if (!scores || !comparison(followed)) return null;
  const masked = Array.from(scores, (value, index) => value + (mask?.[index] ?? 0));
  const seen = masked.filter((value) => value > -1e30);
  const high = Math.max(...seen);
  const log = high + Math.log(seen.reduce((sum, value) => sum + Math.exp(value - high), 0));
  const p = cellOf(block.values.probabilities, row, key, head);
  if (!agrees(Math.exp(masked[key]! - log), p)) return null;
  const few = seen.length <= 4;
  const softmax = anatomy.softmax(block);
  return {
    id: "weight",
    title: "Scores become weights",
    stage: "attention",
    words: say`${term("softmax", "Softmax")} raises e to each score and divides by the sum. The results are the ${term("attention weight", "weights")}: positive, and together 1, so what one key gains, the others lose.`,
    check: few
      ? say`${of(block.columns, key)}: e^(${number(masked[key]!)}) / (${seen.flatMap((value, index) => [index > 0 ? " + " : "", "e^(", number(value), ")"])}) = ${result(p, probability(p))}`
      : say`${of(block.columns, key)}: e^(${number(masked[key]!)} − ${factor(log)}) = ${result(p, probability(p))}, where ${plain(log)} is ln of the sum`,
    ...(softmax ? { recorded: recordedAs(softmax) } : {}),
    state: { view: "neuron", show: "values", ...here },
    place: { at: `[data-figure="softmax"][data-key="${key}"]` },
  };
}

function values({ followed, anatomy, here, of }: Story): Step | null {
  if (!followed) return null;
  const { block, head, row } = followed;
  const node = anatomy.context(block);
  const packed = node?.outputs[0]?.value;
  const value = anatomy.input(node, 1)?.outputs[0]?.value;
  const weights = tensor(block.values.probabilities)?.row(row, head);
  if (!node || !packed || !value || !weights) return null;
  const d = largestColumn(packed, row, head);
  const pairs = Array.from(weights, (p, at): [number, number] => [p, cellOf(value, at, d, head)]);
  const recorded = cellOf(packed, row, d, head);
  if (!agrees(sumOf(pairs), recorded)) return null;
  return {
    id: "values",
    title: "Weights mix values",
    stage: "attention",
    words: say`Each token also has a ${term("value")}, what it passes on. The output of the head for ${of(block.rows, row)} is the sum of all values, each times its weight.`,
    check: say`Number ${String(d)}: ${products(pairs)} = ${result(recorded)}`,
    recorded: recordedAs(node),
    state: { view: "tape", subject: { node: node.id }, step: null, output: 0, heads: here.heads },
    place: heatPlace("heat-output-0-value", packed, row, d),
  };
}

function residual({ followed, anatomy, of }: Story): Step | null {
  if (!followed) return null;
  const { block, row } = followed;
  const node = anatomy.residual(block);
  const packed = node?.outputs[0]?.value;
  const [one, other] = [0, 1].map((index) => anatomy.input(node, index)?.outputs[0]?.value);
  if (!node || !packed) return null;
  const d = largestColumn(packed, row);
  const [a, b, sum] = [one, other, packed].map((part) => cellOf(part, row, d)) as [number, number, number];
  if (!agrees(a + b, sum)) return null;
  return {
    id: "residual",
    title: "Added, not replaced",
    stage: "attention",
    words: say`A matrix W_O mixes the outputs of all heads. The result is added to the vector that came in, a ${term("residual", "residual connection")}: attention corrects it and does not replace it.`,
    check: say`Number ${String(d)} of ${of(block.rows, row)}: ${number(a)} + ${factor(b)} = ${result(sum)}`,
    recorded: recordedAs(node),
    state: { view: "tape", subject: { node: node.id }, step: null, output: 0 },
    place: heatPlace("heat-output-0-value", packed, row, d),
  };
}

function feedForward({ app, followed, of }: Story): Step | null {
  const block = followed?.block;
  const owner = block?.module.split(".").slice(0, -1).join(".");
  const all = app.data.activations.filter(({ text }) => !block || text === block.rows);
  const layer = all.find(({ module }) => owner && within(module, owner)) ?? all.at(-1) ?? app.data.activations.at(-1);
  const gradients = tensor(layer?.gradient_output[0]);
  const known = layer && activations[layer.function];
  if (!layer || !gradients || !known) return null;
  const row = followed && followed.row < storedRows(layer) ? followed.row : 0;
  const [h, f, g] = [tensor(layer.input).row(row), tensor(layer.output).row(row), gradients.row(row)];
  // The view lists units by the size of their gradient.
  const sizes = Array.from(h, (value, one) => Math.abs(known.slope(value) * g[one]!));
  const order = Array.from(h.keys()).sort((a, b) => sizes[b]! - sizes[a]! || a - b);
  const unit = order.find((one) => f[one]! > 0);
  if (unit === undefined) return null;
  const relu = layer.function === "relu";
  const slope = f[unit]! / h[unit]!;
  return {
    id: "feed-forward",
    title: "Each token by itself",
    stage: "feed-forward",
    words: say`Then the ${term("feed-forward", "feed-forward block")} works on each token alone: a matrix makes ${number(h.length)} numbers, ${relu ? "those below 0 become 0" : `the function ${layer.function.split("_")[0]!} bends them`}, and a second matrix leads back.`,
    check: relu
      ? say`Unit ${String(unit)} of ${of(layer.text, row)}: max(${number(h[unit]!)}, 0) = ${result(f[unit]!)}`
      : say`Unit ${String(unit)} of ${of(layer.text, row)}: f(h) = ${number(h[unit]!)} × ${factor(slope)} = ${result(f[unit]!)}: the share ${plain(slope)} passes`,
    state: { view: "activation", layer: layer.module, row, output: 0 },
    place: tableRow(order.indexOf(unit), "f"),
  };
}

function probabilities({ app, position, prediction, correct }: Story): Step | null {
  if (!prediction || !position || !app.hasView("output")) return null;
  const z = position.logits[position.target]!;
  const log = prediction.log_sums[position.row]!;
  const p = position.p[position.target]!;
  return {
    id: "probabilities",
    title: prediction.text === null ? "The answer" : "The next token",
    stage: "probabilities",
    words: say`At the end every ${prediction.classes === "token" ? "token of the vocabulary" : prediction.classes} gets a score, its ${term("logit")}, and softmax turns all of them into probabilities. The ${prediction.classes === "token" ? "correct one" : "target"} is “${correct}”.`,
    check: say`e^(${number(z)} − ${factor(log)}) = ${result(p, probability(p))}, where ${plain(log)} is ln of the sum over all ${number(prediction.vocabulary)}`,
    state: { view: "output", row: position.row, output: position.output },
    place: { at: '[data-step="p"]' },
  };
}
