// The explorer page's layout on a desktop and on a phone: nothing is cut off, and nothing overlaps. Run by check_pages.mjs.
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import * as browser from "./browser.mjs";
import { column, dataOf, decoded, named, scaled, view } from "./explorer_views.mjs";
import { explorerData, writeExplorer } from "./make_explorer_data.mjs";
import * as models from "./models.mjs";
import { boxOf } from "./pointer.mjs";

const pulled = () => ({ path: models.pulled(), data: dataOf(models.pulled()) });
const made = (name) => () => {
  const path = models.folder(`layout-${name}.html`);
  if (!existsSync(path)) writeExplorer(path, explorerData(name));
  return { path, data: dataOf(path) };
};
const phone = browser.looks.narrow;

const check = (name, make, body, settings = {}) =>
  browser.check(`layout: ${name}`, make, body, { ready: "html[data-ready]", ...settings });

// Bounding boxes and texts of elements.
const boxes = (page, selector) =>
  page.locator(selector).evaluateAll((all) =>
    all.map((element) => {
      const { left, right, top, bottom } = element.getBoundingClientRect();
      return { left, right, top, bottom, text: element.textContent };
    }),
  );

for (const show of ["values", "gradients"])
  await check(
    `a phone shows all numbers of a query's ${show}`,
    pulled,
    async ({ page }) => {
      const figures = await boxes(page, "#neuron-picture .figure-text");
      assert.ok(figures.length >= 8);
      for (const { left, right, text } of [...figures, ...(await boxes(page, "#neuron-picture .field"))])
        assert.ok(left >= 0 && right <= 390, `${text}: ${left} to ${right}`);
      const names = await boxes(page, "#neuron-picture .difference");
      for (const { right, text } of names) assert.ok(right <= 390, text);
    },
    { ...phone, hash: `#view=neuron&kind=cross&show=${show}` },
  );

await check(
  "the headings above the lines do not overlap",
  pulled,
  async ({ page }) => {
    const row = (await boxes(page, "#head-picture svg > g > text")).filter(({ text }) =>
      /^(queries|keys)$| (→|attends to) /.test(text),
    );
    row.sort((a, b) => a.left - b.left);
    // Long token names leave less room for the middle heading.
    assert.match(row.map(({ text }) => text).join("|"), /^queries\|target → s[a-z]*…?\|keys$/);
    for (let i = 1; i < row.length; ++i)
      assert.ok(row[i - 1].right < row[i].left, `${row[i - 1].text} and ${row[i].text}`);
  },
  { ...phone, hash: "#view=head&kind=cross" },
);

// Gradients as small as those of a very confident head.
function faint() {
  const path = models.folder("layout-faint.html");
  const data = explorerData("small");
  for (const { gradients } of data.attention)
    for (const packed of [gradients[0].scores, gradients[0].key])
      scaled(packed, 1.77e-5 / Math.max(...decoded(packed).values));
  writeExplorer(path, data);
  return { path, data };
}
await check(
  "the ends of a legend do not overlap",
  faint,
  async ({ page, data }) => {
    for (const { module } of data.attention) {
      await page.evaluate((hash) => (location.hash = hash), `view=neuron&show=gradients&block=${module}`);
      await page.locator("#neuron-picture h2", { hasText: named(data, module) }).waitFor();
      const legends = await page.locator("#neuron-picture .legend").count();
      assert.equal(legends, 2);
      for (let legend = 0; legend < legends; ++legend) {
        const [, ...ends] = await boxes(page, `#neuron-picture .legend >> nth=${legend} >> text`);
        ends.sort((a, b) => a.left - b.left);
        for (let i = 1; i < ends.length; ++i)
          assert.ok(ends[i - 1].right + 4 < ends[i].left, `${module}: ${ends[i - 1].text} and ${ends[i].text}`);
      }
    }
  },
  { hash: "#view=neuron&show=gradients" },
);

await check(
  "a phone shows the correct token of each position in full, and no map above the tape",
  pulled,
  async ({ page, data }) => {
    const { tokens } = data.texts[1];
    const shown = await page.locator("#output-picture svg > g > text").allTextContents();
    for (const token of tokens.slice(1))
      assert.ok(
        shown.some((text) => text.startsWith(`${token} 0.`)),
        `${token}: ${shown}`,
      );
    await view(page, "tape");
    assert.equal(await page.locator(".minimap").isVisible(), false);
  },
  { ...phone, hash: "#view=output" },
);

// On a phone, the page is as wide as the window, what each view shows starts on the first screen, and all controls are
// large enough for fingers.
for (const [name, make] of Object.entries({ pulled, small: made("small") }))
  await check(
    `a phone shows the first picture on the first screen, with large controls: ${name}`,
    make,
    async ({ page }) => {
      const [title] = await boxes(page, "#overview-picture svg");
      assert.ok(title.top < 480, `the overview starts at ${title.top}`);
      const names = await page.locator("nav a").evaluateAll((all) => all.map(({ dataset }) => dataset.view));
      for (const one of names) {
        await view(page, one);
        await page.evaluate(() => window.scrollTo(0, 0));
        assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 390, one);
        const tops = await boxes(page, "#view :is(.plot svg, table)");
        const first = Math.min(...tops.map(({ top }) => top));
        assert.ok(first < 620, `${one} starts at ${first}`);
        const low = await page
          .locator("button, select, summary, nav a, .choice label, input:is([type=search], [type=range])")
          .evaluateAll((all) =>
            all
              .filter((element) => element.getClientRects().length > 0 && !element.closest("dialog"))
              .map((element) => [element.getBoundingClientRect().height, element.outerHTML.slice(0, 80)])
              .filter(([height]) => height < 39.5),
          );
        assert.deepEqual(low, [], one);
      }
      await view(page, "overview");
      for (const { top, bottom, text } of await boxes(page, "#overview-picture .part > rect"))
        assert.ok(bottom - top >= 39.5, text);
    },
    phone,
  );

// A page of 16 tokens with a long last one.
function longNames() {
  const [whole, path] = ["layout-sixteen.html", "layout-long-names.html"].map(models.folder);
  if (!existsSync(whole))
    models.run(
      "inspect",
      "--model",
      models.words(),
      "--text",
      "dreiundvierzigtausend ".repeat(5).trim(),
      "--out",
      whole,
    );
  const data = dataOf(whole);
  data.texts[0].tokens[data.texts[0].tokens.length - 1] = "Weltanschauung";
  writeExplorer(path, data);
  return { path, data };
}
await check(
  "slanted names stay within their picture",
  longNames,
  async ({ page }) => {
    const picture = page.locator(".jacobian .plot");
    const { x, width } = await boxOf(picture);
    const names = await boxes(page, ".jacobian .axis-name");
    assert.ok(names.some(({ text }) => text === "Weltanschauung"));
    for (const { right, text } of names) assert.ok(right <= x + width + 6, `${text}: ${right} of ${x + width}`);
  },
  { ...phone, hash: "#view=softmax" },
);

// The first query of causal attention sees a single key, with gradients of 0.
await check(
  "a causal attention starts with a query that has a gradient",
  made("small"),
  async ({ page, data }) => {
    const block = data.attention.find(({ kind }) => kind === "decoder self");
    assert.ok((await page.locator(".closeup h2").innerText()).startsWith(named(data, block.module)));
    assert.ok((await column(page, "recorded")).some((value) => value !== 0));
    const [shown] = await page
      .locator("label.menu", { hasText: "Row" })
      .locator("select")
      .evaluateAll((all) => all.map(({ value }) => value));
    assert.notEqual(shown, "0");
  },
  { hash: "#view=softmax&kind=decoder self" },
);

// Mean brightness of a part of the window, 0 to 255.
const brightness = async (page, clip) => {
  const shot = (await page.screenshot({ clip })).toString("base64");
  return page.evaluate(async (data) => {
    const image = new Image();
    image.src = `data:image/png;base64,${data}`;
    await image.decode();
    const canvas = Object.assign(document.createElement("canvas"), { width: image.width, height: image.height });
    const context = canvas.getContext("2d");
    context.drawImage(image, 0, 0);
    const pixels = context.getImageData(0, 0, image.width, image.height).data;
    return pixels.reduce((sum, value) => sum + value, 0) / pixels.length;
  }, shot);
};
await check(
  "a table wider than its box has a shadow at the edge until it is scrolled to the end",
  pulled,
  async ({ page }) => {
    const table = page.locator("table.numbers >> nth=0");
    await table.evaluate((element) => element.closest(".scroll").scrollIntoView());
    const edge = () =>
      table.evaluate((element) => {
        const { right, bottom } = element.closest(".scroll").getBoundingClientRect();
        return { x: right - 2, y: bottom - 16, width: 2, height: 12 }; // next to the sums, which have no tint
      });
    const before = await brightness(page, await edge());
    await table.evaluate((element) => (element.closest(".scroll").scrollLeft = 1e4));
    const after = await brightness(page, await edge());
    assert.ok(after > before + 20, `${before}, at the end ${after}`);
  },
  { ...phone, hash: "#view=softmax" },
);

for (const [key, width] of [
  [3, 390],
  [2, 300],
])
  await check(
    `a wide table scrolls to the selected element and cuts no number: key ${key} at ${width} pixels`,
    pulled,
    async ({ page, data }) => {
      const places = data.nudges.places.flatMap((place, index) => (place.kind === "weight" ? [[index, place]] : []));
      const [last] = places.filter(([, { index }]) => index[1] === 0 && index[3] === key).at(-1);
      const { node } = data.nudges.places[last];
      const { module } = data.tape.nodes.find(({ id }) => id === node);
      await page.evaluate(
        (hash) => (location.hash = hash),
        `view=nudge&block=${module}&head=0&pull=weight&place=${last}`,
      );
      await page.locator(`[data-place="${last}"][aria-pressed=true]`).waitFor();
      const [chosen] = await boxes(page, `[data-place="${last}"]`);
      const [seen] = await boxes(page, ".pull-side .scroll");
      const row = page.locator(".pull-side tbody tr").filter({ has: page.locator(`[data-place="${last}"]`) });
      const [names, ...cells] = await row.locator("th, td").evaluateAll((all) =>
        all.map((cell) => ({
          left: cell.getBoundingClientRect().left + Number.parseFloat(getComputedStyle(cell).paddingLeft),
          right: cell.getBoundingClientRect().right,
        })),
      );
      assert.ok(chosen.right <= seen.right && chosen.left >= names.right - 1, `${chosen.left} to ${chosen.right}`);
      if (width === 390) return; // less than a column is hidden
      for (const { left, right } of cells)
        assert.ok(left >= names.right - 1 || right <= names.right + 1, `cut by the names: ${left} to ${right}`);
    },
    { viewport: { width, height: 844 } },
  );
