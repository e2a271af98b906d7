// The explorer's overview: the model's architecture, drawn from the tape. Run by check_pages.mjs.
import assert from "node:assert/strict";
import { cpSync, existsSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import * as browser from "./browser.mjs";
import { address, dataOf, decoded, near, numbers, option, sum, view } from "./explorer_views.mjs";
import { explorerData, writeExplorer } from "./make_explorer_data.mjs";
import * as models from "./models.mjs";

const fixtures = join(dirname(fileURLToPath(import.meta.url)), "../fixtures");
const written = (name, make) => () => {
  const path = models.folder(`overview-${name}.html`);
  if (!existsSync(path)) make(path);
  return { path, data: dataOf(path) };
};

// A test model with a matching tokenizer.
function model(name, tokenizer) {
  const made = models.folder(`overview-${name}`);
  cpSync(join(fixtures, "commands", name), made, { recursive: true });
  const files = join(fixtures, "tokenizers", tokenizer);
  for (const file of readdirSync(files)) cpSync(join(files, file), join(made, file));
  return made;
}
const small = written("small", (path) => writeExplorer(path, explorerData("small")));
const translator = () => ({ path: models.pulled(), data: dataOf(models.pulled()) });
const gpt = written("gpt", (path) =>
  models.run("inspect", "--model", model("writer", "gpt2"), "--text", "the cat sat", "--out", path),
);
const bert = written("bert", (path) =>
  models.run("inspect", "--model", model("classifier", "bert"), "--text", "one", "--text-b", "two", "--out", path),
);

const check = (name, make, body, settings = {}) =>
  browser.check(`overview: ${name}`, make, body, { ready: "html[data-ready]", ...settings });

// The root mean square of an operation's output, or of its gradient.
function sizeOf(data, id, show) {
  const [made] = data.tape.nodes.find((node) => node.id === id).outputs;
  const packed = show === "gradients" ? made.gradients[0] : made.value;
  const count = packed.shape.reduce((a, b) => a * b, 1);
  return (packed.norm ?? Math.hypot(...decoded(packed).values)) / Math.sqrt(count);
}

const lastOf = (data, module) =>
  data.tape.nodes.findLast((node) => node.module === module || node.module.startsWith(`${module}.`)).id;

for (const [name, make] of Object.entries({ small, translator, gpt, bert }))
  await check(`the parts have the sizes of the data: ${name}`, make, async ({ page, data }) => {
    assert.equal((await page.locator("nav a").first().innerText()).trim(), "Overview");
    assert.equal(await page.locator("nav a[aria-current]").innerText(), "Overview");
    const blocks = new Set(data.tape.nodes.map(({ module }) => /^.*?\.layers\.\d+/.exec(module)?.[0]).filter(Boolean));
    const frames = await page.locator(".block-frame").evaluateAll((all) => all.map(({ dataset }) => dataset.block));
    assert.deepEqual(frames.sort(), [...blocks].sort());
    for (const show of ["values", "gradients"]) {
      await option(page, "Color", show === "values" ? "Forward norm" : "Gradient norm");
      for (const { module } of data.attention.filter((block) =>
        data.tape.nodes.some((n) => n.module === block.module),
      )) {
        const [size] = await numbers(page.locator(`.part[data-module="${module}"]`));
        near(size, sizeOf(data, lastOf(data, module), show), `${module}, ${show}`, 1e-4);
      }
      for (const { module } of data.layer_norms)
        near(
          (await numbers(page.locator(`.part[data-module="${module}"]`)))[0],
          sizeOf(data, lastOf(data, module), show),
          `${module}, ${show}`,
          1e-4,
        );
      for (const node of data.tape.nodes.filter(({ operation, module }) => operation === "add" && blocks.has(module)))
        near(
          (await numbers(page.locator(`.part.sum[data-node="${node.id}"]`)))[0],
          sizeOf(data, node.id, show),
          `sum #${node.id}, ${show}`,
          1e-4,
        );
    }
    const arrows = data.attention.filter(({ kind }) => kind === "cross").length;
    assert.equal(await page.locator("#overview-picture .memory").count(), arrows);
    assert.equal(await page.locator(".part.unknown").count(), 0);
  });

await check("each part opens its view at its block", translator, async ({ page, data }) => {
  const open = async (selector, how) => {
    await view(page, "overview");
    const part = page.locator(`#overview-picture ${selector}`);
    if (how === "click") await part.click();
    else {
      await part.focus();
      await page.keyboard.press(how);
    }
    return address(page);
  };
  const cross = await open('.part[data-module="decoder.layers.1.cross_attention"]', "click");
  assert.deepEqual([cross.view, cross.block], ["head", "decoder.layers.1.cross_attention"]);
  const forward = await open('.part[data-module="encoder.layers.1.feed_forward"]', "Enter");
  assert.deepEqual([forward.view, forward.block], ["activation", "encoder.layers.1.feed_forward.activation"]);
  const norm = await open('.part[data-module="decoder.layers.0.norm3"]', " ");
  assert.deepEqual([norm.view, norm.block], ["layernorm", "decoder.layers.0.norm3"]);
  assert.equal((await open('.part[data-module="output"]', "click")).view, "output");
  const sum = data.tape.nodes.find(({ operation, module }) => operation === "add" && module === "encoder.layers.0");
  const tape = await open(`.part.sum[data-node="${sum.id}"]`, "click");
  assert.deepEqual([tape.view, tape.node], ["tape", String(sum.id)]);
  const loss = await open(`.part[data-node="${data.tape.roots[0]}"]`, "Enter");
  assert.deepEqual([loss.view, loss.node], ["tape", String(data.tape.roots[0])]);
  await page.goBack();
  assert.equal((await address(page)).view, "overview");
});

await check("names are a reader's, and tooltips have the module's path", gpt, async ({ page }) => {
  const picture = page.locator("#overview-picture");
  const shown = await picture
    .locator("svg text")
    .evaluateAll((all) => all.map(({ firstChild }) => firstChild?.data ?? ""));
  assert.ok(shown.includes("Block 1") && shown.includes("Block 2"), shown.join());
  assert.ok(!/layers\.|encoder/i.test(shown.join()), shown.join());
  const part = picture.locator('.part[data-module="encoder.layers.1.self_attention"]');
  assert.match(await part.getAttribute("aria-label"), /^Block 2, self-attention: root mean square/);
  assert.match(await part.locator("title").textContent(), /encoder\.layers\.1\.self_attention/);
  await part.hover();
  assert.match(await picture.locator(".readout").innerText(), /^Block 2, self-attention/);
});

// The mean entropy of a head over its queries with several keys, relative to that of equal weights.
function entropies(weights, head) {
  return Array.from({ length: weights.rows }, (_, row) => {
    const seen = weights.row(head, row).filter((weight) => weight > 0);
    return seen.length < 2 ? NaN : -sum(seen.map((p) => p * Math.log(p))) / Math.log(seen.length);
  });
}
const mean = (values) => sum(values.filter(Number.isFinite)) / values.filter(Number.isFinite).length;

for (const [name, make] of Object.entries({ small, translator, gpt, bert }))
  await check(`the head view opens with one clear head and describes it: ${name}`, make, async ({ page, data }) => {
    await page.locator("nav a[data-view=head]").click();
    const at = await address(page);
    const block = data.attention.find(({ module }) => module === at.block);
    const weights = decoded(block.values.probabilities);
    const [head, row] = [Number(at.head), Number(at.row)];
    assert.ok(row > 0);
    const cross = data.attention.findLast(({ kind }) => kind === "cross");
    // Heads whose strongest key is mostly a special token, or the first of the same text, come last.
    const rank = (of, one) => {
      const p = decoded(of.values.probabilities);
      const rows = Array.from({ length: p.rows }, (_, query) => p.row(one, query));
      const open = rows.filter((weights) => weights.filter((weight) => weight > 0).length > 1);
      const sinks = open.filter((weights) => {
        const most = weights.indexOf(Math.max(...weights));
        const token = data.texts[of.columns].tokens[most];
        return (most === 0 && !cross) || token.startsWith("[") || token === "<s>" || token === "</s>";
      });
      return mean(entropies(p, one)) + (2 * sinks.length > open.length ? 2 : 0);
    };
    const ranks = (cross ? [cross] : data.attention).flatMap((of) =>
      Array.from({ length: of.heads }, (_, one) => rank(of, one)),
    );
    near(rank(block, head), Math.min(...ranks), "entropy");
    const most = Math.max(...weights.row(head, row));
    const words = await page.locator(".finding").innerText();
    const [, query, share, key] = /^The query “(.*)” puts (.*)% of its weight on “(.*)”\.$/s.exec(words);
    assert.ok(Math.abs(Number(share.replace("more than ", "")) - 100 * most) <= 1, `${words}: ${most}`);
    const place = weights.row(head, row).indexOf(most);
    const same = (shown, text, index) => {
      const token = data.texts[text].tokens[index];
      if (token.length < 12) assert.equal(shown.replace(/[₀-₉]+$/, ""), token);
    };
    same(query, block.rows, row);
    same(key, block.columns, place);
    assert.equal(await page.getByLabel("Hide lines below").inputValue(), "5");
    const high = Math.max(...weights.values);
    const lines = weights.row(head, row).filter((weight) => weight >= 0.05 * high).length;
    assert.equal(Number(await page.locator("#head-picture .lines").getAttribute("data-lines")), lines);
    // What the user selects stays.
    await page.locator(".swatches").getByText("All").click();
    await page.locator("#head-picture .plot").focus();
    await page.keyboard.press("Escape");
    assert.match(await page.locator(".finding").innerText(), /^The largest weight in head \d+: the query /);
    await option(page, "Show", "Gradients");
    assert.match(await page.locator(".finding").innerText(), /^The largest gradient in head \d+, .* the loss\.$/s);
  });

// Without values in the page.
const bare = written("bare", (path) => {
  const data = explorerData("small");
  for (const node of data.tape.nodes)
    if (node.module === "encoder.layers.0.norm1") {
      node.outputs[0].value = null;
      delete node.outputs[0].gradients[0].norm; // a part of the gradient, without the norm of the whole
    }
  writeExplorer(path, data);
});
await check("a part whose values are not stored in full has no color and explains why", bare, async ({ page }) => {
  const part = page.locator('.part[data-module="encoder.layers.0.norm1"]');
  for (const show of ["Forward norm", "Gradient norm"]) {
    await option(page, "Color", show);
    assert.equal(await page.locator(".part.unknown").count(), 1, show);
    assert.match(await part.getAttribute("class"), /unknown/);
    assert.match(await part.locator("title").textContent(), /no color, because the page does not store its/);
  }
});

for (const [look, settings] of Object.entries({ ...browser.looks, tablet: { viewport: { width: 1024, height: 768 } } }))
  for (const [name, make] of Object.entries({ small, translator, gpt, bert }))
    await check(
      `nothing is wider than the window: ${name}, ${look}`,
      make,
      async ({ page }) => {
        assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
        const outside = await page.evaluate(() => {
          const { right } = document.querySelector("#overview-picture .plot").getBoundingClientRect();
          return [...document.querySelectorAll("#overview-picture text")].filter(
            (text) => text.getBoundingClientRect().right > right + 1,
          ).length;
        });
        assert.equal(outside, 0);
        await browser.picture(page, `overview-${name}`, look);
      },
      settings,
    );
