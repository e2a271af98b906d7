// The explorer page: what each view shows beside the numbers in the page's data, decoded here. Run by check_pages.mjs.
import assert from "node:assert/strict";
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import * as browser from "./browser.mjs";
import { explorerData, writeExplorer } from "./make_explorer_data.mjs";
import { hostile } from "./make_log.mjs";

// A page, and the data that stand in it.
function made(name) {
  const path = join(browser.work, `${name}.html`);
  return () => {
    writeExplorer(path, explorerData(name));
    const [, json] = /<script type="application\/json" id="data">(.*?)<\/script>/s.exec(readFileSync(path, "utf8"));
    return { path, data: JSON.parse(json) };
  };
}

const check = (name, body, { of = "small", ...settings } = {}) =>
  browser.check(`explorer: ${name}`, made(of), body, { ready: "html[data-ready]", ...settings });

// A tensor of the data: its numbers, and one of them by place in what is kept.
function decoded(packed) {
  const bytes = Buffer.from(packed.data, "base64");
  const shape = packed.cut ?? packed.shape;
  const values = Array.from({ length: bytes.length / 4 }, (_, i) => bytes.readFloatLE(4 * i));
  const at = (...places) => values[places.reduce((sum, place, axis) => sum * shape[axis] + place, 0)];
  const row = (...places) => Array.from({ length: shape.at(-1) }, (_, i) => at(...places, i));
  return { values, shape, at, row };
}

const sum = (values) => values.reduce((a, b) => a + b, 0);
const near = (actual, expected, what, tolerance = 1e-6) =>
  assert.ok(
    Object.is(actual, expected) || Math.abs(actual - expected) <= tolerance * (1 + Math.abs(expected)),
    `${what}: the page shows ${actual}, the data say ${expected}`,
  );
const nearAll = (actual, expected, what, tolerance) => {
  assert.equal(actual.length, expected.length, what);
  actual.forEach((value, index) => near(value, expected[index], `${what}[${index}]`, tolerance));
};
const numbers = (locator) => locator.evaluateAll((all) => all.map(({ dataset }) => Number(dataset.value)));
const column = (page, name) => numbers(page.locator(`table.numbers >> nth=0 >> tbody td[data-column="${name}"]`));
const view = (page, name) => page.locator(`nav a[data-view=${name}]`).click();
const option = (page, legend, label) =>
  page.locator(".choice", { hasText: legend }).getByText(label, { exact: true }).click();
const menu = (page, legend) => page.locator("label.menu", { hasText: legend }).locator("select");
const address = (page) => page.evaluate(() => Object.fromEntries(new URLSearchParams(location.hash.slice(1))));
const titleOf = (kind) => kind.replace(/^./, (letter) => letter.toUpperCase());
const readout = async (page, id) => Number(await page.locator(`#${id} .readout`).getAttribute("data-value"));

// Puts the pointer on a cell of a field of colours.
async function point(page, cover, row, column, [rows, columns]) {
  const box = await cover.boundingBox();
  await page.mouse.move(box.x + ((column + 0.5) * box.width) / columns, box.y + ((row + 0.5) * box.height) / rows);
}

await check("the head view shows each head's weights of a query, and their gradients", async ({ page, data }) => {
  for (const block of data.attention) {
    await option(page, "Attention", titleOf(block.kind));
    await menu(page, "Layer").selectOption(block.module);
    for (const [show, set, output] of [
      ["Probabilities", block.values],
      ["Gradients", block.gradients[0], 0],
      ["Gradients", block.gradients[1], 1],
    ]) {
      await option(page, "Show", show);
      if (output !== undefined) await menu(page, "of").selectOption(String(output));
      if (!set.probabilities) continue;
      const weights = decoded(set.probabilities);
      for (const query of [0, 3]) {
        await page.locator(`#head-picture .query[data-row="${query}"]`).hover();
        for (let head = 0; head < block.heads; ++head) {
          const shown = await numbers(page.locator(`#head-picture .number-cell[data-head="${head}"]`));
          nearAll(shown, weights.row(head, query), `${block.module} ${show} of head ${head}, query ${query}`);
        }
      }
      await page.mouse.move(5, 5);
      const all = await numbers(page.locator('#head-picture .number-cell[data-head="1"]'));
      const received = all.map((_, key) =>
        sum(Array.from({ length: weights.shape[1] }, (_, q) => weights.at(1, q, key))),
      );
      nearAll(all, received, `${block.module} sums of head 1`);
    }
  }
});

await check("heads are switched by their colours, sentences by a filter, all of it by keys", async ({ page, data }) => {
  const columns = () =>
    page.locator("#head-picture .number-cell").evaluateAll((all) => [...new Set(all.map((cell) => cell.dataset.head))]);
  const swatch = (head) => page.locator(".swatches button").nth(head);
  assert.deepEqual(await columns(), ["0", "1", "2", "3"]);
  await swatch(1).click();
  assert.deepEqual(await columns(), ["0", "2", "3"]);
  assert.equal((await address(page)).heads, "0,2,3");
  await swatch(3).dblclick();
  assert.deepEqual(await columns(), ["3"]);
  assert.equal((await address(page)).head, "3");
  const { tokens, segments } = data.texts[0];
  await menu(page, "Sentences").selectOption("AB");
  const shown = await page.locator("#head-picture .token").allTextContents();
  const of = (segment) => tokens.filter((_, index) => segments[index] === segment);
  assert.deepEqual(shown, [...of(0), ...of(1)]);
  await menu(page, "Sentences").selectOption("**");
  await page.locator("#head-picture .plot").focus();
  for (const key of ["ArrowDown", "ArrowDown", "ArrowLeft", "PageDown"]) await page.keyboard.press(key);
  const { row, head, block } = await address(page);
  assert.deepEqual([row, head, block], ["1", "2", data.attention[1].module]);
  const weights = decoded(data.attention[1].values.probabilities);
  nearAll(await numbers(page.locator("#head-picture .number-cell")), weights.row(2, 1), "by keys");
});

await check("the model view shows every head; one of them opens", async ({ page, data }) => {
  await view(page, "model");
  for (const kind of [...new Set(data.attention.map((block) => block.kind))]) {
    await option(page, "Attention", titleOf(kind));
    const blocks = data.attention.filter((block) => block.kind === kind);
    const thumbnails = page.locator("#model-picture .thumbnail");
    assert.equal(await thumbnails.count(), sum(blocks.map(({ heads }) => heads)));
    const block = blocks.at(-1);
    const weights = decoded(block.values.probabilities);
    const last = page.locator(`#model-picture .thumbnail[data-block="${block.module}"][data-head="2"]`);
    await point(page, last, 4, 1, weights.shape.slice(1));
    near(await readout(page, "model-picture"), weights.at(2, 4, 1), `${kind} thumbnail`);
    await option(page, "Show", "Gradients");
    await point(page, last, 3, 2, weights.shape.slice(1));
    near(
      await readout(page, "model-picture"),
      decoded(block.gradients[0].probabilities).at(2, 3, 2),
      `${kind} gradient`,
    );
    await option(page, "Show", "Probabilities");
  }
  const block = data.attention.at(-1);
  await page.locator(`#model-picture .thumbnail[data-block="${block.module}"][data-head="1"]`).click();
  const { view: opened, block: module, head } = await address(page);
  assert.deepEqual([opened, module, head], ["head", block.module, "1"]);
  await page.goBack();
  assert.equal(await page.locator("#model-picture").count(), 1);
  await page.locator("#model-picture .plot").focus();
  for (const key of ["ArrowUp", "ArrowRight", "ArrowRight", "Enter"]) await page.keyboard.press(key);
  assert.equal((await address(page)).view, "head");
});

await check(
  "the neuron view works a score out from its vectors, and the gradient of a query",
  async ({ page, data }) => {
    await view(page, "neuron");
    for (const block of data.attention) {
      await option(page, "Attention", titleOf(block.kind));
      await menu(page, "Layer").selectOption(block.module);
      await menu(page, "Head").selectOption("2");
      await menu(page, "Query").selectOption("3");
      await option(page, "Show", "Values");
      const [q, k] = [decoded(block.values.query).row(2, 3), decoded(block.values.key)];
      const figure = (name) => numbers(page.locator(`#neuron-picture [data-figure="${name}"]`));
      const keys = k.shape[1];
      const dots = Array.from({ length: keys }, (_, key) => sum(q.map((value, d) => value * k.at(2, key, d))));
      nearAll(await figure("q·k"), dots, "dot products");
      nearAll(
        await figure("score"),
        dots.map((dot) => dot * block.scale),
        "scores",
        1e-5,
      );
      if (block.values.mask) nearAll(await figure("+ mask"), decoded(block.values.mask).row(2, 3), "mask");
      nearAll(await figure("softmax"), decoded(block.values.probabilities).row(2, 3), "probabilities");
      const strip = page.locator('#neuron-picture .strip[data-strip="q·k 1"]');
      await point(page, strip, 0, 5, [1, q.length]);
      near(await readout(page, "neuron-picture"), q[5] * k.at(2, 1, 5), "an elementwise product");
      await option(page, "Show", "Gradients");
      nearAll(await figure("ds"), decoded(block.gradients[0].scores).row(2, 3), "gradient of the scores");
      nearAll(await figure("dp"), decoded(block.gradients[0].probabilities).row(2, 3), "gradient of the probabilities");
      const recorded = decoded(block.gradients[0].query).row(2, 3);
      await point(page, page.locator('#neuron-picture .strip[data-strip="sum"]'), 0, 4, [1, q.length]);
      near(await readout(page, "neuron-picture"), recorded[4], "sum of what the keys send");
      const [off] = await numbers(page.locator("#neuron-picture .difference"));
      assert.ok(off < 1e-5 * Math.max(...recorded.map(Math.abs)) + 1e-9, `${off}`);
    }
  },
);

await check("the close-up of softmax works out its Jacobian-vector product", async ({ page, data }) => {
  await view(page, "softmax");
  const block = data.attention.find(({ kind }) => kind === "decoder self");
  await option(page, "Attention", titleOf(block.kind));
  await menu(page, "Head").selectOption("1");
  await menu(page, "Row").selectOption("3");
  for (const output of [0, 1]) {
    await menu(page, "Gradients of").selectOption(String(output));
    const p = decoded(block.values.probabilities).row(1, 3);
    const g = decoded(block.gradients[output].probabilities).row(1, 3);
    const total = sum(p.map((value, j) => value * g[j]));
    const dx = p.map((value, j) => value * (g[j] - total));
    nearAll(await column(page, "p"), p, "p");
    nearAll(await column(page, "g"), g, "g");
    nearAll(
      await column(page, "pg"),
      p.map((value, j) => value * g[j]),
      "p·g",
    );
    nearAll(await column(page, "dx"), dx, "dx", 1e-9);
    nearAll(await column(page, "recorded"), decoded(block.gradients[output].scores).row(1, 3), "recorded");
    near(...(await numbers(page.locator('[data-step="sum"]'))), total, "sum", 1e-9);
    assert.equal(await page.locator(".verdict.good").count(), 1);
    const jacobian = await numbers(page.locator('.jacobian td[data-column="jacobian"]'));
    const expected = p.flatMap((pj, j) => p.map((pk, k) => pj * ((j === k ? 1 : 0) - pk)));
    nearAll(jacobian, expected, "Jacobian", 1e-9);
  }
  await page.locator(".closeup").focus();
  await page.keyboard.press("ArrowDown");
  nearAll(await column(page, "p"), decoded(block.values.probabilities).row(1, 4), "p of the next row");
});

await check("the close-up of LayerNorm works out its backward", async ({ page, data }) => {
  await view(page, "layernorm");
  for (const norm of [data.layer_norms[0], data.layer_norms.at(-1)]) {
    await menu(page, "LayerNorm").selectOption(norm.module);
    await menu(page, "Row").selectOption("2");
    const x = decoded(norm.input).row(2);
    const gamma = decoded(norm.weight).values;
    const g = decoded(norm.gradient_output[0]).row(2);
    const mean = sum(x) / x.length;
    const variance = sum(x.map((value) => (value - mean) ** 2)) / x.length;
    const hat = x.map((value) => (value - mean) / Math.sqrt(variance + norm.eps));
    const [first, second] = [sum(g.map((v, c) => v * gamma[c])), sum(g.map((v, c) => v * gamma[c] * hat[c]))];
    const dx = g.map(
      (v, c) => (v * gamma[c] - first / x.length - (hat[c] * second) / x.length) / Math.sqrt(variance + norm.eps),
    );
    for (const [step, expected] of Object.entries({
      mean,
      variance,
      first: first / x.length,
      second: second / x.length,
    }))
      near(...(await numbers(page.locator(`[data-step="${step}"]`))), expected, step, 1e-9);
    nearAll(await column(page, "x"), x, "x");
    nearAll(await column(page, "hat"), hat, "x̂", 1e-9);
    nearAll(await column(page, "dx"), dx, "dx", 1e-9);
    nearAll(await column(page, "recorded"), decoded(norm.gradient_input[0]).row(2), "recorded");
    assert.equal(await page.locator(".verdict.good").count(), 1);
    await point(page, page.locator('#layernorm-picture .strip[data-strip="dx"]'), 0, 7, [1, x.length]);
    near(await readout(page, "layernorm-picture"), dx[7], "dx in the picture", 1e-9);
  }
});

const boxes = (page, kind) => page.locator(`#tape-picture .box${kind}`).count();

await check("the tape folds and unfolds; an operation shows its values and gradients", async ({ page, data }) => {
  await view(page, "tape");
  const { nodes, leaves } = data.tape;
  const before = await boxes(page, ".node");
  const folded = await boxes(page, ".folded");
  assert.ok(folded > 0 && before < nodes.length);
  await page.locator("#tape-picture .box.folded").first().click();
  assert.ok((await boxes(page, "")) > before + folded);
  await page.getByRole("button", { name: "Unfold all" }).click();
  assert.equal(await boxes(page, ".node"), nodes.length);
  assert.equal(await boxes(page, ".leaf"), leaves.length);
  const links = nodes.flatMap(({ inputs }) => inputs.filter(Boolean));
  assert.ok((await page.locator("#tape-picture .wire").count()) <= links.length);
  await page.locator("#tape-picture .frame text").first().click();
  assert.ok((await boxes(page, ".node")) < nodes.length);
  const node = nodes.find(({ operation, module }) => operation === "softmax" && module.startsWith("decoder.layers.1"));
  await page.evaluate((id) => (location.hash = `view=tape&node=${id}`), node.id);
  await page.locator(`#tape-picture [data-node="${node.id}"].chosen`).waitFor();
  const panel = page.locator(".inspector");
  for (const text of [
    node.operation,
    node.module,
    node.line,
    node.formula.backward[0],
    `[${node.outputs[0].shape.join(", ")}]`,
  ])
    assert.ok((await panel.innerText()).includes(text), text);
  for (const output of [0, 1]) {
    await menu(page, "Gradients of").selectOption(String(output));
    for (const [id, packed] of [
      ["heat-output-0-value", node.outputs[0].value],
      ["heat-output-0-gradient", node.outputs[0].gradients[output]],
    ]) {
      const tensor = decoded(packed);
      const lead = tensor.shape.slice(0, -2).map(() => 0);
      const cover = page.locator(`#${id} .cover`);
      await cover.scrollIntoViewIfNeeded();
      await point(page, cover, 2, 1, tensor.shape.slice(-2));
      near(await readout(page, id), tensor.at(...lead, 2, 1), `${id} of output ${output}`);
      await page.locator(`#${id} .plot`).focus();
      await page.mouse.move(2, 2);
      for (const key of ["ArrowRight", "ArrowRight", "ArrowDown"]) await page.keyboard.press(key);
      near(await readout(page, id), tensor.at(...lead, 1, 1), `${id} by keys`);
    }
  }
});

// Steps of the replay, worked out from the data alone.
function replayed({ nodes, root }) {
  const reached = new Set([root]);
  const order = [];
  for (const node of [...nodes].reverse()) {
    if (!reached.has(node.id)) continue;
    order.push(node);
    for (const input of node.inputs) if (input && "node" in input) reached.add(input.node);
  }
  return order;
}

await check("the player steps through the recording and the replay, and gradients add up", async ({ page, data }) => {
  const { nodes, leaves } = data.tape;
  const order = replayed(data.tape);
  await view(page, "tape");
  const words = () => page.locator(".player-words").innerText();
  const button = (name) => page.locator(".player").getByRole("button", { name, exact: true });
  await button("Forward").click();
  assert.ok((await words()).startsWith(`Forward 1 of ${nodes.length}: ${nodes[0].operation} #${nodes[0].id}`));
  await button("Step ›").click();
  assert.ok((await words()).includes(`#${nodes[1].id} is recorded`));
  await button("Backward").click();
  assert.ok((await words()).startsWith(`Backward 1 of ${order.length}: ${order[0].operation} #${order[0].id} sends`));
  await page.locator("#tape-picture .plot").focus();
  await page.keyboard.press(".");
  assert.ok((await words()).includes(`#${order[1].id}`));
  await page.keyboard.press(",");
  assert.ok((await words()).includes(`#${order[0].id}`));

  // A leaf or node that several operations use: its gradient grows with each of them.
  const uses = new Map();
  order.forEach((node, turn) =>
    node.inputs.forEach((input, index) => {
      const key = input && node.contributions[index] && ("node" in input ? `node=${input.node}` : `leaf=${input.leaf}`);
      if (key) uses.set(key, [...(uses.get(key) ?? []), { turn, packed: node.contributions[index] }]);
    }),
  );
  const [key, sent] = [...uses].find(([name, all]) => name.startsWith("node") && all.length === 4);
  const node = nodes.find(({ id }) => `node=${id}` === key);
  for (let arrived = 1; arrived <= sent.length; ++arrived) {
    const step = nodes.length + sent[arrived - 1].turn;
    await page.evaluate((hash) => (location.hash = hash), `view=tape&${key}&step=${step}`);
    const list = page.locator(`.contributions[data-arrived="${arrived}"]`);
    await list.waitFor();
    assert.equal(await list.getAttribute("data-all"), String(sent.length));
    const cover = page.locator("#heat-sum-0 .cover");
    await cover.scrollIntoViewIfNeeded();
    const parts = sent.slice(0, arrived).map(({ packed }) => decoded(packed));
    const at = (tensor) => tensor.at(...tensor.shape.slice(0, -2).map(() => 0), 1, 2);
    await point(page, cover, 1, 2, parts[0].shape.slice(-2));
    const total = sum(parts.map(at));
    near(await readout(page, "heat-sum-0"), total, `sum of ${arrived}`);
    near(...(await numbers(page.locator(".addition"))), total, "the addition");
    if (arrived === sent.length) near(total, at(decoded(node.outputs[0].gradients[0])), "all of it");
  }
  assert.ok(uses.size > leaves.length);
  await button("Whole tape").click();
  await button("Play").click();
  await page.waitForFunction(() => /step=[2-9]/.test(location.hash));
  await button("Pause").click();
  await page.locator(".track input").focus();
  await page.keyboard.press("End");
  assert.ok((await words()).startsWith(`Backward ${order.length} of ${order.length}`));
});

await check("a failed gradient check leads to the operation at fault", async ({ page, data }) => {
  await view(page, "gradcheck");
  assert.ok((await page.locator("#view pre").innerText()).includes("gradcheck: 1 of 2 gradients is wrong"));
  const [id] = data.gradcheck.guilty;
  await page.locator(".guilty-list a").click();
  assert.equal((await address(page)).node, String(id));
  await page.locator(`#tape-picture .box.guilty.chosen[data-node="${id}"]`).waitFor();
  assert.ok((await page.locator("p.guilty").innerText()).includes("a constant factor"));
});

await check(
  "an address opens its view, whatever stands in it, and the way back leads back",
  async ({ page, data }) => {
    const open = (hash) => page.evaluate((text) => (location.hash = text), hash);
    assert.deepEqual(await page.locator(".swatches [aria-pressed=true]").allTextContents(), ["2"]);
    assert.ok((await page.locator("#head-picture h2").innerText()).startsWith(`${data.attention[1].module}, head 2`));
    await open("view=softmax&block=decoder.layers.1.cross_attention&head=3&row=4&output=1");
    await page.locator(".closeup h2", { hasText: "decoder.layers.1.cross_attention, head 3, row 4" }).waitFor();
    await view(page, "tape");
    await page.goBack();
    await page.locator(".closeup h2", { hasText: "head 3, row 4" }).waitFor();
    for (const odd of [
      "view=nothing&head=99&row=-1",
      "view=head&block=none&heads=7,x,,2&output=8",
      "node=1",
      "view=tape&node=999999&step=99999",
      "%E0%A4%A",
      "view=layernorm&block=toString&row=1e9",
    ]) {
      await open(odd);
      await page.waitForTimeout(30);
      assert.ok((await page.locator("#view").innerText()).length > 20, odd);
    }
  },
  { hash: "#layer=1&head=2" },
);

await check("a token is text, whatever it says", async ({ page, data }) => {
  assert.equal(data.texts[1].tokens[1], hostile);
  await view(page, "neuron");
  await option(page, "Attention", "Cross");
  await menu(page, "Query").selectOption("1");
  assert.ok((await page.locator("#neuron-picture h2").innerText()).includes("</script><img src=x"));
  for (const name of ["head", "softmax", "layernorm", "tape"]) await view(page, name);
  assert.equal(await page.locator("img, main script").count(), 0);
  assert.equal(await page.evaluate(() => window.broken), undefined);
});

await check("pictures are saved as SVG and PNG", async ({ page }) => {
  for (const name of ["head", "model", "neuron", "tape", "layernorm"]) {
    await view(page, name);
    const saved = async (format) => {
      const [download] = await Promise.all([
        page.waitForEvent("download"),
        page.locator(`#${name}-picture .save`).getByText(format, { exact: true }).click(),
      ]);
      assert.ok(download.suggestedFilename().endsWith(`.${format.toLowerCase()}`));
      return readFileSync(await download.path());
    };
    const svg = (await saved("SVG")).toString("utf8");
    const problems = await page.evaluate((text) => {
      const document = new DOMParser().parseFromString(text, "image/svg+xml");
      const all = [...document.querySelectorAll("*")];
      const words = all.filter(({ tagName, textContent }) => tagName === "text" && textContent !== "");
      return {
        broken: document.querySelectorAll("parsererror").length,
        words: words.length,
        plain: words.every(
          (element) => element.getAttribute("font-size") && element.getAttribute("fill")?.startsWith("rgb"),
        ),
        classes: all.filter((element) => element.hasAttribute("class") || element.hasAttribute("style")).length,
      };
    }, svg);
    assert.ok(problems.words > 4, name);
    assert.deepEqual({ ...problems, words: 0 }, { broken: 0, words: 0, plain: true, classes: 0 });
    const png = await saved("PNG");
    assert.equal(png.subarray(1, 4).toString(), "PNG");
    assert.ok(png.readUInt32BE(16) > 300 && png.length > 5000, `${name}.png: ${png.length} bytes`);
  }
});

await check("everything can be reached with the keyboard and has a name", async ({ page }) => {
  for (const name of ["head", "model", "neuron", "tape", "softmax", "layernorm", "gradcheck"]) {
    await view(page, name);
    const nameless = await page.evaluate(() =>
      [...document.querySelectorAll("button, select, input, a, [tabindex='0']")]
        .filter((element) => element.getClientRects().length > 0)
        .filter(
          (element) =>
            !(element.ariaLabel || element.title || element.textContent.trim() || element.labels?.[0]?.textContent),
        )
        .map((element) => element.outerHTML.slice(0, 120)),
    );
    assert.deepEqual(nameless, [], name);
  }
  await page.locator("nav a").first().focus();
  const passed = [];
  for (let i = 0; i < 30; ++i) {
    await page.keyboard.press("Tab");
    passed.push(
      await page.evaluate(() => document.activeElement?.closest("label, .plot, button, a")?.textContent ?? ""),
    );
  }
  assert.ok(passed.length > 0 && passed.some((text) => text.includes("Gradient check")));
});

await check("the look can be switched", async ({ page }) => {
  const paper = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const light = await paper();
  const cell = () => page.locator("#head-picture .number-cell").first().getAttribute("fill");
  const tint = await cell();
  await option(page, "Look", "Dark");
  assert.notEqual(await paper(), light);
  assert.notEqual(await cell(), tint);
  await option(page, "Look", "Auto");
  assert.equal(await paper(), light);
  assert.equal(await cell(), tint);
});

for (const hash of ["#view=head", "#view=model&kind=cross", "#view=tape"])
  await check(
    `6 + 6 layers of 12 heads: open at once (${hash})`,
    async ({ page, path, opened, data }) => {
      const size = statSync(path).size;
      console.log(`        ${size} bytes, ${data.tape.nodes.length} operations, ${opened} ms`);
      assert.ok(size > 3e6 && size < 6e6, `${size} bytes`);
      assert.ok(opened < 2000, `${opened} ms`);
      assert.ok((await page.locator("#view svg path").count()) > 20);
    },
    { of: "large", hash },
  );

const scenes = {
  head: "#view=head&layer=1&row=3",
  "head-gradients": "#view=head&kind=cross&show=gradients&output=1",
  model: "#view=model&kind=decoder self",
  neuron: "#view=neuron&kind=decoder self&head=1&row=4",
  "neuron-gradients": "#view=neuron&kind=cross&row=2&show=gradients",
  tape: "#view=tape",
  "tape-node": "#view=tape&node=32&step=200",
  softmax: "#view=softmax&layer=1&row=2",
  layernorm: "#view=layernorm&row=2",
  gradcheck: "#view=gradcheck",
};
for (const [look, settings] of Object.entries(browser.looks))
  for (const [name, hash] of Object.entries(scenes))
    await check(
      `nothing is wider than the window: ${name}, ${look}`,
      async ({ page }) => {
        assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
        await browser.picture(page, `explorer-${name}`, look);
      },
      { hash, ...settings },
    );
