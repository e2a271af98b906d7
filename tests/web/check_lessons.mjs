// The explorer page's lessons: nudges and ablations, the descriptions of the views, the glossary, the derivations and the
// search. Run by check_pages.mjs.
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import * as browser from "./browser.mjs";
import {
  address,
  column,
  dataOf,
  decoded,
  menu,
  named,
  near,
  nearAll,
  numbers,
  option,
  sum,
  view,
} from "./explorer_views.mjs";
import { explorerData, writeExplorer } from "./make_explorer_data.mjs";
import * as models from "./models.mjs";
import { folder } from "./models.mjs";

// The demo's model with nudges.
const pulled = () => ({ path: models.pulled(), data: dataOf(models.pulled()) });

function written(packed, place, value) {
  const bytes = Buffer.from(packed.data, "base64");
  bytes.writeFloatLE(value, 4 * place);
  packed.data = bytes.toString("base64");
}

// The same data with impossible numbers: the page must show what is in the data.
function faulty() {
  const path = folder("faulty.html");
  const { data } = pulled();
  const { gradients, effects, changes, cuts } = data.nudges;
  const [, outputs, stops] = effects.shape;
  const predicted = decoded(gradients).at(0, 0) * decoded(changes).at(0, 4);
  written(effects, 0 * outputs * stops + 4, -3 * predicted);
  cuts[0].effects[0] = 1234.5;
  writeExplorer(path, data);
  return { path, data };
}

const plain = (name) => () => {
  const path = folder(`lessons-${name}.html`);
  if (!existsSync(path)) writeExplorer(path, explorerData(name));
  return { path, data: dataOf(path) };
};

const check = (name, make, body, settings = {}) =>
  browser.check(`lessons: ${name}`, make, body, { ready: "html[data-ready]", ...settings });

const figure = async (page, name) => (await numbers(page.locator(`[data-pull="${name}"]`)))[0];
const moduleOf = (data, { node }) => data.tape.nodes.find(({ id }) => id === node).module;

// The gradient of a weight or a score according to the attention, not to the nudges.
function attentionGradient(data, place, output) {
  const block = data.attention.find(({ module }) => module === moduleOf(data, place));
  const part = place.kind === "weight" ? "probabilities" : "scores";
  const [, head, row, key] = place.index;
  return decoded(block.gradients[output][part]).at(head, row, key);
}

await check(
  "a nudged weight or score shows the predicted and the true change of the data",
  pulled,
  async ({ page, data }) => {
    const { places, effects, changes } = data.nudges;
    for (const kind of ["weight", "score"]) {
      const all = places.flatMap((place, index) => (place.kind === kind ? [index] : []));
      for (const index of [all[0], all[Math.floor(all.length / 2)], all.at(-1)]) {
        const place = places[index];
        const [, head, row, key] = place.index;
        const module = moduleOf(data, place);
        for (const output of [0, 1]) {
          const hash = `view=nudge&block=${module}&head=${head}&pull=${kind}&output=${output}`;
          await page.evaluate((text) => (location.hash = text), hash);
          await page.locator(`.pull-grid button[data-place="${index}"]`).click();
          const slope = attentionGradient(data, place, output);
          near(await figure(page, "gradient"), slope, `${kind} ${index}: gradient`, 1e-2);
          const block = data.attention.find((one) => one.module === module);
          const values = decoded(block.values[kind === "weight" ? "probabilities" : "scores"]);
          near(await figure(page, "value"), values.at(head, row, key), `${kind} ${index}: value`, 1e-4);
          const slider = page.locator(".pulled input[type=range]");
          await slider.focus();
          await page.keyboard.press("Home");
          for (const stop of [0, 1, 2, null, 3, 4, 5]) {
            const change = stop === null ? 0 : decoded(changes).at(index, stop);
            near(await figure(page, "change"), change, "change");
            const effect = stop === null ? 0 : decoded(effects).at(index, output, stop);
            near(await figure(page, "effect"), effect, `${kind} ${index}: true change`);
            near(await figure(page, "predicted"), slope * change, `${kind} ${index}: predicted`, 1e-2);
            await page.keyboard.press("ArrowRight");
          }
          const dots = await numbers(page.locator('#pull-picture [data-dot="true"]'));
          const row6 = decoded(effects).row(index, output);
          nearAll(dots, [...row6.slice(0, 3), 0, ...row6.slice(3)], "the curve");
        }
      }
    }
  },
);

await check("the gradient predicts the true change if the change is small", pulled, ({ data }) => {
  const { places, effects, changes, gradients } = data.nudges;
  const off = places.map((_, index) => {
    const [down, up] = [2, 3].map((stop) => decoded(effects).at(index, 0, stop));
    const [from, to] = [2, 3].map((stop) => decoded(changes).at(index, stop));
    const slope = decoded(gradients).at(index, 0);
    return Math.abs((up - down) / (to - from) - slope) / Math.abs(slope);
  });
  off.sort((a, b) => a - b);
  assert.ok(off[Math.floor(off.length / 2)] < 0.01, `median ${off[Math.floor(off.length / 2)]}`);
  assert.ok(off[Math.floor(0.9 * off.length)] < 0.2, `nine of ten ${off[Math.floor(0.9 * off.length)]}`);
});

await check("every nudged operation can be selected", pulled, async ({ page, data }) => {
  await view(page, "nudge");
  await option(page, "Nudge", "Any operation");
  const all = data.nudges.places.flatMap((place, index) => (place.kind === "activation" ? [index] : []));
  assert.equal(await page.locator("label.menu", { hasText: "Operation" }).locator("option").count(), all.length);
  for (const index of [all[0], all.at(-1)]) {
    await menu(page, "Operation", String(index));
    const node = data.tape.nodes.find(({ id }) => id === data.nudges.places[index].node);
    assert.ok((await page.locator(".pull-side").innerText()).includes(`${node.operation} #${node.id}`));
    near(await figure(page, "gradient"), decoded(data.nudges.gradients).at(index, 0), "gradient");
  }
});

await check(
  "ablations of a head are shown with their predicted and their true effect",
  pulled,
  async ({ page, data }) => {
    for (const [module, head] of [
      ["encoder.layers.0.self_attention", 0],
      ["decoder.layers.1.cross_attention", 3],
    ]) {
      await page.evaluate((text) => (location.hash = text), `view=nudge&block=${module}&head=${head}&pull=cut`);
      await page.locator(".cuts h2", { hasText: `${named(data, module)}, head ${head}` }).waitFor();
      const of = data.nudges.cuts.filter((cut) => cut.module === module && cut.head === head);
      assert.equal(of.length, 9);
      nearAll(
        await column(page, "predicted"),
        of.map(({ predicted }) => predicted[0]),
        "predicted",
      );
      nearAll(
        await column(page, "effect"),
        of.map(({ effects }) => effects[0]),
        "effect",
      );
      nearAll(
        await column(page, "moved"),
        of.map(({ moved }) => moved),
        "moved",
      );
      // All weights of the head set to 0: minus the sum of gradient times weight.
      const block = data.attention.find((one) => one.module === module);
      const [p, g] = [block.values, block.gradients[0]].map(({ probabilities }) => decoded(probabilities));
      const all = p.values.length / p.shape[0];
      const terms = Array.from({ length: all }, (_, i) => -p.values[head * all + i] * g.values[head * all + i]);
      assert.ok(Math.abs(of[0].predicted[0] - sum(terms)) < 1e-4 * sum(terms.map(Math.abs)), "the whole head");
    }
  },
);

await check("impossible numbers are shown as they are, and reported to differ", faulty, async ({ page, data }) => {
  const [, head] = data.nudges.places[0].index;
  const module = moduleOf(data, data.nudges.places[0]);
  const hash = `view=nudge&block=${module}&head=${head}&pull=weight&place=0&stop=5`;
  await page.evaluate((text) => (location.hash = text), hash);
  await page.locator(".pulled .verdict", { hasText: "not even predict the direction" }).waitFor();
  near(await figure(page, "effect"), -3 * (await figure(page, "predicted")), "the fault");
  await option(page, "Nudge", "Ablate a head");
  near((await column(page, "effect"))[0], 1234.5, "the fault of a cut");
});

await check(
  "a page without nudges has no Nudge view, and its address opens another view",
  plain("small"),
  async ({ page }) => {
    assert.equal(await page.locator("nav a[data-view=nudge]").count(), 0);
    await page.evaluate(() => (location.hash = "view=nudge&place=3"));
    await page.locator("#overview-picture").waitFor();
  },
);

await check("every view has a description, a suggestion and derivations", pulled, async ({ page }) => {
  for (const link of await page.locator("nav a").all()) {
    await link.click();
    const name = await link.getAttribute("data-view");
    for (const part of ["see", "attempt"])
      assert.ok((await page.locator(`.about .${part}`).innerText()).length > 30, `${name}: ${part}`);
    assert.ok((await page.locator(".about [data-derivation]").count()) > 0, name);
  }
});

await check("derivations and the glossary open and close, and every formula is rendered", pulled, async ({ page }) => {
  const opened = new Set();
  for (const name of ["neuron", "tape", "softmax", "layernorm"]) {
    await view(page, name);
    for (const button of await page.locator(".about [data-derivation]").all()) {
      await button.click();
      const sheet = page.locator("dialog.sheet");
      const text = await sheet.innerText();
      opened.add(await button.getAttribute("data-derivation"));
      assert.ok(text.includes("Backward") && text.length > 800, text.slice(0, 80));
      assert.ok(!/[\\$`]/.test(text), `not rendered: ${/.{20}[\\$`].{20}/s.exec(text)?.[0]}`);
      assert.ok((await sheet.locator("math").count()) > 4);
      await page.keyboard.press("Escape");
    }
  }
  assert.deepEqual([...opened].sort(), ["attention", "cross_entropy", "embedding", "layer_norm", "linear", "softmax"]);
  await page.getByRole("button", { name: "Glossary" }).click();
  assert.ok((await page.locator(".glossary dt").count()) > 20);
  assert.equal(await page.locator(".glossary dt").count(), await page.locator(".glossary dd").count());
  await page.locator(".sheet").getByRole("button", { name: "Close" }).click();
  assert.equal(await page.locator("dialog[open]").count(), 0);
});

await check("the search finds modules, operations and leaves", pulled, async ({ page, data }) => {
  const box = page.getByRole("searchbox");
  await box.fill("cross_attention softmax");
  const found = await page.locator(".found button").allInnerTexts();
  const softmaxes = data.tape.nodes.filter(
    ({ operation, module }) => operation === "softmax" && module.endsWith("cross_attention"),
  );
  assert.deepEqual(
    found,
    softmaxes.map(({ id }, block) => `operation softmax #${id} in Decoder block ${block + 1}, cross-attention`),
  );
  await page.keyboard.press("Enter");
  assert.equal((await address(page)).node, String(softmaxes[0].id));
  await box.fill("query.weight layers.1 cross");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  const leaf = data.tape.leaves.findIndex(({ name }) => name === "decoder.layers.1.cross_attention.query.weight");
  assert.equal((await address(page)).leaf, String(leaf));
  await box.fill("no such thing");
  assert.ok((await page.locator(".found").innerText()).includes("Nothing"));
  await page.keyboard.press("Escape");
  assert.equal(await page.locator(".found").isVisible(), false);
});

const scenes = {
  nudge: "#view=nudge&kind=cross",
  "nudge-operation": "#view=nudge&pull=activation",
  "nudge-cuts": "#view=nudge&pull=cut&kind=cross",
};
for (const [look, settings] of Object.entries(browser.looks))
  for (const [name, hash] of Object.entries(scenes))
    await check(
      `nothing is wider than the window: ${name}, ${look}`,
      pulled,
      async ({ page }) => {
        assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
        await browser.picture(page, `lessons-${name}`, look);
      },
      { hash, ...settings },
    );
