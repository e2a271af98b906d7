// The page that `tapeformer report` writes, made from made-up logs. Run by check_pages.mjs.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import * as browser from "./browser.mjs";
import { hostile, kinds, writeLog } from "./make_log.mjs";
import { boxOf } from "./pointer.mjs";

// Checks the report of a made-up log, optionally compared with others.
function check(name, kind, body, { others = [], ...settings } = {}) {
  const log = (one) => {
    const folder = join(browser.work, one);
    const lines = kinds[one]();
    writeLog(folder, lines);
    return { folder, lines };
  };
  const make = () => {
    const { folder, lines } = log(kind);
    const beside = others.map(log);
    const words = ["report", "--model", folder, ...beside.flatMap((other) => ["--with", other.folder])];
    return { lines, beside, path: execFileSync(browser.command, words, { encoding: "utf8" }).trim() };
  };
  return browser.check(name, make, body, settings);
}

const number = (text) => {
  const match = /^-?[\d,]*\.?\d+(?:e[+-]?\d+)?/.exec(text.trim());
  assert.ok(match, `"${text}" is a number`);
  const unit = { k: 1e3, M: 1e6, B: 1e9 }[text.trim().slice(match[0].length)] ?? 1;
  return Number(match[0].replaceAll(",", "")) * unit;
};
const near = (actual, expected, what, tolerance = 6e-3) =>
  assert.ok(
    Math.abs(actual - expected) <= tolerance * Math.abs(expected) + 5e-5,
    `${what}: the page shows ${actual}, the log has ${expected}`,
  );
const value = async (page, chart, index = 0) => number(await page.locator(`#${chart} .value`).nth(index).innerText());
const stepShown = async (page) => number(/step ([\d,]+)/.exec(await page.locator(".where").innerText())[1]);
const figure = (page, name) =>
  page
    .locator(".figure", { has: page.getByText(name, { exact: true }) })
    .locator("dd")
    .first()
    .innerText();
const of = (lines, event) => lines.filter((line) => line.event === event);

await check(
  "the curves show the log's values at the pointer and at the keyboard cursor",
  "translation",
  async ({ page, lines }) => {
    const steps = new Map(of(lines, "step").map((line) => [line.step, line]));
    const plot = page.locator("#loss .plot");
    const box = await boxOf(plot);
    for (const share of [0.1, 0.35, 0.62, 0.97]) {
      await page.mouse.move(box.x + share * box.width, box.y + box.height / 2);
      const step = await stepShown(page);
      const line = steps.get(step);
      near(await value(page, "loss"), line.loss, `loss at ${step}`);
      near(await value(page, "lr"), line.lr, `learning rate at ${step}`);
      near(await value(page, "grad-norm"), line.grad_norm, `gradient norm at ${step}`);
      near(await value(page, "speed"), line.tokens_per_second, `speed at ${step}`);
      const evals = of(lines, "eval");
      const closest = evals.reduce((a, b) => (Math.abs(b.step - step) < Math.abs(a.step - step) ? b : a));
      near(await value(page, "loss", 2), closest.loss, `validation loss near ${step}`);
      near(await value(page, "metric-bleu"), closest.metrics.bleu, `BLEU near ${step}`);
    }
    await page.mouse.move(2, 2);
    await plot.focus();
    await page.keyboard.press("Home");
    assert.equal(await stepShown(page), 2);
    near(await value(page, "loss"), steps.get(2).loss, "the first loss");
    await page.keyboard.press("ArrowRight");
    assert.equal(await stepShown(page), 4);
    await page.keyboard.press("End");
    assert.equal(await stepShown(page), 4000);
    await page.keyboard.press("Escape");
    assert.equal(await page.locator(".where").innerText(), "");
  },
);

await check("the key figures match the log", "translation", async ({ page, lines }) => {
  const evals = of(lines, "eval");
  assert.equal(await figure(page, "Steps"), "4,000");
  assert.equal(await figure(page, "Time"), "26:44");
  near(number(await figure(page, "BLEU")), Math.max(...evals.map(({ metrics }) => metrics.bleu)), "BLEU");
  near(number(await figure(page, "Validation loss")), Math.min(...evals.map(({ loss }) => loss)), "validation loss");
  assert.equal(await figure(page, "Parameters"), "5,221,888");
  assert.equal(await page.locator("h1").innerText(), "Translation · translation");
  assert.match(
    await page.locator(".state").innerText(),
    /^Finished: all steps done · started 2026-01-05 09:30:00 UTC$/,
  );
  assert.equal(await page.locator("#loss .mark.checkpoint").count(), 16);
  assert.equal(await page.locator("#loss .mark.best").count(), 1);
  assert.equal(await page.locator("#loss .mark.resume line").count(), 1);
  assert.equal(
    await page.locator("#loss .mark.warning title").textContent(),
    "Step 1,200: 31 pairs are longer than 256 tokens and were left out",
  );
  await page.locator("#evaluations summary").click();
  assert.equal(await page.locator("#evaluations tbody tr").count(), evals.length);
  near(
    number(await page.locator("#evaluations tbody tr").nth(3).locator("td").last().innerText()),
    evals[3].metrics.bleu,
    "BLEU in the table",
  );
  await page.locator("#events summary").click();
  assert.equal(await page.locator("#events li").first().innerText(), "Step 250: checkpoint-250, best so far");
  await page.locator("#options summary").click();
  assert.match(await page.locator("#options").innerText(), /schedule\.peak\s+0\.005/);
});

await check("the loss chart names what applies to the training loss only", "translation", async ({ page }) => {
  const legend = await page.locator("#loss .legend > span").allInnerTexts();
  assert.match(legend[0], /^training \(label smoothing 0\.1, dropout 0\.1\) /);
  assert.match(legend.at(-1), /^smallest possible training loss 1\.2237$/);
  const note = page.locator(".figure", { has: page.getByText("Training loss", { exact: true }) }).locator(".note");
  assert.equal(await note.innerText(), "smoothed, at the end; label smoothing 0.1; dropout 0.1");
  const path = await page.locator("#loss path.curve.floor").getAttribute("d");
  const heights = [...path.matchAll(/,([\d.]+)/g)].map(([, y]) => y);
  assert.ok(heights.length === 2 && heights[0] === heights[1], path);
  assert.equal(
    await page.locator(".key-notes .losses").innerText(),
    "the training loss is computed with label smoothing 0.1 and dropout 0.1; the validation loss is not and can be much lower",
  );
});

await check("shares are percentages and other small numbers plain decimals", "shares", async ({ page }) => {
  const ticks = (chart) => page.locator(`#${chart} .axis.y text`).allTextContents();
  for (const share of ["exact", "f1", "recall_at_1"]) {
    const texts = await ticks(`metric-${share}`);
    assert.ok(texts.length > 1 && texts.every((text) => /^[\d.]+%$/.test(text)), `${share}: ${texts}`);
  }
  const texts = await ticks("metric-distance");
  assert.ok(texts.length > 1 && texts.every((text) => /^0(\.\d+)?$/.test(text)), String(texts));
  for (const chart of ["grad-norm", "speed", "loss", "lr"])
    for (const text of await ticks(chart)) assert.ok(!/[mµn]$/.test(text), `${chart}: ${text}`);
  assert.equal(await page.locator("#loss .floor").count(), 0);
  assert.equal(await page.locator(".key-notes .losses").count(), 0);
  assert.match(await figure(page, "Exact"), /^98\.0%$/);
});

await check("axis, scale and range can be changed", "translation", async ({ page }) => {
  const ticks = (axis) => page.locator(`#loss .axis.${axis} text`).allTextContents();
  await page.locator(".toolbar").getByText("Epoch", { exact: true }).click();
  assert.deepEqual((await ticks("x")).map(Number), [2, 4, 6, 8, 10, 12, 14, 16]);
  await page.locator(".toolbar").getByText("Time", { exact: true }).click();
  assert.ok((await ticks("x")).includes("10:00"));
  assert.equal(await page.locator("#loss .axis.unit").textContent(), "min:s");
  const linear = await ticks("y");
  await page.locator(".toolbar").getByText("Log", { exact: true }).click();
  assert.notDeepEqual(await ticks("y"), linear);
  await page.locator(".toolbar").getByText("Step", { exact: true }).click();
  const box = await boxOf(page.locator("#lr .plot"));
  await page.mouse.move(box.x + 0.4 * box.width, box.y + 50);
  await page.mouse.down();
  await page.mouse.move(box.x + 0.6 * box.width, box.y + 50, { steps: 4 });
  await page.mouse.up();
  const zoomed = (await ticks("x")).map(number);
  assert.ok(Math.min(...zoomed) > 900 && Math.max(...zoomed) < 2600, String(zoomed));
  await page.getByText("Show the whole run").click();
  assert.ok((await ticks("x")).map(number).includes(4000));
});

await check("samples are shown side by side at the selected step", "translation", async ({ page, lines }) => {
  const sets = of(lines, "samples");
  const shown = () =>
    page
      .locator(".samples tbody tr")
      .evaluateAll((rows) => rows.map((row) => [...row.cells].map((cell) => cell.textContent)));
  const expected = (set) => set.samples.map(({ input, reference, output }) => [input, reference, output]);
  assert.deepEqual(await shown(), expected(sets.at(-1)));
  assert.equal(await page.locator("#samples .stepper-label").innerText(), "Step 4,000");
  assert.deepEqual(await page.locator(".samples tbody tr").nth(1).locator("mark").allInnerTexts(), ["soccer"]);
  await page.locator("#samples input").focus();
  await page.keyboard.press("Home");
  assert.deepEqual(await shown(), expected(sets[0]));
  await page.getByLabel("Later").click();
  assert.equal(await page.locator("#samples .stepper-label").innerText(), "Step 500");
});

await check("the confusion matrix shows the counts", "classifier", async ({ page, lines }) => {
  const table = of(lines, "confusion").at(-1);
  const shown = await page
    .locator(".confusion tbody tr")
    .evaluateAll((rows) =>
      rows.map((row) => [...row.querySelectorAll(".cell")].map((cell) => Number(cell.textContent))),
    );
  assert.deepEqual(shown, table.counts);
  const hits = table.counts[1][1];
  const row = table.counts[1].reduce((a, b) => a + b);
  assert.equal(
    await page.locator(".confusion tbody tr").nth(1).locator(".number").nth(2).innerText(),
    `${((100 * hits) / row).toFixed(1)}%`,
  );
  const accuracy = Math.max(...of(lines, "eval").map(({ metrics }) => metrics.accuracy));
  assert.equal(await figure(page, "Accuracy"), `${(100 * accuracy).toFixed(1)}%`);
});

await check(
  "100,000 steps make a small page that opens quickly and keeps every peak",
  "long",
  async ({ page, lines, path, opened }) => {
    assert.ok(statSync(path).size < 1e6, `${statSync(path).size} bytes`);
    assert.ok(opened < 2000, `${opened} ms`);
    console.log(`        ${statSync(path).size} bytes, ${opened} ms`);
    const highest = of(lines, "step").reduce((a, b) => (b.loss > a.loss ? b : a));
    const kept = await page.evaluate(() => JSON.parse(document.getElementById("data").textContent).steps);
    near(kept.loss[kept.step.indexOf(highest.step)], highest.loss, "the highest loss");
    assert.match(await page.locator(".state").innerText(), /^Not finished/);
    await page.locator("#loss .plot").focus();
    await page.keyboard.press("End");
    assert.equal(await stepShown(page), 100000);
  },
);

await check("a run that has just started has a report", "begun", async ({ page }) => {
  assert.equal(await page.locator("main > p").innerText(), "Nothing has been logged yet.");
});

await check(
  "a loss that is not finite is a gap, and an evaluation before the first step is shown",
  "first",
  async ({ page }) => {
    await page.locator("#loss .plot").focus();
    await page.keyboard.press("Home");
    assert.equal(await page.locator("#loss .value").first().innerText(), "–");
    near(await value(page, "loss", 2), 4.2, "validation loss");
    await page.keyboard.press("ArrowRight");
    near(await value(page, "loss"), 4.1, "loss");
    const dot = await page.locator("#loss .dots circle").evaluate((circle) => Number(circle.getAttribute("cx")));
    assert.equal(dot, 52);
  },
);

await check("hostile text is shown as text", "hostile", async ({ page }) => {
  const cell = page.locator(".samples tbody tr").last().locator("td").last();
  assert.equal(await cell.textContent(), hostile.replace("\u0000", "\u2400"));
  assert.ok((await cell.innerText()).includes(`onerror="window.broken=1"`));
  assert.equal(await page.locator("img, main script").count(), 0);
  assert.equal(await page.evaluate(() => window.broken), undefined);
  assert.ok((await page.locator("#warnings li").last().innerText()).includes("</script><img"));
});

await check("the page's content security policy blocks other scripts", "translation", async ({ page }) => {
  const ran = await page.evaluate(() => {
    const script = document.createElement("script");
    script.textContent = "window.ran = true";
    document.body.append(script);
    return "ran" in window;
  });
  assert.equal(ran, false);
  return /Content Security Policy/;
});

// Each value averaged with its neighbors, with weights that halve every halfLife logged steps.
function smoothed(values, halfLife) {
  const known = values.map((value, index) => [value, index]).filter(([value]) => value !== null);
  return values.map((_, at) => {
    const parts = known.map(([value, index]) => [value, 2 ** (-Math.abs(index - at) / halfLife)]);
    return (
      parts.reduce((sum, [value, weight]) => sum + value * weight, 0) /
      parts.reduce((sum, [, weight]) => sum + weight, 0)
    );
  });
}

await check("the smoothing can be selected and states its half-life", "translation", async ({ page, lines }) => {
  const steps = of(lines, "step");
  const losses = steps.map(({ loss }) => loss);
  const spacing = (steps.at(-1).step - steps[0].step) / (steps.length - 1);
  await page.locator("#loss .plot").focus();
  await page.keyboard.press("Home");
  for (let i = 0; i < 30; ++i) await page.keyboard.press("ArrowRight");
  const at = steps.findIndex(({ step }) => step === 62);
  const seen = new Set();
  for (const [label, least, part] of [
    ["Light", 1, 1000],
    ["Medium", 4, 200],
    ["Strong", 16, 40],
  ]) {
    await page.locator(".toolbar").getByText(label, { exact: true }).click();
    await page.locator("#loss .plot").focus();
    await page.keyboard.press("Home");
    for (let i = 0; i < 30; ++i) await page.keyboard.press("ArrowRight");
    assert.equal(await stepShown(page), 62);
    const halfLife = Math.max(least, steps.length / part);
    near(await value(page, "loss", 1), smoothed(losses, halfLife)[at], label, 2e-3);
    const reach = Math.round(Math.max(1, halfLife * spacing));
    assert.equal(await page.locator(".smoothing").innerText(), `smoothed with a half-life of ${reach} steps`);
    seen.add(await page.locator("#loss path.curve.train").getAttribute("d"));
  }
  await page.locator(".toolbar").getByText("None", { exact: true }).click();
  assert.equal(await page.locator("#loss .value").nth(1).innerText(), "–");
  assert.equal(await page.locator(".smoothing").innerText(), "not smoothed");
  assert.equal(seen.size, 3);
});

await check(
  "several runs share a chart, each with its own steps and times",
  "translation",
  async ({ page, lines, beside }) => {
    const [classifier] = beside;
    const evaluated = (all) =>
      of(all, "eval")
        .filter(({ weights }) => !weights)
        .at(-1);
    const last = evaluated(classifier.lines);
    const legend = page.locator("#loss .legend > span");
    const texts = await legend.allInnerTexts();
    const own = texts.findIndex((text) => text.startsWith("validation"));
    const other = texts.findIndex((text) => text.startsWith("classifier, validation"));
    near(await value(page, "loss", own), evaluated(lines).loss, "this run's validation loss");
    near(await value(page, "loss", other), last.loss, "the other run's validation loss");
    const rates = [lines, classifier.lines].map((all) => of(all, "step").at(-1).lr);
    for (const [index, rate] of rates.entries()) near(await value(page, "lr", index), rate, "learning rate", 1e-3);
    await page.locator("#loss .plot").focus();
    await page.keyboard.press("End");
    assert.equal(await page.locator("#loss .value").nth(other).innerText(), "–", "after its end");
    await page.keyboard.press("Escape");
    const ends = async () => {
      const path = await page.locator("#loss path.curve.validation.other-0").getAttribute("d");
      return Number(/([\d.]+),[\d.]+$/.exec(path)[1]);
    };
    const share = async (part) => {
      const width = await page.locator("#loss svg").evaluate((svg) => svg.viewBox.baseVal.width);
      return 52 + part * (width - 52 - 18);
    };
    const steps = (all) => of(all, "step");
    const [first, end] = [steps(lines)[0], steps(lines).at(-1)];
    const whole = Math.max(end.step, steps(classifier.lines).at(-1).step);
    const begin = Math.min(first.step, steps(classifier.lines)[0].step);
    const wanted = await share((last.step - begin) / (whole - begin));
    assert.ok(Math.abs((await ends()) - wanted) < 3, `${await ends()} is not ${wanted}`);
    await page.locator(".toolbar").getByText("Time", { exact: true }).click();
    const time = Math.max(end.seconds, steps(classifier.lines).at(-1).seconds);
    const timed = await share((last.seconds - first.seconds) / (time - first.seconds));
    assert.ok(Math.abs((await ends()) - timed) < 12, `${await ends()} is not ${timed}`);
    const rows = async (part) =>
      Object.fromEntries(
        await page
          .locator(`#compared-${part} tr:has(td)`)
          .evaluateAll((all) =>
            all.map(({ cells }) => [cells[0].textContent, [...cells].slice(1).map((cell) => cell.textContent)]),
          ),
      );
    assert.deepEqual(await page.locator("#comparison thead th").allInnerTexts(), ["", "translation", "classifier"]);
    const figures = await rows("figures");
    assert.deepEqual(figures.Steps, ["4,000", "510"]);
    assert.deepEqual([figures.BLEU[1], figures.Accuracy[0]], ["–", "–"]);
    near(number(figures["Validation loss"][1]), last.loss, "the other run's loss in the table");
    const options = await rows("options");
    assert.deepEqual(options.label_smoothing, ["0.1", "not set"]);
    assert.deepEqual(options.batch, ["not set", "32"]);
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
    await browser.picture(page, "two-runs", "light");
  },
  { others: ["classifier"] },
);

await check(
  "numbers can be saved as CSV, pictures as SVG and PNG",
  "translation",
  async ({ page, lines, beside }) => {
    const saved = async (button) => {
      const [download] = await Promise.all([page.waitForEvent("download"), button.click()]);
      return { name: download.suggestedFilename(), bytes: readFileSync(await download.path()) };
    };
    const csv = async (label) => {
      const { name, bytes } = await saved(page.locator(".csv").getByText(label, { exact: true }));
      const [head, ...rows] = bytes
        .toString("utf8")
        .trim()
        .split("\n")
        .map((line) => line.split(","));
      return { name, rows: rows.map((row) => Object.fromEntries(row.map((text, index) => [head[index], text]))) };
    };
    const steps = await csv("Steps");
    assert.equal(steps.name, "translation-steps.csv");
    for (const [run, all] of [
      ["translation", lines],
      ["classifier", beside[0].lines],
    ]) {
      const rows = steps.rows.filter((row) => row.run === run);
      const logged = new Map(of(all, "step").map((line) => [line.step, line]));
      assert.ok(rows.length > 0.5 * logged.size, `${rows.length} rows of ${run}`);
      for (const row of [rows[0], rows[Math.floor(rows.length / 2)], rows.at(-1)])
        for (const name of ["epoch", "seconds", "loss", "lr", "grad_norm", "tokens_per_second"])
          near(Number(row[name]), logged.get(Number(row.step))[name], `${run}, ${name} of step ${row.step}`, 1e-5);
    }
    const evaluations = await csv("Evaluations");
    const bleu = evaluations.rows.filter(({ run }) => run === "translation").map((row) => Number(row.bleu));
    of(lines, "eval").forEach(({ metrics }, index) => near(bleu[index], metrics.bleu, "BLEU", 1e-5));
    await page.locator("#loss .plot").hover();
    const svg = await saved(page.locator("#loss .save").getByText("SVG", { exact: true }));
    assert.equal(svg.name, "Loss.svg");
    const text = svg.bytes.toString("utf8");
    assert.ok(text.includes("<path") && !text.includes("class="));
    const names = await page
      .locator("#loss .legend > span")
      .evaluateAll((all) => all.map((key) => key.firstChild.textContent.trim()));
    assert.equal(names.length, 6);
    for (const name of names) assert.ok(text.includes(`>${name}</text>`), `${name} is not in the picture`);
    const png = await saved(page.locator("#loss .save").getByText("PNG", { exact: true }));
    assert.equal(png.bytes.subarray(1, 4).toString(), "PNG");
  },
  { others: ["classifier"] },
);

await check("the page of a running run reloads on request", "long", async ({ page, path }) => {
  await page.clock.install();
  await page.reload();
  await page.waitForSelector("h1");
  await page.evaluate(() => (window.before = true));
  await page.clock.runFor(60_000);
  assert.equal(await page.evaluate(() => window.before), true);
  await page.locator(".toolbar").getByText("Every 10 s", { exact: true }).click();
  await page.clock.runFor(9_000);
  assert.equal(await page.evaluate(() => window.before), true);
  await Promise.all([page.waitForEvent("load"), page.clock.runFor(2_000)]);
  assert.equal(await page.evaluate(() => window.before), undefined);
  assert.ok(page.url().endsWith("#refresh") && path);
  assert.equal(await page.locator(".toolbar input[value=on]").isChecked(), true);
});

await check(
  "a finished run has no refresh switch, and its samples say how they were drawn",
  "translation",
  async ({ page }) => {
    assert.equal(await page.locator(".toolbar").getByText("Every 10 s").count(), 0);
    const note = await page.locator("#samples .note").innerText();
    assert.ok(
      note.includes("Chosen independently of the outputs: 8 of 500 validation pairs, drawn with seed 7."),
      note,
    );
  },
);

await check("samples without a known origin are labeled as such", "long", async ({ page }) => {
  assert.ok(
    (await page.locator("#samples .note").innerText()).includes("The log does not record how these were chosen."),
  );
});

for (const [look, settings] of Object.entries(browser.looks)) {
  await check(
    `nothing is wider than the window: ${look}`,
    "classifier",
    async ({ page }) => {
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
    },
    settings,
  );
  if (!browser.pictures) continue;
  for (const kind of ["translation", "classifier", "long", "hostile"])
    await check(`picture ${kind}-${look}`, kind, ({ page }) => browser.picture(page, kind, look), settings);
}
