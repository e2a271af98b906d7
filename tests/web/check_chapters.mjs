// The chapters of the explorer's tour: every step of several models shows a number that the page shows at the outlined
// place, and its formula holds; chapters can be left and continued. Run by check_pages.mjs.
import assert from "node:assert/strict";
import { cpSync, existsSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import * as browser from "./browser.mjs";
import { address, dataOf, near } from "./explorer_views.mjs";
import { explorerData, writeExplorer } from "./make_explorer_data.mjs";
import * as models from "./models.mjs";
import { folder } from "./models.mjs";

const fixtures = join(dirname(fileURLToPath(import.meta.url)), "../fixtures");

// The page of a test model with a matching tokenizer.
function inspected(name, tokenizer, ...words) {
  const model = folder(`chapters-${name}`);
  const path = folder(`chapters-${name}.html`);
  if (!existsSync(model)) cpSync(join(fixtures, "commands", name), model, { recursive: true });
  const files = join(fixtures, "tokenizers", tokenizer);
  for (const file of readdirSync(files)) cpSync(join(files, file), join(model, file));
  if (!existsSync(path)) models.run("inspect", "--model", model, ...words, "--out", path);
  return path;
}

function image() {
  const path = folder("chapters-image.html");
  const model = join(fixtures, "hugging_face/vit_classifier");
  if (!existsSync(path)) models.run("inspect", "--model", model, "--image", join(model, "image.npy"), "--out", path);
  return path;
}

function generated(name) {
  const path = folder(`chapters-${name}.html`);
  if (!existsSync(path)) writeExplorer(path, explorerData(name));
  return path;
}

const pages = {
  demo: () => join(models.words(), "explorer.html"),
  translator: models.pulled,
  gpt: () => inspected("writer", "gpt2", "--text", "one two three"),
  classifier: () => inspected("classifier", "bert", "--text", "one two", "--text-b", "two"),
  image,
  large: () => generated("large"),
  function: () => generated("function"),
};
const of = (name) => () => ({ path: pages[name](), data: dataOf(pages[name]()) });
const check = (name, make, body, settings = {}) =>
  browser.check(`chapters: ${name}`, make, body, { ready: "html[data-ready]", ...settings });

const press = (page, name) => page.locator(".tour").getByRole("button", { name, exact: true }).click();
const next = (page) => page.locator(".tour .go").click();
const title = (page) => page.locator(".tour-title").innerText();
// A click may return before the page has handled it. The outline follows in the next frame.
const settled = async (page, before = "") => {
  await page.waitForFunction((text) => document.querySelector(".tour-title")?.innerText !== text, before);
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
};

// The panel's step: its number as a value and in words, the formula before it, and the page's number at the place.
const shown = (page) =>
  page.evaluate(() => {
    // Tokens side by side, and how many more there are.
    const counted = (chips) => {
      const words = [...chips.querySelectorAll("text")].map(({ textContent }) => textContent);
      const all = /^(\d+) image tokens$/.exec(words[0])?.[1];
      return all ? Number(all) : words.length - 1 + Number(words.at(-1).replace("+", ""));
    };
    const [result] = document.querySelectorAll(".tour-check [data-tour=result]");
    const formula = document.createRange();
    formula.setStart(document.querySelector(".tour-check"), 1);
    formula.setEndBefore(result);
    const light = document.querySelector(".spotlight");
    const selector = light.dataset.number;
    const place = document.querySelector(selector.startsWith(".lesson") ? selector : `#view ${selector}`);
    const box = light.getBoundingClientRect();
    const tour = document.querySelector(".tour");
    return {
      words: document.querySelector(".tour-words").innerText,
      results: document.querySelectorAll(".tour-check [data-tour=result]").length,
      value: Number(result.dataset.value),
      text: result.textContent,
      formula: formula.toString(),
      selector,
      place: place?.dataset.value === undefined ? null : Number(place.dataset.value),
      chips: place?.matches(".chips") ? counted(place) : null,
      outline: light.hidden ? null : { top: box.top, bottom: box.bottom, left: box.left, right: box.right },
      panel: tour.getBoundingClientRect().top,
    };
  });

// Evaluates "(0.2 × 3 + 2 more (0.01)) / 4 =" as a reader would; null if the step has no formula.
function evaluated(text) {
  const formula = /(?:^|[:;] |\) )([^:;]*) = $/s.exec(` ${text}`)?.[1];
  if (!formula) return null;
  const sum = formula
    .replace(/.*tell[^=]* = /, "")
    .replace(/ positions?$/, "")
    .replace(/⁻?[⁰¹²³⁴⁵⁶⁷⁸⁹]+/g, (power) =>
      [...power].map((digit) => (digit === "⁻" ? "-" : "⁰¹²³⁴⁵⁶⁷⁸⁹".indexOf(digit))).join(""),
    )
    .replace(/ × 10(-\d+)/g, "e$1")
    .replace(/\d+ more \(([^)]*)\)/g, "($1)")
    .replaceAll("−", "-")
    .replaceAll("×", "*")
    .replace(/√(\d+)/g, "Math.sqrt($1)")
    .replace(/-ln ([\d.]+)/g, "-Math.log($1)")
    .replace(/e\^\(/g, "Math.exp(")
    .replace(/\bmax\(/g, "Math.max(")
    .replace(/(\d)\^\(/g, "$1**(");
  if (!/^[-+*/()., \de]*$/.test(sum.replace(/Math\.(sqrt|log|exp|max)/g, ""))) return null;
  return Function(`return ${sum}`)();
}

// Half a unit of the last digit shown.
function rounding(text) {
  const [digits, power] = text.replace("−", "").split(" × 10");
  const places = digits.split(".")[1]?.length ?? 0;
  const exponent = power
    ? -Number(
        [...power]
          .map((digit) => "⁰¹²³⁴⁵⁶⁷⁸⁹".indexOf(digit))
          .filter((d) => d >= 0)
          .join(""),
      )
    : 0;
  return 0.51 * 10 ** (exponent - places);
}

// Goes through all steps; steps by chapter: their titles.
async function walk(page, each) {
  const chapters = {};
  await page.locator(".begin-tour").click();
  for (let words = ""; ;) {
    await settled(page, words);
    words = await title(page);
    const [, chapter, at, all, name] = /^(.*?) (\d+) of (\d+) (.*)$/.exec(words);
    (chapters[chapter] ??= []).push(name);
    assert.equal(chapters[chapter].length, Number(at), words);
    const step = await shown(page);
    await each({ ...step, title: words });
    const last = (await page.locator(".tour .go").innerText()) === "Finish";
    assert.equal(Number(at) === Number(all), last || (await page.locator(".tour .go").innerText()).startsWith("Next:"));
    if (last) return chapters;
    await next(page);
  }
}

const wanted = {
  demo: { Forward: 11, "The loss": 3, Backward: 13, "An update": 6, "What if": 4 },
  translator: { Forward: 11, "The loss": 3, Backward: 13, "An update": 6, "What if": 4 },
  gpt: { Forward: 11, "The loss": 3, Backward: 13, "An update": 6, "What if": 4 },
  classifier: { Forward: 11, "The loss": 2, Backward: 13, "An update": 6, "What if": 4 },
  image: { Forward: 9, "The loss": 2, Backward: 12, "An update": 6, "What if": 3 },
  large: {},
  function: { "The output": 1, Backward: 2 },
};
for (const [name, counts] of Object.entries(wanted))
  await check(`every number is the page's, and every formula holds: ${name}`, of(name), async ({ page }) => {
    let [formulas, steps] = [0, 0];
    const chapters = await walk(page, (step) => {
      const { words, results, value, text, formula, place, chips, outline, panel, selector } = step;
      ++steps;
      assert.equal(results, 1, step.title);
      assert.ok(outline, `${step.title}: ${selector} is not in the page`);
      near(chips ?? place, value, `${step.title}: ${selector}`, 1e-5);
      const written = Number(
        text
          .replaceAll("−", "-")
          .replace(/ × 10(.*)/, (_, power) => `e-${[...power.slice(1)].map((d) => "⁰¹²³⁴⁵⁶⁷⁸⁹".indexOf(d)).join("")}`),
      );
      assert.ok(Math.abs(written - value) <= rounding(text), `${step.title}: ${text} is not ${value}`);
      const worked = evaluated(formula);
      if (worked !== null) {
        ++formulas;
        assert.ok(
          Math.abs(worked - value) <= Math.max(0.015 * Math.abs(value), 2 * rounding(text)),
          `${step.title}: ${formula} ${worked}, not ${value}`,
        );
      }
      assert.ok(
        outline.top >= 0 && outline.bottom <= panel + 6,
        `${step.title}: from ${outline.top} to ${outline.bottom}`,
      );
      assert.ok(!/written without|--nudges/.test(words), words);
      assert.ok(words.split(/[.?!] /).length <= 3, words);
    });
    const found = Object.fromEntries(Object.entries(chapters).map(([chapter, titles]) => [chapter, titles.length]));
    if (Object.keys(counts).length > 0) assert.deepEqual(found, counts);
    else assert.ok(steps > 15);
    assert.ok(formulas >= 0.45 * steps || name === "function", `${formulas} formulas in ${steps} steps`);
  });

const { narrow } = browser.looks;
await check(
  "a phone shows the place of every step above the panel, with large controls",
  of("translator"),
  async ({ page }) => {
    await walk(page, async ({ title: at, outline, panel }) => {
      assert.ok(outline.top >= -6 && outline.top < panel, `${at}: from ${outline.top}, the panel from ${panel}`);
      assert.ok(outline.right <= 396 && outline.left >= -6, `${at}: ${outline.left} to ${outline.right}`);
      assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 390, at);
      const low = await page
        .locator(".tour :is(button, .word), .lesson label")
        .evaluateAll((all) =>
          all.filter((element) => element.getClientRects()[0]?.height < 39.5).map((element) => element.outerHTML),
        );
      assert.deepEqual(low, [], at);
    });
  },
  narrow,
);

await check("chapters are left with Escape and continued where they were left", of("translator"), async ({ page }) => {
  await page.locator(".begin-tour").click();
  for (let step = 0; step < 5; ++step) await page.keyboard.press("ArrowRight");
  await page.keyboard.press("ArrowLeft");
  assert.match(await title(page), /^Forward 5 of/);
  await page.reload();
  assert.match(await title(page), /^Forward 5 of/);
  await page.keyboard.press("Escape");
  assert.equal(await page.locator(".tour").isVisible(), false);
  assert.equal(await page.locator(".spotlight").isVisible(), false);
  assert.deepEqual([(await address(page)).tour, (await address(page)).left], [undefined, "4"]);
  await page.locator("nav a[data-view=output]").click();
  assert.equal((await address(page)).left, "4");
  assert.equal(await page.locator(".begin-tour").innerText(), "Continue the tour");
  await page.locator(".begin-tour").click();
  assert.match(await title(page), /^Forward 5 of/);
  // Another visit, with an address that does not tell.
  await page.goto(page.url().split("#")[0]);
  await page.reload();
  await page.locator(".begin-tour", { hasText: "Continue the tour" }).click();
  assert.match(await title(page), /^Forward 5 of/);
  await page.goBack();
});

await check("a list of chapters shows the progress and opens a chapter", of("translator"), async ({ page }) => {
  await page.locator(".begin-tour").click();
  const chapters = page.locator(".chapters button");
  assert.equal(await chapters.count(), 5);
  await chapters.nth(2).click();
  assert.match(await title(page), /^Backward 1 of/);
  assert.equal(await chapters.nth(2).getAttribute("aria-current"), "step");
  assert.equal(await chapters.nth(2).getAttribute("aria-label"), "Chapter 3: Backward, 1 of 13 steps seen");
  await next(page);
  await chapters.nth(0).click();
  assert.match(await title(page), /^Forward 2 of/, "its first step that was not seen");
  await chapters.nth(1).click();
  for (let step = 0; step < 3; ++step) await next(page);
  assert.ok((await chapters.nth(1).innerText()).includes("✓"));
  assert.match(await title(page), /^Backward 1 of/);
});

await check("the chapters work where localStorage throws", of("gpt"), async ({ page }) => {
  await page.addInitScript(() =>
    Object.defineProperty(window, "localStorage", {
      get() {
        throw new DOMException("denied", "SecurityError");
      },
    }),
  );
  await page.reload();
  await page.locator(".begin-tour").click();
  await next(page);
  await press(page, "Leave");
  await page.locator(".begin-tour", { hasText: "Continue" }).click();
  assert.match(await title(page), /^Forward 2 of/);
});

await check("a word opens the glossary at its explanation", of("translator"), async ({ page }) => {
  await page.locator(".begin-tour").click();
  const terms = await page.evaluate(() => document.querySelectorAll(".glossary dt").length);
  assert.equal(terms, 0);
  const known = new Set();
  await page.locator(".tour .word").first().focus();
  await page.keyboard.press("Enter");
  assert.equal(await page.locator(".glossary .asked").innerText(), "token");
  for (const word of await page.locator(".glossary dt").allInnerTexts()) known.add(word);
  await page.keyboard.press("Escape");
  assert.ok(await page.locator(".tour").isVisible(), "Escape closed the glossary only");
  for (;;) {
    for (const word of await page
      .locator(".tour [data-term]")
      .evaluateAll((all) => all.map(({ dataset }) => dataset.term)))
      assert.ok(known.has(word), word);
    if ((await page.locator(".tour .go").innerText()) === "Finish") break;
    await next(page);
  }
  for (const word of [
    "tensor",
    "gradient",
    "logit",
    "softmax",
    "residual",
    "LayerNorm",
    "cross-entropy",
    "head",
    "query",
  ])
    assert.ok(known.has(word), word);
});

await check(
  "the learning rate changes the update, its sentence and its prediction",
  of("translator"),
  async ({ page }) => {
    await page.locator(".begin-tour").click();
    await page.locator(".chapters button").nth(3).click();
    await next(page);
    const value = (name) => page.locator(`.lesson [data-lesson="${name}"]`).getAttribute("data-value").then(Number);
    const [before, gradient, squares] = [await value("before"), await value("gradient"), await value("squares")];
    for (const rate of [1, 0.01]) {
      await page.locator(".lesson label", { hasText: new RegExp(`^${rate}$`) }).click();
      await settled(page);
      near(await value("after"), before - rate * gradient, "after");
      near(await value("predicted"), -rate * squares, "predicted");
      const { value: told, formula } = await shown(page);
      near(told, before - rate * gradient, "in the sentence");
      assert.ok(formula.includes(` ${rate} `), formula);
    }
  },
);

await check(
  "the sentence is announced, and nothing moves for readers who want no motion",
  of("gpt"),
  async ({ page }) => {
    await page.locator(".begin-tour").click();
    await page.evaluate(() => (window.told = document.querySelector(".tour-words[aria-live=polite]")));
    await next(page);
    assert.ok(
      await page.evaluate(() => window.told.isConnected && window.told === document.querySelector(".tour-words")),
    );
    assert.equal(
      await page.evaluate(() => getComputedStyle(document.querySelector(".spotlight")).animationName),
      "none",
    );
  },
  { reducedMotion: "reduce" },
);

for (const [look, settings] of Object.entries({
  ...browser.looks,
  desktop: { viewport: { width: 1440, height: 900 } },
  tablet: { viewport: { width: 1024, height: 768 } },
}))
  for (const step of [0, 6, 20, 28, 33])
    await check(
      `nothing is wider than the window: step ${step}, ${look}`,
      of("translator"),
      async ({ page }) => {
        await page.locator(".begin-tour").click();
        for (let at = 0; at < step; ++at) await page.keyboard.press("ArrowRight");
        await settled(page);
        assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
        await browser.picture(page, `chapters-${step}`, look);
      },
      settings,
    );
