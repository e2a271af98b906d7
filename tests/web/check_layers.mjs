// The views of one row of a layer: the rows that the page stores, and the note about those that it does not. Run by
// check_pages.mjs.
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import * as browser from "./browser.mjs";
import { address, column, dataOf, decoded, menu, named, nearAll, numbers, view } from "./explorer_views.mjs";
import { explorerData, writeExplorer } from "./make_explorer_data.mjs";
import { folder, run, words } from "./models.mjs";

// A page of the demo's model for `count` numbers of three tokens each.
const page =
  (name, count, ...options) =>
  () => {
    const path = folder(`layers-${name}.html`);
    const texts = [
      "--text",
      "dreiundvierzigtausend ".repeat(count).trim(),
      "--text-b",
      "forty-three ".repeat(count).trim(),
    ];
    if (!existsSync(path)) run("inspect", "--model", words(), ...texts, ...options, "--out", path);
    return { path, data: dataOf(path) };
  };
const first = "encoder.layers.0.feed_forward.activation";

const check = (name, make, body) => browser.check(`layers: ${name}`, make, body, { ready: "html[data-ready]" });

const kept = ({ input }) => input.shape[0];
const options = (page) =>
  page
    .locator("label.menu", { hasText: "Row" })
    .locator("option")
    .evaluateAll((all) => all.map(({ disabled, textContent }) => ({ disabled, text: textContent })));
const notes = (page) => page.locator("#view .missing").allTextContents();

// The views of layers, each with the legend of its drop-down list.
const lists = [
  ["layernorm", "LayerNorm", "layer_norms"],
  ["activation", "Activation", "activations"],
];

await check("every row of a sentence can be selected", page("sentence", 6), async ({ page, data }) => {
  assert.deepEqual(
    data.texts.map(({ tokens }) => tokens.length),
    [19, 19],
  );
  for (const [name, legend, list] of lists) {
    await view(page, name);
    for (const layer of data[list]) {
      await menu(page, legend, layer.module);
      const { tokens } = data.texts[layer.text];
      const rows = await options(page);
      assert.equal(rows.length, tokens.length, layer.module);
      assert.ok(rows.every(({ disabled }) => !disabled) && (await notes(page)).length === 0, layer.module);
    }
    const layer = data[list].at(-1);
    const last = kept(layer) - 1;
    await menu(page, "Row", String(last));
    const shown = name === "layernorm" ? "recorded" : "dh";
    const sizes = (values) => values.map(Math.abs).sort((a, b) => a - b);
    const expected = decoded(layer.gradient_input[0]).row(last);
    nearAll(sizes(await column(page, shown)), sizes(expected), `${layer.module}, row ${last}`, 1e-5);
    assert.equal(await page.locator(".verdict.good").count(), 1, await page.locator(".verdict").innerText());
  }
});

await check(
  "missing rows are described, with the option that stores them",
  page("long", 21),
  async ({ page, data }) => {
    for (const [name, legend, list] of lists) {
      await view(page, name);
      for (const layer of [data[list][0], data[list].at(-1)]) {
        const { module, rows } = layer;
        assert.ok(rows === 64 && kept(layer) >= 4 && kept(layer) < 64, `${module}: ${kept(layer)} of ${rows}`);
        await menu(page, legend, module);
        const words = `The page stores the first ${kept(layer)} of ${rows} rows of this layer. Use --detail ${module} to store all of it.`;
        assert.deepEqual(await notes(page), [words]);
        const shown = await options(page);
        assert.deepEqual(
          shown.map(({ disabled }) => disabled),
          Array.from({ length: rows }, (_, row) => row >= kept(layer)),
        );
        assert.ok(shown[63].text.startsWith("63  ") && shown[63].text.endsWith(", not stored"), shown[63].text);
        await page.locator(name === "layernorm" ? "#layernorm-picture .plot" : ".closeup").focus();
        await page.keyboard.press("ArrowUp");
        assert.equal((await address(page)).row, String(kept(layer) - 1));
      }
    }
    await page.evaluate((module) => (location.hash = `view=activation&block=${module}&row=40`), first);
    await page.locator(".closeup h2", { hasText: `${named(data, first)}, row 0` }).waitFor();
  },
);

await check("--detail stores all rows of a layer", page("detail", 21, "--detail", first), async ({ page, data }) => {
  for (const layer of data.activations) {
    await page.evaluate((module) => (location.hash = `view=activation&block=${module}`), layer.module);
    await page.locator(".closeup h2", { hasText: named(data, layer.module) }).waitFor();
    const whole = layer.module === first;
    assert.equal(kept(layer) === 64, whole);
    assert.equal((await notes(page)).length, whole ? 0 : 1, layer.module);
    assert.equal((await options(page)).filter(({ disabled }) => disabled).length, 64 - kept(layer), layer.module);
  }
  await page.evaluate((module) => (location.hash = `view=activation&block=${module}&row=63`), first);
  await page.locator(".closeup h2", { hasText: `${named(data, first)}, row 63` }).waitFor();
  const recorded = decoded(data.activations[0].gradient_input[0]).row(63);
  assert.ok(recorded.some((value) => value !== 0));
  const found = (await numbers(page.locator('td[data-column="recorded"]'))).sort((a, b) => a - b);
  nearAll(
    found,
    recorded.sort((a, b) => a - b),
    "recorded",
  );
});

// The made-up page, with more rows in each layer than it stores.
function cut() {
  const path = folder("layers-cut.html");
  const data = explorerData("small");
  for (const list of ["layer_norms", "rms_norms", "activations", "rotaries"])
    for (const layer of data[list]) layer.rows += 5;
  writeExplorer(path, data);
  return { path, data };
}
await check("each kind of layer describes its missing rows", cut, async ({ page, data }) => {
  const views = { layer_norms: "layernorm", rms_norms: "layernorm", activations: "activation", rotaries: "rotary" };
  for (const [list, name] of Object.entries(views))
    for (const layer of data[list]) {
      await page.evaluate((hash) => (location.hash = hash), `view=${name}&block=${layer.module}`);
      await page.locator("#view h2", { hasText: named(data, layer.module) }).waitFor();
      const [words] = await notes(page);
      assert.ok(
        words?.includes(`${layer.rows - 5} of ${layer.rows} rows`) && words.includes(`--detail ${layer.module} `),
        words,
      );
    }
});
