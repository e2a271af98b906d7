// Runs side by side, films of checkpoints, activation patching, and attention with relative positions. Run by
// check_pages.mjs.
import assert from "node:assert/strict";
import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import * as browser from "./browser.mjs";
import { column, dataOf, decoded, named, near, nearAll, numbers, option, sum, view } from "./explorer_views.mjs";
import { explorerData, writeExplorer } from "./make_explorer_data.mjs";
import { checkpoints, corrupted, cut, folder, patched, pulled, run, texts, words } from "./models.mjs";
import { point } from "./pointer.mjs";

const inspected = {
  film: () => ["--film"],
  pair: () => ["--beside", join(words(), checkpoints()[0])],
};

function made(name) {
  return () => {
    const whole = { beside: pulled, patched }[name];
    const path = whole ? whole() : folder(`runs-${name}.html`);
    if (!existsSync(path)) {
      if (inspected[name]) run("inspect", "--model", words(), ...texts, ...inspected[name](), "--out", path);
      else writeExplorer(path, explorerData(name));
    }
    return { path, data: dataOf(path) };
  };
}

// A page of made-up data with an error in it.
function broken(name, spoil) {
  return () => {
    const path = folder(`runs-broken-${name.replace(/\W+/g, "-")}.html`);
    const data = explorerData("small");
    spoil(data);
    writeExplorer(path, data);
    return { path, data };
  };
}
function scaled(packed, factor) {
  const bytes = Buffer.alloc(4 * decoded(packed).values.length);
  decoded(packed).values.forEach((value, i) => bytes.writeFloatLE(value * factor, 4 * i));
  packed.data = bytes.toString("base64");
}

const check = (name, make, body, settings = {}) =>
  browser.check(`runs: ${name}`, make, body, { ready: "html[data-ready]", ...settings });
const open = (page, hash) => page.evaluate((text) => (location.hash = text), hash);
const readout = async (page, id) => Number(await page.locator(`#${id} .readout`).getAttribute("data-value"));
const table = (page, place, name) =>
  numbers(page.locator(`.closeup-body table.numbers >> nth=${place} >> tbody td[data-column="${name}"]`));

// Finds a drop-down list by the start of its label, because other lists may contain the same words.
async function menu(page, legend, value) {
  const list = page
    .locator("label.menu")
    .filter({ hasText: new RegExp(`^${legend}`) })
    .locator("select");
  if (await list.isVisible()) await list.selectOption(value);
}

// Compares pairs of runs with the data: outputs, one cell of each head's maps, losses and probabilities.
async function pairs({ page, data }) {
  const { frames, tokens } = data.runs;
  const prediction = data.predictions[0];
  for (const [a, b] of [
    [0, frames.length - 1],
    [1, 0],
  ]) {
    await open(page, `view=runs&against=${a}&run=${b}`);
    // Modules in the names of the runs have a reader's name, with the path in a tooltip.
    const inWords = (text) => text.replace(/\w+\.layers\.[\w.]+/g, (path) => named(data, path));
    await page
      .locator(".runs h2", { hasText: `A: ${inWords(frames[a].name)}, B: ${inWords(frames[b].name)}` })
      .waitFor();
    assert.equal(await page.locator(".runs h2 b").last().getAttribute("title"), frames[b].name);
    const [first, second] = [frames[a], frames[b]];
    nearAll(await table(page, 0, "a"), first.values, "outputs of A");
    nearAll(await table(page, 0, "b"), second.values, "outputs of B");
    nearAll(
      await table(page, 0, "difference"),
      second.values.map((value, i) => value - first.values[i]),
      "differences",
      1e-9,
    );
    for (const block of [data.attention[0], data.attention.findLast(({ kind }) => kind === "cross")]) {
      const weights = [first, second].map(({ attention }) => attention.find(({ module }) => module === block.module));
      await option(
        page,
        "Attention",
        block.kind.replace(/^./, (letter) => letter.toUpperCase()),
      );
      await menu(page, "Block", block.module);
      await menu(page, "Head", "1");
      if (!weights[0] || !weights[1]) {
        assert.ok((await page.locator(".runs").innerText()).includes("has no such head"));
        continue;
      }
      const [of, to] = weights.map(({ weights: packed }) => decoded(packed));
      const [row, key] = [of.rows - 1, 1];
      for (const [id, expected] of [
        ["runs-a", of.at(1, row, key)],
        ["runs-b", to.at(1, row, key)],
        ["runs-difference", to.at(1, row, key) - of.at(1, row, key)],
      ]) {
        await point(page, page.locator(`#${id} .cover`), row, key, [of.rows, of.columns]);
        near(await readout(page, id), expected, `${block.module}, ${id}`);
      }
    }
    const logs = [first, second].map(({ log_p }) => decoded(log_p[0]));
    const each = logs[0].columns;
    const losses = logs.map((log) =>
      prediction.targets.map(
        (target, row) => -log.at(row, tokens[0].slice(row * each, (row + 1) * each).indexOf(target)),
      ),
    );
    nearAll(await table(page, 1, "loss-a"), losses[0], "losses of A");
    nearAll(await table(page, 1, "loss-b"), losses[1], "losses of B");
    nearAll(
      await table(page, 1, "loss-difference"),
      losses[1].map((loss, i) => loss - losses[0][i]),
      "of losses",
      1e-9,
    );
    for (const [run, letter] of ["a", "b"].entries()) {
      const [mean] = await numbers(page.locator(`[data-sum="loss-${letter}"]`));
      near(mean, sum(losses[run]) / losses[run].length, "mean", 1e-9);
      assert.ok(Math.abs(mean - [first, second][run].values[0]) < 1e-5);
    }
    assert.equal(await page.locator(".verdict.good").count(), 1);
    const position = prediction.targets.length - 1;
    await menu(page, "Position", String(position));
    const p = logs.map((log) => log.row(position).map(Math.exp));
    const order = p[0].map((_, i) => i).sort((i, j) => Math.max(p[0][j], p[1][j]) - Math.max(p[0][i], p[1][i]));
    nearAll(
      await table(page, 2, "p-a"),
      order.map((i) => p[0][i]),
      "p in A",
      1e-9,
    );
    nearAll(
      await table(page, 2, "p-b"),
      order.map((i) => p[1][i]),
      "p in B",
      1e-9,
    );
    nearAll(
      await table(page, 2, "p-difference"),
      order.map((i) => p[1][i] - p[0][i]),
      "of p",
      1e-9,
    );
  }
}

await check("two runs are shown side by side with their differences", made("beside"), pairs);
await check(
  "runs of made-up data are shown side by side, with a note about missing ones",
  made("small"),
  async ({ page, data }) => {
    await pairs({ page, data });
    assert.ok((await page.locator(".left-out").innerText()).includes("stores 3 of 9 runs"));
  },
);

await check(
  "the page's own run matches the page, and an ablated head has the effect that the nudges report",
  made("beside"),
  ({ data }) => {
    const [own, other, without] = data.runs.frames;
    assert.deepEqual(
      data.runs.frames.map(({ name }) => name),
      [words(), join(words(), checkpoints()[0]), `without head ${cut.head} of ${cut.module}`],
    );
    assert.deepEqual(
      own.values,
      data.outputs.map(({ value }) => value),
    );
    for (const { module, weights } of own.attention) {
      const block = data.attention.find((one) => one.module === module);
      assert.deepEqual(decoded(weights).values, decoded(block.values.probabilities).values, module);
    }
    const prediction = data.predictions[0];
    const [logits, logs] = [decoded(prediction.logits), decoded(own.log_p[0])];
    prediction.targets.forEach((target, row) => {
      const [place, here] = [prediction.tokens, data.runs.tokens[0]].map((tokens, i) =>
        tokens.slice(row * [logits, logs][i].columns).indexOf(target),
      );
      near(logs.at(row, here), logits.at(row, place) - prediction.log_sums[row], "ln p", 1e-5);
    });
    assert.notEqual(other.values[0], own.values[0]);
    const weights = decoded(without.attention.find(({ module }) => module === cut.module).weights);
    const each = weights.rows * weights.columns;
    assert.ok(weights.values.slice(cut.head * each, (cut.head + 1) * each).every((value) => value === 0));
    assert.ok(weights.values.slice(0, each).some((value) => value > 0));
    const known = data.nudges.cuts.find(
      ({ kind, module, head }) => kind === "head" && module === cut.module && head === cut.head,
    );
    const effect = without.values[0] - own.values[0];
    assert.ok(Math.abs(effect - known.effects[0]) < 1e-5 * (1 + Math.abs(effect)), `${effect}, ${known.effects[0]}`);
  },
);

await check("a film has one frame per checkpoint and can be played", made("film"), async ({ page, data }) => {
  const { frames, of } = data.runs;
  assert.deepEqual(
    frames.map(({ name }) => name),
    [...checkpoints(), words()],
  );
  assert.equal(of, frames.length);
  const alone = join(words(), checkpoints()[0]);
  const path = folder("runs-alone.html");
  run("inspect", "--model", alone, ...texts, "--out", path);
  assert.deepEqual(
    frames[0].values,
    dataOf(path).outputs.map(({ value }) => value),
  );
  await view(page, "runs");
  nearAll(
    await numbers(page.locator(".frame-dot")),
    frames.map(({ values }) => values[0]),
    "the curve",
  );
  await page.evaluate(() => {
    const words = document.querySelector(".runs .player-words");
    window.seen = [];
    new MutationObserver(() => window.seen.push(words.textContent)).observe(words, { childList: true });
  });
  await page.getByRole("button", { name: "Play" }).click();
  await page.getByRole("button", { name: "Play" }).waitFor();
  const seen = await page.evaluate(() => window.seen);
  assert.deepEqual(
    seen,
    frames.map(({ name }, at) => `Frame ${at + 1} of ${frames.length}: ${name}`),
  );
  await page.getByLabel("Frame of the film").focus();
  await page.keyboard.press("Home");
  assert.ok(
    (await page.locator(".runs .player-words").innerText()).includes(`Frame 1 of ${frames.length}: ${frames[0].name}`),
  );
  nearAll(await table(page, 0, "b"), frames[0].values, "the first frame");
});

await check("two runs have no film, and the page stays small", made("pair"), async ({ page, path }) => {
  await view(page, "runs");
  assert.equal(await page.locator(".film").count(), 0);
  assert.ok(statSync(path).size < 5e6);
});

// For each output and grid: the share that a patch restores, and the value under the pointer.
async function patchingView({ page, data }) {
  const { clean, corrupted: ends, texts: read, grids } = data.patching;
  await view(page, "patching");
  for (const output of data.outputs.keys()) {
    await menu(page, "Output", String(output));
    await page.locator(".patching h2", { hasText: `What restores the clean ${data.outputs[output].name}` }).waitFor();
    assert.equal(await page.locator(".verdict.good").count(), 1, await page.locator("#view").innerText());
    for (const [index, grid] of grids.entries()) {
      const [rows, columns, outputs] = grid.values.shape;
      assert.equal(columns, grid.heads || data.texts[grid.text].tokens.length + 1);
      const { values } = decoded(grid.values);
      for (const [row, column] of [
        [0, 0],
        [rows - 1, columns - 1],
        [rows - 1, 1],
      ]) {
        const value = values[(row * columns + column) * outputs + output];
        const share = (value - ends[output]) / (clean[output] - ends[output]);
        await point(page, page.locator(`#patching-${index} .cover`), row, column, [rows, columns]);
        near(await readout(page, `patching-${index}`), share, `${grid.name} ${row}, ${column}`, 1e-5);
        const words = page.locator(`.heat:has(#patching-${index}) .patched`);
        near(Number(await words.getAttribute("data-value")), value, "the output of the patch");
        const place = grid.heads ? `:${column}` : column === columns - 1 ? "" : `@${column}`;
        assert.ok((await words.innerText()).endsWith(`--patch ${grid.modules[row]}${place}`), await words.innerText());
      }
    }
  }
  const changed = data.texts.flatMap(({ tokens }, text) => tokens.filter((token, at) => token !== read[text][at]));
  const bold = await page.locator(".patching .formula b").allInnerTexts();
  assert.equal(bold.length, 2 * changed.length);
  assert.deepEqual(bold.slice(0, changed.length), changed);
}

await check("activation patching shows how much each layer and head restores", made("patched"), patchingView);
await check("activation patching of made-up data shows the numbers of the data", made("small"), patchingView);

await check(
  "runs on another text are labeled, and match the grid of patches",
  made("patched"),
  async ({ page, data }) => {
    const { frames } = data.runs;
    assert.deepEqual(
      frames.map(({ name }) => name.replace(words(), "")),
      ["", "corrupted", ...corrupted.patches.map((patch) => `corrupted, clean ${patch}`)],
    );
    assert.equal(frames[0].texts, null);
    const { patching } = data;
    const close = (value, expected) =>
      assert.ok(Math.abs(value - expected) < 1e-5 * (1 + Math.abs(expected)), `${value}, ${expected}`);
    data.outputs.forEach(({ value }, output) => {
      close(patching.clean[output], value);
      close(patching.corrupted[output], frames[1].values[output]);
      const grid = patching.grids.find(({ name, heads }) => name === "encoder.layers.*" && !heads);
      const [, columns, outputs] = grid.values.shape;
      close(decoded(grid.values).values[(1 * columns + 2) * outputs + output], frames[3].values[output]);
    });
    assert.notEqual(frames[2].values[0], frames[1].values[0]);
    await open(page, "view=runs&kind=encoder self&run=1");
    await page.locator(".reads", { hasText: "In B the source is ▁zwei undsech zigtausend </s>." }).waitFor();
    const names = (id) => page.locator(`#${id} .axis-name`).allTextContents();
    assert.deepEqual((await names("runs-a")).slice(0, 3), ["▁drei", "undvier", "zigtausend"]);
    assert.deepEqual((await names("runs-b")).slice(0, 3), ["▁zwei", "undsech", "zigtausend"]);
    assert.deepEqual((await names("runs-difference")).slice(0, 3), ["▁drei/▁zwei", "undvier/undsech", "zigtausend"]);
  },
);

const faults = {
  "a patch of the last layer": ["#view=patching", (data) => scaled(data.patching.grids[1].values, 1.001)],
  "another clean run": ["#view=patching", (data) => (data.outputs[0].value *= 1.01)],
  "a run's losses": ["#view=runs", (data) => scaled(data.runs.frames[2].log_p[0], 1.01)],
  "a run's loss": ["#view=runs", (data) => (data.runs.frames[0].values[0] += 0.01)],
  "a wrong target": ["#view=runs", (data) => (data.predictions[0].targets[0] = data.runs.tokens[0][3])],
  "relative positions": ["#view=relative&row=2", (data) => scaled(data.attention.at(-1).relative.keys, -1)],
  "the gradient of a table": [
    "#view=relative",
    (data) => scaled(data.attention.at(-1).relative.gradients[0].values, 1.001),
  ],
};
for (const [name, [hash, spoil]] of Object.entries(faults))
  await check(
    `an inconsistency is detected: ${name}`,
    broken(name, spoil),
    async ({ page }) =>
      assert.equal(await page.locator(".verdict.bad").count(), 1, await page.locator("#view").innerText()),
    { hash },
  );

await check("relative positions are computed forward and backward", made("small"), async ({ page, data }) => {
  const block = data.attention.find(({ relative }) => relative);
  const most = (block.relative.keys.shape[0] - 1) / 2;
  const [a, q, p] = [block.relative.keys, block.values.query, block.values.probabilities].map(decoded);
  for (const [head, row] of [
    [0, 0],
    [1, 3],
  ]) {
    await open(page, `view=relative&block=${block.module}&head=${head}&row=${row}`);
    await page.locator(".closeup h2", { hasText: `head ${head}, row ${row}` }).waitFor();
    const query = q.row(head, row);
    const c = p.row(head, row).map((_, key) => Math.max(-most, Math.min(most, key - row)) + most);
    const positions = c.map((at) => block.scale * sum(query.map((value, d) => value * a.at(at, d))));
    const names = await page.locator("table.numbers >> nth=0 >> tbody th").allTextContents();
    assert.deepEqual(
      names.map((name) => Number(name.split(", ").at(-1).replace("−", "-"))),
      c.map((_, key) => key - row),
    );
    nearAll(await column(page, "positions"), positions, "positions", 1e-6);
    nearAll(await column(page, "recorded-positions"), decoded(block.values.mask).row(head, row), "recorded positions");
    nearAll(await column(page, "dots"), decoded(block.values.scores).row(head, row), "scores", 1e-5);
    nearAll(await column(page, "p"), p.row(head, row), "p", 1e-5);
    const gradients = block.gradients[0];
    nearAll(await column(page, "g"), decoded(gradients.probabilities).row(head, row), "g", 1e-5);
    nearAll(await column(page, "ds"), decoded(gradients.scores).row(head, row), "ds", 1e-4);
    assert.equal(await page.locator(".verdict.good").count(), 3, await page.locator("#view").innerText());
  }
  const table = decoded(block.relative.gradients[0].keys);
  await point(page, page.locator("#relative-keys .cover"), 1, 2, [table.rows, table.columns]);
  const off = Math.abs((await readout(page, "relative-keys")) - table.at(1, 2));
  assert.ok(off < 1e-4 * Math.max(...table.values.map(Math.abs)), `da[1, 2] is off by ${off}`);
  await menu(page, "Gradients of", "1");
  assert.ok((await page.locator("#view").innerText()).includes("This output has no gradient here."));
});

await check("a nudged operation on the tape links to its nudge", made("beside"), async ({ page, data }) => {
  const softmax = data.nudges.places.find(({ kind }) => kind === "weight").node;
  const known = data.nudges.places.flatMap((place, index) => (place.node === softmax ? [index] : []));
  const slopes = decoded(data.nudges.gradients);
  const best = known.reduce((x, y) => (Math.abs(slopes.at(y, 0)) > Math.abs(slopes.at(x, 0)) ? y : x));
  await open(page, `view=tape&node=${softmax}`);
  await page.locator(".inspector").getByText("nudge it").click();
  await page.locator(`.pull-grid button[data-place="${best}"][aria-pressed=true]`).waitFor();
  // Every weight is written as a number from 0 to 1, also the tiny ones that cannot be nudged.
  for (const words of await page.locator(".pull-grid td").allInnerTexts())
    assert.ok(words === "–" || (/^\d\.\d{3}$/.test(words) && Number(words) <= 1), words);
});

const scenes = {
  runs: ["small", "#view=runs&run=1"],
  film: ["film", "#view=runs&kind=cross&head=1"],
  beside: ["beside", "#view=runs&kind=cross&head=3&run=2"],
  patched: ["patched", "#view=patching"],
  relative: ["small", "#view=relative&row=2"],
};
for (const [look, settings] of Object.entries(browser.looks))
  for (const [name, [of, hash]] of Object.entries(scenes))
    await check(
      `nothing is wider than the window: ${name}, ${look}`,
      made(of),
      async ({ page }) => {
        assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
        await browser.picture(page, `runs-${name}`, look);
      },
      { hash, ...settings },
    );
