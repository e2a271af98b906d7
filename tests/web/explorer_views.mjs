// Goes through the views of an explorer page and compares them with the page's data, decoded and summed here
// independently of the page's code.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { point } from "./pointer.mjs";

// The data embedded in a page.
export function dataOf(path) {
  const [, json] = /<script type="application\/json" id="data">(.*?)<\/script>/s.exec(readFileSync(path, "utf8"));
  const { live, packed, ...plain } = JSON.parse(json);
  const data = packed ? JSON.parse(gunzipSync(Buffer.from(packed, "base64"))) : plain;
  return { ...resolved(data, data.shared), ...(live && { live }) };
}

// Replaces indices into the shared list by the shared data.
export function resolved(of, shared) {
  if (!of || typeof of !== "object") return of;
  for (const [name, inner] of Object.entries(of)) {
    if (name === "data" && typeof inner === "number") of.data = shared[inner];
    else resolved(inner, shared);
  }
  return of;
}

// A tensor of the data: its stored values, and access to an element or a row by index.
export function decoded(packed) {
  const bytes = Buffer.from(packed.data, "base64");
  const shape = packed.cut ?? packed.shape;
  const values = Array.from({ length: bytes.length / 4 }, (_, i) => bytes.readFloatLE(4 * i));
  const at = (...places) => values[places.reduce((sum, place, axis) => sum * shape[axis] + place, 0)];
  const row = (...places) => Array.from({ length: shape.at(-1) }, (_, i) => at(...places, i));
  // Of the last two axes.
  const rows = shape.length > 1 ? shape.at(-2) : 1;
  const columns = shape.length > 0 ? shape.at(-1) : 1;
  return { values, shape, at, row, rows, columns, first: (i, j) => values[i * columns + j] };
}

// Multiplies a tensor by a factor in place.
export function scaled(packed, factor) {
  const { values } = decoded(packed);
  const bytes = Buffer.alloc(4 * values.length);
  values.forEach((value, i) => bytes.writeFloatLE(value * factor, 4 * i));
  packed.data = bytes.toString("base64");
}

export const sum = (values) => values.reduce((a, b) => a + b, 0);
const largest = (values) => Math.max(0, ...values.map(Math.abs));
export const near = (actual, expected, what, tolerance = 1e-6) =>
  assert.ok(
    Object.is(actual, expected) || Math.abs(actual - expected) <= tolerance * (1e-3 + Math.abs(expected)),
    `${what}: the page shows ${actual}, the data have ${expected}`,
  );
// Tolerance relative to the largest expected value.
export const nearAll = (actual, expected, what, tolerance = 1e-6) => {
  assert.equal(actual.length, expected.length, what);
  const size = largest(expected.filter(Number.isFinite));
  actual.forEach((value, index) => {
    const good = Object.is(value, expected[index]) || Math.abs(value - expected[index]) <= tolerance * size;
    assert.ok(good, `${what}[${index}]: the page shows ${value}, the data have ${expected[index]}`);
  });
};

export const numbers = (locator) => locator.evaluateAll((all) => all.map(({ dataset }) => Number(dataset.value)));
export const column = (page, name) =>
  numbers(page.locator(`table.numbers >> nth=0 >> tbody td[data-column="${name}"]`));
export const view = (page, name) => page.locator(`nav a[data-view=${name}]`).click();
// A reader's name of a module of the models tested here.
export function named({ attention }, module) {
  const found = /^(?:.*\.)?(\w+)\.layers\.(\d+)\.(.*)$/.exec(module);
  if (!found) return module;
  const [, stack, index, rest] = found;
  const block = attention.some(({ kind }) => kind === "cross") ? `${titleOf(stack)} block` : "Block";
  const part = rest
    .replace("feed_forward", "feed-forward")
    .replace("_attention", "-attention")
    .replace(/norm(\d)/, "norm $1")
    .replaceAll(".", " ");
  return `${block} ${Number(index) + 1}, ${part}`;
}

// Opens the head view with all heads and lines of an attention.
export async function allHeads(page, { module }) {
  await page.evaluate((hash) => (location.hash = hash), `view=head&heads=all&least=0&block=${module}`);
  await page.locator("#head-picture .lines").waitFor({ state: "attached" });
}
export const address = (page) => page.evaluate(() => Object.fromEntries(new URLSearchParams(location.hash.slice(1))));
export const boxes = (page, kind) => page.locator(`#tape-picture .box${kind}`).count();
const readout = async (page, id) => Number(await page.locator(`#${id} .readout`).getAttribute("data-value"));

// Selects in a row of radio buttons or a drop-down list. Those with a single option are hidden.
export async function option(page, legend, label) {
  const row = page.locator(".choice", { hasText: legend });
  if (await row.isVisible()) await row.getByText(label, { exact: true }).click();
}
export async function menu(page, legend, value) {
  const list = page.locator("label.menu", { hasText: legend }).locator("select");
  if (await list.isVisible()) await list.selectOption(value);
}
const titleOf = (kind) => kind.replace(/^./, (letter) => letter.toUpperCase());
async function choose(page, block) {
  await option(page, "Attention", titleOf(block.kind));
  await menu(page, "Block", block.module);
}

const none = "This output has no gradient here.";

// The first and the last block of each kind.
function some(data) {
  const kinds = [...new Set(data.attention.map(({ kind }) => kind))];
  const ends = kinds.flatMap((kind) => {
    const blocks = data.attention.filter((block) => block.kind === kind);
    return [blocks[0], blocks.at(-1)];
  });
  return [...new Set(ends)];
}

export async function headView({ page, data }) {
  await allHeads(page, data.attention[0]);
  for (const block of some(data)) {
    await choose(page, block);
    const sets = [block.values, ...block.gradients];
    for (const [index, set] of sets.entries()) {
      await option(page, "Show", index === 0 ? "Probabilities" : "Gradients");
      if (index > 0) await menu(page, "of", String(index - 1));
      if (!set.probabilities) {
        assert.ok((await page.locator("#head-picture svg").innerHTML()).includes(none));
        continue;
      }
      const weights = decoded(set.probabilities);
      const [heads, queries] = weights.shape;
      for (const query of [0, Math.min(3, queries - 1)]) {
        await page.locator(`#head-picture .query[data-row="${query}"]`).hover();
        for (let head = 0; head < heads; ++head) {
          const shown = await numbers(page.locator(`#head-picture .number-cell[data-head="${head}"]`));
          nearAll(shown, weights.row(head, query), `${block.module}, set ${index}, head ${head}, query ${query}`);
        }
      }
      await page.mouse.move(5, 5);
      const all = await numbers(page.locator('#head-picture .number-cell[data-head="1"]'));
      const received = all.map((_, key) => sum(Array.from({ length: queries }, (_, q) => weights.at(1, q, key))));
      nearAll(all, received, `${block.module}, set ${index}: sums of head 1`);
      assert.ok(Number(await page.locator("#head-picture .lines").getAttribute("data-lines")) >= queries);
    }
    await option(page, "Show", "Probabilities");
  }
}

// The number of a strip's cell under the pointer.
async function stripCell(page, id, row, column, size) {
  await point(page, page.locator(`#${id} .cover`).last(), row, column, size);
  return readout(page, id);
}

// What a query gets from its weights, and the gradients on the way back.
export async function headOutput({ page, data }) {
  for (const block of [...some(data), ...data.attention.filter(({ relative }) => relative)]) {
    const [head, row] = [1, Math.min(2, decoded(block.values.probabilities).rows - 1)];
    const hash = `view=head&block=${block.module}&head=${head}&row=${row}`;
    await page.evaluate((text) => (location.hash = text), hash);
    await page.locator(".head-output h2", { hasText: `head ${head}` }).waitFor();
    const { value, probabilities, context, mask } = block.values;
    const [p, z] = [decoded(probabilities).row(head, row), decoded(context).row(head, row)];
    const hidden = mask ? decoded(mask).row(mask.shape[0] === 1 ? 0 : head, row) : [];
    const keys = [...p.keys()].filter((key) => hidden[key] !== -Infinity);
    const d = Math.min(1, z.length - 1);
    near(await stripCell(page, "head-sum", 0, d, [1, z.length]), z[d], "the head's output", 1e-4);
    if (!block.relative && keys.length <= 16)
      near(
        await stripCell(page, "head-products", 0, d, [keys.length, z.length]),
        p[keys[0]] * decoded(value).at(head, keys[0], d),
        "a weighted value",
      );
    const gradients = block.gradients[0];
    const expected = decoded(gradients.probabilities).row(head, row);
    const of = keys.map((key) => expected[key]);
    nearAll(await column(page, "dot"), of, "gradients of the weights", 1e-4);
    nearAll(await column(page, "recorded"), of, "recorded gradients of the weights");
    near(
      await stripCell(page, "head-arriving", 0, d, [1, z.length]),
      decoded(gradients.context).row(head, row)[d],
      "the gradient of the head's output",
    );
    const words = await page.locator(".head-output").innerText();
    assert.equal(await page.locator(".head-output .verdict.good").count(), 2, words);
    const shown = await page.locator(".both-ways").evaluateAll((all) => all.map(({ dataset }) => dataset.step));
    if (block.relative) continue;
    assert.deepEqual(shown, ["1", "2", "3", "4", "5"]);
    // The query's rows of the joined heads and of the residual sum, as the tape recorded them.
    const { nodes } = data.tape;
    const own = nodes.filter(({ module }) => module === `${block.module}.output`);
    const joined = nodes.find(({ id }) => own[0].inputs.some((source) => source?.node === id)).outputs[0].value;
    const whole = decoded(joined);
    if (!joined.cut) {
      const at = head * z.length + d;
      near(await stripCell(page, "head-joined", 0, at, [1, whole.columns]), z[d], "a joined head", 1e-4);
    }
    const sum = nodes.find(
      ({ operation, inputs }) => operation === "add" && inputs.some((s) => s?.node === own.at(-1).id),
    );
    const after = sum.outputs[0].value;
    if (!after.cut)
      near(
        await stripCell(page, "head-residual", 2, d, [3, after.shape.at(-1)]),
        decoded(after).first(row, d),
        "the residual sum",
      );
    if (joined.cut) continue;
    await page.locator(".columns-part .cover").first().click();
    assert.equal((await address(page)).head, "0");
  }
}

export async function imageLook({ page, data }) {
  await allHeads(page, data.attention[0]);
  const { image, tokens } = data.texts[0];
  const { rows, columns, channels, height, width } = image;
  assert.equal(tokens.length, 1 + rows * columns);
  // A patch next to each token of queries and keys, except the class token.
  assert.equal(await page.locator("#head-picture .patch").count(), 2 * rows * columns);
  // The page's pixels are the bytes of the data.
  const bytes = Buffer.from(image.pixels, "base64");
  const painted = await page.locator("#image-picture image").evaluate(async (made) => {
    const picture = new Image();
    picture.src = made.getAttribute("href");
    await picture.decode();
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [picture.width, picture.height];
    canvas.getContext("2d").drawImage(picture, 0, 0);
    return [
      picture.height,
      picture.width,
      ...canvas.getContext("2d").getImageData(0, 0, picture.width, picture.height).data,
    ];
  });
  assert.deepEqual(painted.slice(0, 2), [height, width]);
  const of = (channel, place) => bytes[(channels < 3 ? 0 : channel) * height * width + place];
  const wanted = Array.from({ length: height * width }, (_, place) => [of(0, place), of(1, place), of(2, place), 255]);
  assert.deepEqual(painted.slice(2), wanted.flat());
  const block = data.attention[0];
  for (const [set, show] of [
    [block.values, "Probabilities"],
    [block.gradients[0], "Gradients"],
  ]) {
    await option(page, "Show", show);
    const weights = decoded(set.probabilities);
    for (const query of [0, 4]) {
      await page.locator(`#head-picture .query[data-row="${query}"]`).click();
      assert.equal(await page.locator("#image-picture .asking").count(), query > 0 ? 1 : 0);
      for (const [row, column] of [
        [0, 0],
        [1, 2],
      ]) {
        await point(page, page.locator("#image-weights .cover"), row, column, [rows, columns]);
        const heads = Array.from({ length: block.heads }, (_, head) =>
          weights.at(head, query, 1 + row * columns + column),
        );
        near(await readout(page, "image-weights"), sum(heads) / block.heads, `${show} of ${query} at ${row},${column}`);
      }
    }
  }
  const sent = decoded(data.tape.leaves.find(({ name }) => name === "pixels").gradients[0]);
  await point(page, page.locator("#image-gradient .cover"), 2, 3, [height, width]);
  const all = Array.from({ length: channels }, (_, channel) => sent.at(0, channel, 2, 3));
  near(await readout(page, "image-gradient"), sum(all), "the gradient of a pixel");
}

export async function modelView({ page, data }) {
  await view(page, "model");
  for (const kind of [...new Set(data.attention.map((block) => block.kind))]) {
    await option(page, "Attention", titleOf(kind));
    const blocks = data.attention.filter((block) => block.kind === kind);
    const thumbnails = page.locator("#model-picture .thumbnail");
    assert.equal(await thumbnails.count(), sum(blocks.map(({ heads }) => heads)));
    const block = blocks.at(-1);
    const last = page.locator(`#model-picture .thumbnail[data-block="${block.module}"][data-head="1"]`);
    for (const [show, set] of [
      ["Probabilities", block.values],
      ["Gradients", block.gradients[0]],
    ]) {
      await option(page, "Show", show);
      const weights = decoded(set.probabilities);
      const [row, key] = [weights.rows - 2, 1];
      await point(page, last, row, key, weights.shape.slice(1));
      near(await readout(page, "model-picture"), weights.at(1, row, key), `${kind}, ${show}`);
    }
    await option(page, "Show", "Probabilities");
  }
  const block = data.attention.at(-1);
  await page.locator(`#model-picture .thumbnail[data-block="${block.module}"][data-head="1"]`).click();
  const { view: opened, block: module, head } = await address(page);
  assert.deepEqual([opened, module, head], ["head", block.module, "1"]);
  await page.goBack();
  await page.locator("#model-picture .plot").focus();
  for (const key of ["ArrowUp", "ArrowRight", "Enter"]) await page.keyboard.press(key);
  assert.equal((await address(page)).view, "head");
}

export async function neuronView({ page, data }) {
  await view(page, "neuron");
  for (const block of some(data)) {
    await choose(page, block);
    const [q, k] = [decoded(block.values.query), decoded(block.values.key)];
    const [head, row] = [1, Math.min(3, q.shape[1] - 1)];
    await menu(page, "Head", String(head));
    await menu(page, "Query", String(row));
    await option(page, "Show", "Values");
    const query = q.row(head, row);
    const figure = (name) => numbers(page.locator(`#neuron-picture [data-figure="${name}"]`));
    const dots = Array.from({ length: k.shape[1] }, (_, key) =>
      sum(query.map((value, d) => value * k.at(head, key, d))),
    );
    nearAll(await figure("q·k"), dots, "dot products");
    nearAll(await figure("score"), decoded(block.values.scores).row(head, row), "scores");
    nearAll(
      await figure("score"),
      dots.map((dot) => dot * block.scale),
      "scaled dot products",
      1e-4,
    );
    if (block.values.mask) {
      const mask = decoded(block.values.mask); // shared by all heads if there is only one
      nearAll(
        await figure(block.relative ? "+ a, mask" : "+ mask"),
        mask.row(mask.shape[0] === 1 ? 0 : head, row),
        "mask",
      );
    }
    nearAll(await figure("softmax"), decoded(block.values.probabilities).row(head, row), "probabilities");
    const strip = page.locator('#neuron-picture .strip[data-strip="q·k 1"]');
    const d = Math.min(5, query.length - 1);
    await point(page, strip, 0, d, [1, query.length]);
    near(await readout(page, "neuron-picture"), query[d] * k.at(head, 1, d), "an elementwise product");
    const gradients = block.gradients[0];
    await option(page, "Show", "Gradients");
    nearAll(await figure("ds"), decoded(gradients.scores).row(head, row), "gradient of the scores");
    nearAll(await figure("dp"), decoded(gradients.probabilities).row(head, row), "gradient of the probabilities");
    const recorded = decoded(gradients.query).row(head, row);
    const [off] = await numbers(page.locator("#neuron-picture .difference"));
    assert.ok(off <= 1e-4 * largest(recorded), `the contributions of the keys differ from dq by ${off}`);
    await point(page, page.locator('#neuron-picture .strip[data-strip="sum"]'), 0, d, [1, query.length]);
    assert.ok(Math.abs((await readout(page, "neuron-picture")) - recorded[d]) <= off);
  }
}

export async function softmaxView({ page, data }) {
  await view(page, "softmax");
  for (const block of some(data)) {
    await choose(page, block);
    const probabilities = decoded(block.values.probabilities);
    const row = Math.min(3, probabilities.rows - 2);
    await menu(page, "Head", "1");
    await menu(page, "Row", String(row));
    for (const [output, gradients] of block.gradients.entries()) {
      await menu(page, "Gradients of", String(output));
      if (!gradients.probabilities) continue;
      const p = probabilities.row(1, row);
      const g = decoded(gradients.probabilities).row(1, row);
      const total = sum(p.map((value, j) => value * g[j]));
      nearAll(await column(page, "p"), p, "p");
      nearAll(await column(page, "g"), g, "g");
      nearAll(
        await column(page, "pg"),
        p.map((value, j) => value * g[j]),
        "p·g",
        1e-12,
      );
      nearAll(
        await column(page, "dx"),
        p.map((value, j) => value * (g[j] - total)),
        "dx",
        1e-9,
      );
      nearAll(await column(page, "recorded"), decoded(gradients.scores).row(1, row), "recorded");
      near(...(await numbers(page.locator('[data-step="sum"]'))), total, "sum", 1e-9);
      assert.equal(await page.locator(".verdict.good").count(), 1, await page.locator(".verdict").innerText());
      if (p.length > 12) continue;
      const jacobian = await numbers(page.locator('.jacobian td[data-column="jacobian"]'));
      const expected = p.flatMap((pj, j) => p.map((pk, k) => pj * ((j === k ? 1 : 0) - pk)));
      nearAll(jacobian, expected, "Jacobian", 1e-9);
    }
    await menu(page, "Gradients of", "0");
    await page.locator(".closeup").focus();
    await page.keyboard.press("ArrowDown");
    nearAll(await column(page, "p"), probabilities.row(1, row + 1), "p of the next row");
  }
}

export async function layerNormView({ page, data }) {
  await view(page, "layernorm");
  for (const norm of new Set([data.layer_norms[0], data.layer_norms.at(-1), data.rms_norms.at(-1)])) {
    if (!norm) continue;
    const centered = data.layer_norms.includes(norm);
    const legend = data.rms_norms.length === 0 ? "LayerNorm" : data.layer_norms.length === 0 ? "RMSNorm" : "Norm";
    await menu(page, legend, norm.module);
    await menu(page, "Gradients of", "0");
    await menu(page, "Row", "1");
    const x = decoded(norm.input).row(1);
    nearAll((await page.locator("#layernorm-picture").isVisible()) ? [1] : [], [1], "picture");
    if (!norm.gradient_output[0]) continue;
    const gamma = norm.weight ? decoded(norm.weight).values : x.map(() => 1);
    const scaled = decoded(norm.gradient_output[0])
      .row(1)
      .map((value, c) => value * gamma[c]);
    const mean = centered ? sum(x) / x.length : 0;
    const variance = sum(x.map((value) => (value - mean) ** 2)) / x.length;
    const hat = x.map((value) => (value - mean) / Math.sqrt(variance + norm.eps));
    const first = centered ? sum(scaled) / x.length : 0;
    const second = sum(scaled.map((value, c) => value * hat[c])) / x.length;
    const dx = scaled.map((value, c) => (value - first - hat[c] * second) / Math.sqrt(variance + norm.eps));
    for (const [step, expected] of Object.entries(centered ? { mean, variance, first, second } : { variance, second }))
      near(...(await numbers(page.locator(`[data-step="${step}"]`))), expected, step, 1e-9);
    nearAll(await column(page, "x"), x, "x");
    nearAll(await column(page, "hat"), hat, "x̂", 1e-9);
    nearAll(await column(page, "dx"), dx, "dx", 1e-9);
    nearAll(await column(page, "recorded"), decoded(norm.gradient_input[0]).row(1), "recorded");
    assert.equal(await page.locator(".verdict.good").count(), 1, await page.locator(".verdict").innerText());
    await point(page, page.locator('#layernorm-picture .strip[data-strip="dx"]'), 0, 7, [1, x.length]);
    near(await readout(page, "layernorm-picture"), dx[7], "dx in the picture", 1e-9);
  }
}

// Probabilities, losses and the first gradient, from the logits.
export async function outputView({ page, data }) {
  for (const [place, prediction] of data.predictions.entries())
    if (prediction) await outputOf({ page, data }, prediction, place);
}

async function outputOf({ page, data }, prediction, place) {
  await page.evaluate((output) => (location.hash = `view=output&output=${output}`), place);
  const title = `and ${data.outputs[place].name}`;
  await page.locator("#output-picture h2").getByText(title, { exact: false }).waitFor();
  const logits = decoded(prediction.logits);
  const count = prediction.targets.length;
  const shown = page.locator("#output-picture .token-cell");
  const each = Math.min(10, logits.columns);
  assert.equal(await shown.count(), count * each);
  const all = prediction.targets.map((target, row) => {
    const tokens = prediction.tokens.slice(row * logits.columns, (row + 1) * logits.columns);
    const p = logits.row(row).map((logit) => Math.exp(logit - prediction.log_sums[row]));
    return { tokens, p, right: tokens.indexOf(target) };
  });
  const drawn = await shown.evaluateAll((cells) => cells.map(({ dataset }) => ({ ...dataset })));
  nearAll(
    drawn.map(({ value }) => Number(value)),
    all.flatMap(({ p }) => p.slice(0, each)),
    "probabilities",
    1e-9,
  );
  drawn.forEach(({ token, target }, index) => {
    const row = Math.floor(index / each);
    assert.equal(Number(token), all[row].tokens[index % each]);
    assert.equal(target === "true", Number(token) === prediction.targets[row], "only the correct one is framed");
  });
  const losses = all.map(({ p, right }) => -Math.log(p[right]));
  nearAll(await numbers(page.locator("#output-picture .loss-text")), losses, "losses", 1e-6);
  const mean = sum(losses) / count;
  near(...(await numbers(page.locator('[data-step="mean"]'))), mean, "mean", 1e-6);
  assert.ok(Math.abs(mean - data.outputs[place].value) < 1e-5, "the mean is the loss");
  for (const row of new Set([0, count - 1])) {
    if (count > 1) await page.locator(`#output-picture .position[data-row="${row}"]`).click();
    const { p, right } = all[row];
    const first = p.map((value, index) => (value - (index === right ? 1 : 0)) / count);
    nearAll(await column(page, "p"), p, "p", 1e-9);
    nearAll(await column(page, "first"), first, "p − y", 1e-9);
    nearAll(await column(page, "recorded"), decoded(prediction.gradients[place]).row(row), "recorded");
    near(...(await numbers(page.locator('[data-step="loss"]'))), losses[row], "−ln p", 1e-6);
    assert.equal(await page.locator(".verdict.good").count(), 1, await page.locator(".verdict").innerText());
  }
}

const slopes = { relu: (h) => (h > 0 ? 1 : 0) };

export async function activationView({ page, data }) {
  if (data.activations.length === 0) return;
  await view(page, "activation");
  for (const layer of new Set([data.activations[0], data.activations.at(-1)])) {
    await menu(page, "Activation", layer.module);
    await menu(page, "Row", "1");
    const h = decoded(layer.input).row(1);
    const g = decoded(layer.gradient_output[0]).row(1);
    const units = (await page.locator("table.numbers >> nth=0 >> tbody th").allTextContents()).map(Number);
    const ordered = (values) => units.map((unit) => values[unit]);
    assert.equal(new Set(units).size, h.length);
    nearAll(await column(page, "h"), ordered(h), "h");
    nearAll(await column(page, "f"), ordered(decoded(layer.output).row(1)), "f", 1e-6);
    nearAll(await column(page, "g"), ordered(g), "g");
    const dh = await column(page, "dh");
    nearAll(dh, ordered(decoded(layer.gradient_input[0]).row(1)), "dh", 1e-5);
    // By the derivative, where it is known here.
    if (slopes[layer.function]) nearAll(dh, ordered(h.map((value, i) => slopes[layer.function](value) * g[i])), "dh");
    assert.equal(await page.locator(".verdict.good").count(), 1, await page.locator(".verdict").innerText());
  }
}

export async function rotaryView({ page, data }) {
  await view(page, "rotary");
  // The first row is not rotated; the view opens with the largest gradient.
  const gradient = decoded(data.rotaries[0].gradient_input[0]);
  const sizes = Array.from({ length: gradient.rows }, (_, row) =>
    Math.hypot(...Array.from({ length: gradient.columns }, (_, i) => gradient.first(row, i))),
  );
  const largest = sizes.indexOf(Math.max(...sizes));
  assert.match(await page.locator(".closeup-body h2, #view h2").first().innerText(), new RegExp(`, row ${largest} `));
  for (const layer of data.rotaries) {
    await menu(page, "Rotary", layer.module);
    await menu(page, "Row", "2");
    await menu(page, "Head", "1");
    const half = layer.turned / 2;
    const [x, y, dx] = [layer.input, layer.output, layer.gradient_input[0]].map((packed) =>
      decoded(packed)
        .row(2)
        .slice(layer.width, 2 * layer.width),
    );
    const [u, v] = [0, 1].map((part) =>
      Array.from({ length: half }, (_, i) => (layer.pairing === "halves" ? i + part * half : 2 * i + part)),
    );
    const of = (values, places) => places.map((place) => values[place]);
    nearAll(
      await column(page, "angle"),
      u.map((_, i) => 2 / layer.theta ** ((2 * i) / layer.turned)),
      "angles",
      1e-9,
    );
    nearAll(await column(page, "u"), of(x, u), "u");
    nearAll(await column(page, "turned-u"), of(y, u), "turned u", 1e-6);
    nearAll(await column(page, "turned-v"), of(y, v), "turned v", 1e-6);
    nearAll(await column(page, "du"), of(dx, u), "du", 1e-6);
    nearAll(await column(page, "dv"), of(dx, v), "dv", 1e-6);
    assert.equal(await page.locator(".verdict.good").count(), 1, await page.locator(".verdict").innerText());
  }
}

// Slices of a tensor with leading axes, tokens along its axes, the largest scores and the correct one.
export async function slices({ page, data }) {
  const open = async (node) => {
    await page.evaluate((id) => (location.hash = `view=tape&node=${id}`), node.id);
    await page.locator(`#tape-picture [data-node="${node.id}"].chosen`).waitFor();
  };
  const softmax = data.tape.nodes.findLast(
    ({ operation, outputs }) => operation === "softmax" && outputs[0].axes?.[1] === "heads",
  );
  await open(softmax);
  const [output] = softmax.outputs;
  const value = decoded(output.value);
  const head = value.shape[1] - 1;
  await page.locator(".slices select").selectOption(String(head));
  for (const [id, tensor] of [
    ["heat-output-0-value", value],
    ["heat-output-0-gradient", decoded(output.gradients[0])],
  ]) {
    await point(page, page.locator(`#${id} .cover`), 1, 0, [tensor.rows, tensor.columns]);
    near(await readout(page, id), tensor.at(0, head, 1, 0), `${id} of head ${head}`);
  }
  const named = await page.locator("#heat-output-0-value .axis-name").allTextContents();
  const rows = data.texts[output.axes[2].text].tokens;
  assert.equal(named.filter((name) => /^\d+ /.test(name)).length, named.length);
  assert.ok(named.length >= rows.length && named[0].startsWith("0 "), named.join());
  const prediction = data.predictions.find(Boolean);
  const scores = data.tape.nodes.find(({ id }) => id === prediction.node);
  await open(scores);
  for (const [table, packed, by] of [
    [0, scores.outputs[0].value, (one) => one],
    [1, scores.outputs[0].gradients[0], Math.abs],
  ]) {
    const position = Math.min(1, prediction.targets.length - 1);
    const cells = page.locator("table.scores").nth(table).locator(`td[data-row="${position}"]`);
    const found = await cells.evaluateAll((all) => all.map(({ dataset, className }) => ({ ...dataset, className })));
    const tensor = decoded(packed);
    const row = tensor.row(...Array(tensor.shape.length - 2).fill(0), position);
    const tokenAt = (place) => packed.columns?.[place] ?? place;
    near(Number(found[0].value), row[row.map(by).indexOf(Math.max(...row.map(by)))], "the largest");
    const right = found.at(-1);
    assert.equal(Number(right.token), prediction.targets[position]);
    assert.equal(right.className, "right");
    near(
      Number(right.value),
      row[row.findIndex((_, place) => tokenAt(place) === prediction.targets[position])],
      "the right one",
    );
  }
}

// A truncated tensor is hatched and says what is missing; a complete one is not.
export async function missing({ page, data }) {
  const { leaves } = data.tape;
  const cut = leaves.findIndex(({ value }) => value?.cut && value.cut.at(-1) < value.shape.at(-1));
  const whole = leaves.findIndex(({ value }) => value && !value.cut && value.shape.length === 1 && value.shape[0] > 1);
  for (const [leaf, is] of [
    [cut, true],
    [whole, false],
  ]) {
    if (leaf < 0) continue;
    await page.evaluate((index) => (location.hash = `view=tape&leaf=${index}`), leaf);
    await page.locator(`.inspector h2 [title="${leaves[leaf].name}"]`).waitFor();
    assert.equal((await page.locator("#heat-leaf-value .hatch").count()) > 0, is, leaves[leaf].name);
    const words = page.locator(".inspector .missing");
    assert.equal((await words.count()) > 0, is);
    if (!is) continue;
    const { shape, cut: kept, norm, low } = leaves[leaf].value;
    const text = await words.first().innerText();
    assert.ok(text.includes(`${kept.at(-1)} of ${shape.at(-1)} columns`) && text.includes("--detail"), text);
    assert.ok(norm > 0 && low < Math.max(...decoded(leaves[leaf].value).values));
  }
}

export async function tapeView({ page, data }) {
  await view(page, "tape");
  const { nodes, leaves } = data.tape;
  const before = await boxes(page, "");
  assert.ok((await boxes(page, ".folded")) > 0 && (await boxes(page, ".node")) < nodes.length);
  await page.locator("#tape-picture .box.folded").first().click();
  assert.ok((await boxes(page, "")) !== before);
  await page.getByRole("button", { name: "Unfold all" }).click();
  assert.equal(await boxes(page, ".node"), nodes.length);
  assert.equal(await boxes(page, ".leaf"), leaves.length);
  assert.ok((await page.locator("#tape-picture .wire").count()) > nodes.length / 2);
  await page.getByRole("button", { name: "Fold to the first levels" }).click();
  assert.equal(await boxes(page, ""), before);
  const wanted = ({ operation, outputs }) => operation === "softmax" && outputs[0].value && outputs[0].gradients[0];
  await operation({ page, data }, nodes.findLast(wanted));
  await operation(
    { page, data },
    nodes.find(({ inputs, outputs }) => inputs.length > 1 && outputs[0].shape.length > 1),
  );
}

async function operation({ page, data }, node) {
  await page.evaluate((id) => (location.hash = `view=tape&node=${id}`), node.id);
  await page.locator(`#tape-picture [data-node="${node.id}"].chosen`).waitFor();
  const panel = await page.locator(".inspector").innerText();
  const shape = `[${node.outputs[0].shape.join(", ")}]`;
  const name = named(data, node.module);
  const module = name === node.module ? "" : name; // others have a name made of their path
  for (const text of [node.operation, module, node.line, ...node.formula.backward, shape])
    assert.ok(panel.includes(text), `${text} in ${panel}`);
  if (node.module !== "") assert.equal(await page.locator(`.inspector .where [title="${node.module}"]`).count(), 1);
  for (const output of data.outputs.keys()) {
    await menu(page, "Gradients of", String(output));
    for (const [id, packed] of [
      ["heat-output-0-value", node.outputs[0].value],
      ["heat-output-0-gradient", node.outputs[0].gradients[output]],
    ]) {
      if (!packed) continue;
      const tensor = decoded(packed);
      const [row, column] = [tensor.rows - 1, Math.min(2, tensor.columns - 1)];
      await point(page, page.locator(`#${id} .cover`), row, column, [tensor.rows, tensor.columns]);
      near(await readout(page, id), tensor.first(row, column), `${id} of output ${output}`);
      await page.locator(`#${id} .plot`).focus();
      await page.mouse.move(2, 2);
      for (const key of ["ArrowRight", "ArrowRight", "ArrowDown"]) await page.keyboard.press(key);
      near(await readout(page, id), tensor.first(Math.min(1, tensor.rows - 1), 1), `${id} by keys`);
    }
  }
}

// The nodes of an output's backward in order, and the contributions to each operand in order of arrival.
export function replayed({ nodes, roots }, output) {
  const reached = new Set([roots[output]]);
  const order = [];
  for (const node of [...nodes].reverse()) {
    if (!reached.has(node.id)) continue;
    order.push(node);
    for (const input of node.inputs) if (input && "node" in input) reached.add(input.node);
  }
  const sent = new Map();
  order.forEach((node, turn) =>
    node.inputs.forEach((input, index) => {
      const packed = node.contributions[index]?.[output];
      if (!input || !packed) return;
      const key = "node" in input ? `node=${input.node}` : `leaf=${input.leaf}`;
      sent.set(key, [...(sent.get(key) ?? []), { turn, packed }]);
    }),
  );
  return { order, sent };
}

export async function player({ page, data }) {
  for (const output of data.outputs.keys()) await playerOf({ page, data }, output);
  await playerByModule({ page, data });
}

async function playerOf({ page, data }, output) {
  const { nodes, leaves, roots } = data.tape;
  const { order, sent } = replayed(data.tape, output);
  await view(page, "tape");
  if (data.outputs.length > 1) await menu(page, "Gradients of", String(output));
  const shown = page.locator(`#tape-picture .box[data-node="${roots[output]}"] .name`);
  if (await shown.count()) assert.ok((await shown.innerHTML()).includes(" = "));
  const words = () => page.locator(".player-words").innerText();
  const button = (name) => page.locator(".player").getByRole("button", { name, exact: true });
  await button("Forward").click();
  assert.ok((await words()).startsWith(`Forward 1 of ${nodes.length}: ${nodes[0].operation} #${nodes[0].id}`));
  await button("Step ›").click();
  assert.ok((await words()).includes(`#${nodes[1].id} is recorded`));
  await button("Backward").click();
  const first = `Backward 1 of ${order.length}: ${order[0].operation} #${order[0].id} sends`;
  assert.ok((await words()).startsWith(first), `${await words()} is not ${first}`);
  await page.locator("#tape-picture .plot").focus();
  await page.keyboard.press(".");
  assert.ok((await words()).includes(`#${order[1].id}`));
  await page.keyboard.press(",");
  assert.ok((await words()).includes(`#${order[0].id}`));

  // An operand of several operations: its gradient grows with each contribution.
  const several = [...sent].filter(([key]) => key.startsWith("node") && !key.endsWith(`=${roots[output]}`));
  const [key, parts] = several.reduce((a, b) => (b[1].length > a[1].length ? b : a));
  assert.ok(parts.length > 1);
  const { outputs } = nodes.find(({ id }) => `node=${id}` === key);
  for (let arrived = 1; arrived <= parts.length; ++arrived) {
    const step = nodes.length + parts[arrived - 1].turn;
    await page.evaluate((hash) => (location.hash = hash), `view=tape&${key}&step=${step}&output=${output}`);
    const list = page.locator(`.contributions[data-arrived="${arrived}"]`);
    await list.waitFor();
    assert.equal(await list.getAttribute("data-all"), String(parts.length));
    const tensors = parts.slice(0, arrived).map(({ packed }) => decoded(packed));
    const [row, column] = [tensors[0].rows - 1, 1];
    await point(page, page.locator("#heat-sum-0 .cover"), row, column, [tensors[0].rows, tensors[0].columns]);
    const total = sum(tensors.map((tensor) => tensor.first(row, column)));
    near(await readout(page, "heat-sum-0"), total, `sum of ${arrived}`);
    near(...(await numbers(page.locator(".addition"))), total, "the addition");
    const recorded = decoded(outputs[0].gradients[output]);
    const last = arrived === parts.length;
    if (last) assert.ok(Math.abs(total - recorded.first(row, column)) <= 1e-5 * largest(recorded.values));
    assert.equal(await page.locator("#heat-output-0-gradient").count(), last ? 1 : 0);
  }
  assert.ok(leaves.filter((_, index) => sent.has(`leaf=${index}`)).length > 0);
  await button("Whole tape").click();
  await page.locator("label.menu", { hasText: "Speed" }).locator("select").selectOption("4");
  await button("Play").click();
  await page.waitForFunction(() => /step=[2-9]/.test(location.hash));
  await button("Pause").click();
  await page.locator(".track input").focus();
  await page.keyboard.press("End");
  assert.ok((await words()).startsWith(`Backward ${order.length} of ${order.length}`));
}

// The player's current module unfolds so that its operation is visible; steps can go from module to module.
async function playerByModule({ page, data }) {
  const { nodes } = data.tape;
  const deepest = nodes.reduce((a, b) => (b.module.split(".").length > a.module.split(".").length ? b : a));
  const place = nodes.indexOf(deepest);
  const step = async () => Number((await address(page)).step);
  await page.evaluate((to) => (location.hash = `view=tape&step=${to}`), place);
  await page.locator(`#tape-picture .box.node.now[data-node="${deepest.id}"]`).waitFor();
  const seen = await boxes(page, "");
  await page.locator("label.menu", { hasText: "Unfold current module" }).locator("input").uncheck();
  await page.locator("#tape-picture .box.folded.now").waitFor();
  assert.ok((await boxes(page, "")) < seen, "what the player unfolded folds again");
  await page.locator("label.menu", { hasText: "Unfold current module" }).locator("input").check();
  await option(page, "Step by", "Module");
  const button = (name) => page.locator(".player").getByRole("button", { name, exact: true });
  await button("Step ›").click();
  const next = nodes.findIndex((node, index) => index > place && node.module !== deepest.module);
  assert.equal(await step(), next);
  await button("‹ Back").click();
  const begins = nodes.findLastIndex(
    (node, index) => index < next && nodes[index - 1]?.module !== nodes[next - 1].module,
  );
  assert.equal(await step(), begins, "back to where the module begins");
  await option(page, "Step by", "Operation");
}
