// The explorer page, for models inspected by the command and for made-up data where these lack something. Run by
// check_pages.mjs.
import assert from "node:assert/strict";
import { cpSync, existsSync, readFileSync, readdirSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import * as browser from "./browser.mjs";
import * as views from "./explorer_views.mjs";
import {
  address,
  allHeads,
  boxes,
  column,
  dataOf,
  decoded,
  menu,
  named,
  nearAll,
  numbers,
  option,
  scaled,
  view,
} from "./explorer_views.mjs";
import { explorerData, writeExplorer } from "./make_explorer_data.mjs";
import { hostile } from "./make_log.mjs";
import { folder, run, words } from "./models.mjs";
import { boxOf } from "./pointer.mjs";

const fixtures = join(dirname(fileURLToPath(import.meta.url)), "../fixtures");

// A test model with a matching tokenizer.
function model(name, tokenizer) {
  if (existsSync(folder(name))) return folder(name);
  cpSync(join(fixtures, "commands", name), folder(name), { recursive: true });
  const files = join(fixtures, "tokenizers", tokenizer);
  for (const file of readdirSync(files)) cpSync(join(files, file), join(folder(name), file));
  return folder(name);
}

const inspected = {
  words: () => [
    "--model",
    words(),
    "--text",
    "dreiundvierzigtausend",
    "--text-b",
    "forty-three",
    "--loss-at",
    "2",
    "--logit",
    "1:-",
  ],
  writer: () => [
    ...["--model", model("writer", "gpt2"), "--text", "</script><img src=x>", "--gradcheck-report"],
    ...["--title", hostile.replace("\0", "")],
  ],
  pair: () => ["--model", model("classifier", "bert"), "--text", "one two", "--text-b", "two"],
  image: () => [
    ...["--model", join(fixtures, "hugging_face/vit_classifier"), "--logit", "0:owl"],
    ...["--image", join(fixtures, "hugging_face/vit_classifier/image.npy")],
  ],
  long: () => [
    ...["--model", words(), "--text", "dreiundvierzigtausend ".repeat(21).trim()],
    ...["--text-b", "forty-three ".repeat(21).trim()],
  ],
};

// A page by name, and the data in it.
function made(name) {
  const path = folder(`${name}.html`);
  return () => {
    if (!existsSync(path)) {
      if (inspected[name]) run("inspect", ...inspected[name](), "--out", path);
      else writeExplorer(path, explorerData(name));
    }
    return { path, data: dataOf(path) };
  };
}

// A page of made-up data with an error in it.
function broken(name, spoil) {
  const path = folder(`${name}.html`);
  return () => {
    const data = explorerData("small");
    spoil(data);
    writeExplorer(path, data);
    return { path, data };
  };
}

const check = (name, body, { of = "small", ...settings } = {}) =>
  browser.check(`explorer, ${of}: ${name}`, made(of), body, { ready: "html[data-ready]", ...settings });

// Milliseconds that the page takes to open, the best of several tries because the machine may be busy.
async function opening(page, first) {
  let best = first;
  for (let tries = 0; best >= 2000 && tries < 5; ++tries) {
    const began = Date.now();
    await page.reload();
    await page.waitForSelector("html[data-ready]");
    best = Math.min(best, Date.now() - began);
  }
  return best;
}

// Without their titles, which contain the tokens in full.
const shownTokens = (page) =>
  page.locator("#head-picture .token").evaluateAll((all) => all.map(({ firstChild }) => firstChild.data));

for (const of of ["small", "words", "writer", "pair", "image"]) {
  await check("the head view shows each head's weights of a query, and their gradients", views.headView, { of });
  await check("the head view shows a head's output and what follows it, forward and backward", views.headOutput, {
    of,
  });
  await check("the model view shows every head and opens one", views.modelView, { of });
  await check("the neuron view computes a score and the gradient of a query", views.neuronView, { of });
  await check("the softmax view computes the vector-Jacobian product", views.softmaxView, { of });
  await check("the LayerNorm view computes the backward", views.layerNormView, { of });
  await check("the output view shows probabilities, losses and the first gradient", views.outputView, { of });
  await check("the activation view computes the derivative", views.activationView, { of });
  await check("every slice can be selected, and its axes are labeled with tokens", views.slices, { of });
  await check("missing values are hatched and described", views.missing, { of });
  await check("the tape folds and unfolds, and operations show values and gradients", views.tapeView, { of });
  await check("the player steps through recording and replay, and gradients add up", views.player, { of });
}

await check(
  "the page of the command is small, opens quickly and shows its text as text",
  async ({ page, path, opened, data }) => {
    assert.ok(statSync(path).size < 5e6, `${statSync(path).size} bytes`);
    const time = await opening(page, opened);
    assert.ok(time < 2000, `${time} ms`);
    assert.ok(data.title.includes('onerror="window.broken=1"'), data.title);
    assert.ok((await page.locator("h1").innerText()).includes("</script><img"));
    await view(page, "gradcheck");
    assert.ok((await page.locator("#view h2").innerText()).includes("all gradients are correct"));
    assert.equal(await page.locator("img, main script").count(), 0);
    assert.equal(await page.evaluate(() => window.broken), undefined);
  },
  { of: "writer" },
);

await check(
  "the sentences of a pair can be filtered",
  async ({ page, data }) => {
    await allHeads(page, data.attention[0]);
    const { tokens, segments } = data.texts[0];
    const named = tokens.map((token, index) => {
      const times = tokens.slice(0, index).filter((other) => other === token).length;
      return times === 0 ? token : `${token}${"₁₂₃₄"[times]}`;
    });
    const of = (segment) => named.filter((_, index) => segments[index] === segment);
    assert.ok(named.includes("two₂"), named.join());
    const stripes = () =>
      page.locator("#head-picture .sentence").evaluateAll((all) => all.map(({ attributes }) => attributes.fill.value));
    const [first, last] = [(await stripes())[0], (await stripes()).at(-1)];
    assert.notEqual(first, last);
    assert.deepEqual(
      await stripes(),
      [...segments, ...segments].map((segment) => (segment === 0 ? first : last)),
    );
    await menu(page, "Sentences", "BA");
    assert.deepEqual(await shownTokens(page), [...of(1), ...of(0)]);
  },
  { of: "pair" },
);

await check("an image is shown with the attention of a query and the gradient of its pixels", views.imageLook, {
  of: "image",
});

await check(
  "heads are selected by swatches, sentences by a filter, and all of them by keys",
  async ({ page, data }) => {
    await allHeads(page, data.attention[0]);
    const columns = () =>
      page
        .locator("#head-picture .number-cell")
        .evaluateAll((all) => [...new Set(all.map((cell) => cell.dataset.head))]);
    const swatch = (head) => page.locator(".swatches button").nth(head);
    assert.deepEqual(await columns(), ["0", "1", "2", "3"]);
    await swatch(1).click();
    assert.deepEqual(await columns(), ["0", "2", "3"]);
    assert.equal((await address(page)).heads, "0,2,3");
    await swatch(3).dblclick();
    assert.deepEqual(await columns(), ["3"]);
    assert.equal((await address(page)).head, "3");
    const { tokens, segments } = data.texts[0];
    await menu(page, "Sentences", "AB");
    const shown = (await shownTokens(page)).map((token) => token.replace(/[₂₃]$/, ""));
    const of = (segment) => tokens.filter((_, index) => segments[index] === segment);
    assert.deepEqual(shown, [...of(0), ...of(1)]);
    await menu(page, "Sentences", "**");
    await page.locator("#head-picture .plot").focus();
    for (const key of ["ArrowDown", "ArrowDown", "ArrowLeft", "PageDown"]) await page.keyboard.press(key);
    const { row, head, block } = await address(page);
    assert.deepEqual([row, head, block], ["1", "2", data.attention[1].module]);
    const weights = decoded(data.attention[1].values.probabilities);
    nearAll(await numbers(page.locator("#head-picture .number-cell")), weights.row(2, 1), "by keys");
  },
);

await check("a rotary embedding rotates pairs and rotates their gradient back", views.rotaryView);

// Errors that a page must detect: one that only repeated the recorded values would report no difference.
const faults = {
  output: ["#view=output", (data) => scaled(data.predictions[0].gradients[0], 1.001)],
  "output, of a wrong target": [
    "#view=output",
    (data) => (data.predictions[0].targets[0] = data.predictions[0].tokens[3]),
  ],
  "a head's output": ["#view=head&head=1&row=2", (data) => scaled(data.attention[0].values.context, 1.001)],
  "the gradient of a weight": [
    "#view=head&head=1&row=2",
    (data) => scaled(data.attention[0].gradients[0].probabilities, 1.001),
  ],
  activation: ["#view=activation", (data) => scaled(data.activations[0].gradient_input[0], 1.01)],
  RMSNorm: [
    "#view=layernorm&block=encoder.layers.0.norm1.rms",
    (data) => scaled(data.rms_norms[0].gradient_input[0], 1.001),
  ],
  rotary: ["#view=rotary&row=2", (data) => scaled(data.rotaries[0].gradient_input[0], -1)],
  "rotary, the other pairing": ["#view=rotary&row=2", (data) => (data.rotaries[0].pairing = "interleaved")],
};
for (const [name, [hash, spoil]] of Object.entries(faults))
  await browser.check(
    `explorer: an error in backward is detected: ${name}`,
    broken(`broken-${name.replace(/\W+/g, "-")}`, spoil),
    async ({ page }) =>
      assert.equal(await page.locator(".verdict.bad").count(), 1, await page.locator("#view").innerText()),
    { ready: "html[data-ready]", hash },
  );

await check("sums have their own legend, and a threshold hides lines", async ({ page, data }) => {
  await allHeads(page, data.attention[0]);
  const weights = decoded(data.attention[0].values.probabilities);
  const sums = [];
  for (let head = 0; head < weights.shape[0]; ++head)
    for (let key = 0; key < weights.columns; ++key)
      sums.push(
        weights
          .row(head, 0)
          .map((_, query) => weights.at(head, query, key))
          .reduce((a, b) => a + b),
      );
  const ends = await page.locator("#head-picture .legend", { hasText: "sum" }).locator("text").allTextContents();
  assert.deepEqual(ends, ["sum over the queries", "0", String(Number(Math.max(...sums).toPrecision(3)))]);
  const lines = async () => Number(await page.locator("#head-picture .lines").getAttribute("data-lines"));
  const before = await lines();
  const least = "50"; // percent of the largest
  await page.getByLabel("Hide lines below").fill(least);
  const bound = (Number(least) / 100) * Math.max(...weights.values);
  assert.equal(await lines(), weights.values.filter((value) => value >= bound).length);
  assert.ok((await lines()) < before, `${await lines()} of ${before}`);
  assert.equal((await address(page)).least, least);
});

await check(
  "a page with many lines starts with one head and hides weak lines",
  async ({ page }) => {
    await view(page, "head");
    assert.equal(await page.locator(".swatches [aria-pressed=true]").count(), 1);
    assert.equal(await page.getByLabel("Hide lines below").inputValue(), "5");
    await page.locator(".swatches").getByText("All").click();
    assert.equal((await address(page)).heads, "all");
    await page.reload();
    await page.waitForSelector("html[data-ready]");
    assert.equal(await page.locator(".swatches [aria-pressed=true]").count(), 12);
  },
  { of: "large" },
);

await check("the address stores the theme and the unfolded modules", async ({ page }) => {
  await view(page, "tape");
  await option(page, "Theme", "Dark");
  await page.locator("#tape-picture .box.folded").first().click();
  const { look, open } = await address(page);
  assert.equal(look, "dark");
  const [seen, paper] = [
    await boxes(page, ""),
    await page.evaluate(() => getComputedStyle(document.body).backgroundColor),
  ];
  await page.reload();
  await page.waitForSelector("html[data-ready]");
  assert.equal(await boxes(page, ""), seen);
  assert.equal(await page.evaluate(() => getComputedStyle(document.body).backgroundColor), paper);
  assert.equal((await address(page)).open, open);
});

await check("a node shows its value and its gradient, and the loss and the tokens by name", async ({ page, data }) => {
  await view(page, "tape");
  const { roots, nodes } = data.tape;
  const loss = page.locator(`#tape-picture [data-node="${roots[0]}"]`);
  assert.ok((await loss.locator(".name").textContent()).startsWith("loss = "));
  const [value, gradient] = (await loss.locator(".figures").textContent()).split(" · ∂ ");
  assert.ok(Math.abs(Number(value) - data.outputs[0].value) < 0.005 * data.outputs[0].value && gradient === "1");
  await page.getByRole("button", { name: "Unfold all" }).click();
  const embedding = nodes.find(({ operation }) => operation === "embedding");
  const text = await page.locator(`#tape-picture [data-node="${embedding.id}"]`).innerHTML();
  assert.ok(text.includes("source: [CLS] ein"), text);
  const softmax = nodes.find(({ operation }) => operation === "softmax");
  const { values } = decoded(softmax.outputs[0].gradients[0]);
  const shown = await page.locator(`#tape-picture [data-node="${softmax.id}"] .figures`).textContent();
  const most = Math.max(...values.map(Math.abs));
  assert.ok(Math.abs(Number(shown.split("≤ ")[1].replace("−", "-")) - most) < 0.05 * most, shown);
});

await check(
  "the tape is as high as its graph, up to the window, and shows boxes once it is unfolded",
  async ({ page }) => {
    await view(page, "tape");
    const heights = () =>
      page.locator("#tape-picture .plot").evaluate((plot) => [plot.clientHeight, plot.firstChild.clientHeight]);
    const [folded, graph] = await heights();
    assert.ok(Math.abs(folded - Math.min(graph, 800 - 292)) <= 2, `${folded} for ${graph}`);
    await page.getByRole("button", { name: "Unfold all" }).click();
    const inside = await page.locator("#tape-picture .plot").evaluate((plot) => {
      const view = plot.getBoundingClientRect();
      const boxes = [...plot.querySelectorAll(".box")].map((box) => box.getBoundingClientRect());
      const top = boxes.filter(({ top }) => top < view.bottom);
      return top.filter(({ left, right }) => left >= view.left && right <= view.right).length / top.length;
    });
    assert.ok(inside > 0.5, `${inside} of the boxes at the top are visible`);
    await page.getByRole("button", { name: "Smaller" }).click({ clickCount: 12 });
    const [small, smaller] = await heights();
    assert.ok(small <= smaller + 2, `${small} for ${smaller}`);
  },
);

await check("label smoothing is not mentioned if the page does not have it", async ({ page }) => {
  await view(page, "output");
  await page.locator("#output-picture").waitFor();
  assert.equal(await page.locator(".smoothing").count(), 0);
});
for (const name of ["output", "overview"])
  await browser.check(
    `explorer: label smoothing of the training explains probabilities below 1: ${name}`,
    broken("smoothing", (data) => (data.model.label_smoothing = 0.1)),
    async ({ page, data }) => {
      const words = await page.locator(".smoothing").innerText();
      const { vocabulary } = data.predictions.find(Boolean);
      const expected = `1 − 0.1 + 0.1/${vocabulary} = ${(0.9 + 0.1 / vocabulary).toFixed(4)}`;
      assert.ok(words.includes("label smoothing 0.1") && words.includes(expected), words);
    },
    { ready: "html[data-ready]", hash: `#view=${name}` },
  );
await check(
  "the page of the demo's model has the label smoothing of its training, and its texts as its title",
  async ({ page, data }) => {
    assert.equal(data.model.label_smoothing, 0.05);
    assert.equal(data.title, "Transformer: dreiundvierzigtausend → forty-three");
    await view(page, "output");
    assert.ok((await page.locator(".smoothing").innerText()).includes("label smoothing 0.05"));
  },
  { of: "words" },
);

await browser.check(
  "explorer: long titles are cut between words, with the whole title in a tooltip",
  broken("titles", (data) => {
    data.title = `Transformer: ${"dreiundvierzigtausend ".repeat(9).trim()}`;
    data.outputs[0].name = `loss of ${"a rather long sentence ".repeat(9).trim()}`;
  }),
  async ({ page, data }) => {
    const titles = { h1: data.title, "#head-picture h2": data.outputs[0].name };
    for (const [selector, whole] of Object.entries(titles)) {
      const title = page.locator(selector);
      const shown = await title.innerText();
      const tooltip = await title.getAttribute("title");
      assert.ok(shown.endsWith("…") && shown.length <= 101, shown);
      assert.ok(tooltip.includes(whole), tooltip);
      assert.ok(tooltip.startsWith(`${shown.slice(0, -1)} `), `${shown}: cut in a word`);
    }
  },
  { ready: "html[data-ready]", hash: "#view=head&heads=all&show=gradients" },
);

await check(
  "the blocks of a GPT are numbered from 1, and no label has the path encoder.layers",
  async ({ page }) => {
    for (const name of ["head", "model", "neuron", "output", "tape", "softmax", "layernorm", "activation"]) {
      await view(page, name);
      if (name === "tape") {
        await page.evaluate(() => (location.hash = "view=tape&open=encoder.layers.0"));
        await page.locator("#tape-picture .frame", { hasText: "Block 1" }).waitFor();
      }
      const text = await page.locator("#view").evaluate((element) => {
        const titles = [...element.querySelectorAll("title")];
        titles.forEach((title) => title.remove());
        return element.textContent;
      });
      assert.ok(!text.includes("encoder.layers"), `${name}: ${/.{40}encoder.layers.{40}/s.exec(text)?.[0]}`);
    }
  },
  { of: "writer" },
);

await check("the whole tape can be fitted, and the map scrolls it", async ({ page }) => {
  await view(page, "tape");
  await page.getByRole("button", { name: "Unfold all" }).click();
  const plot = page.locator("#tape-picture .plot");
  const inside = () => plot.evaluate((e) => e.scrollWidth <= e.clientWidth + 1 && e.scrollHeight <= e.clientHeight + 1);
  assert.equal(await inside(), false);
  const map = page.locator(".minimap svg");
  const box = await boxOf(map);
  await page.mouse.click(box.x + box.width / 2, box.y + box.height - 3);
  assert.ok(await plot.evaluate((e) => e.scrollTop > 0.8 * (e.scrollHeight - e.clientHeight)), "at the bottom");
  await page.getByRole("button", { name: "Fit width and height" }).click();
  assert.equal(await inside(), true);
  assert.equal(await map.isVisible(), false, "nothing to scroll to");
});

await check(
  "64 tokens of the demo's model make a page below 5 MB that opens within 2 s",
  async ({ page, path, opened, data }) => {
    assert.deepEqual(
      data.texts.map(({ tokens }) => tokens.length),
      [64, 64],
    );
    const size = statSync(path).size;
    const time = await opening(page, opened);
    console.log(`        ${size} bytes, ${time} ms`);
    assert.ok(size < 5e6, `${size} bytes`);
    assert.ok(time < 2000, `${time} ms`);
    await view(page, "output");
    assert.equal(await page.locator("#output-picture .position").count(), 64);
  },
  { of: "long" },
);

await check("a failed gradient check links to the failing operation", async ({ page, data }) => {
  await view(page, "gradcheck");
  assert.ok((await page.locator("#view pre").innerText()).includes("gradcheck: 1 of 2 gradients is wrong"));
  const [id] = data.gradcheck.guilty;
  await page.locator(".guilty-list a").click();
  assert.equal((await address(page)).node, String(id));
  await page.locator(`#tape-picture .box.guilty.chosen[data-node="${id}"]`).waitFor();
  assert.ok((await page.locator("p.guilty").innerText()).includes("a constant factor"));
});

await check(
  "any address opens a view, and the browser's back button works",
  async ({ page, data }) => {
    const open = (hash) => page.evaluate((text) => (location.hash = text), hash);
    assert.deepEqual(await page.locator(".swatches [aria-pressed=true]").allTextContents(), ["2"]);
    assert.ok(
      (await page.locator("#head-picture h2").innerText()).startsWith(
        `${named(data, data.attention[1].module)}, head 2`,
      ),
    );
    await open("view=softmax&block=decoder.layers.1.cross_attention&head=3&row=4&output=1");
    await page.locator(".closeup h2", { hasText: "Decoder block 2, cross-attention, head 3, row 4" }).waitFor();
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

await check(
  "a function without texts shows its tape and its LayerNorms",
  async ({ page, data }) => {
    assert.deepEqual(await page.locator("nav a").allTextContents(), ["Tape", "LayerNorm"]);
    assert.ok((await boxes(page, ".node")) > 0);
    await view(page, "layernorm");
    await menu(page, "Row", "3");
    nearAll(await column(page, "x"), decoded(data.layer_norms[0].input).row(3), "x");
    await page.evaluate(() => (location.hash = "view=softmax&head=1"));
    await page.locator("#tape-picture").waitFor();
  },
  { of: "function" },
);

await check("a token is shown as text, whatever it contains", async ({ page, data }) => {
  assert.equal(data.texts[1].tokens[1], hostile);
  await view(page, "neuron");
  await option(page, "Attention", "Cross");
  await menu(page, "Query", "1");
  assert.ok((await page.locator("#neuron-picture h2").innerText()).includes("</script><img src=x"));
  for (const name of ["head", "softmax", "layernorm", "tape"]) await view(page, name);
  assert.equal(await page.locator("img, main script").count(), 0);
  assert.equal(await page.evaluate(() => window.broken), undefined);
});

await check("pictures can be saved as SVG and PNG", async ({ page }) => {
  // Chromium encodes images between frames, and waits seconds for one in a page where nothing moves.
  await page.evaluate(() =>
    requestAnimationFrame(function again() {
      requestAnimationFrame(again);
    }),
  );
  for (const name of ["overview", "head", "model", "neuron", "output", "tape", "layernorm"]) {
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
        title: document.querySelector("text").textContent,
        words: words.length,
        plain: words.every(
          (element) => element.getAttribute("font-size") && element.getAttribute("fill")?.startsWith("rgb"),
        ),
        classes: all.filter((element) => element.hasAttribute("class") || element.hasAttribute("style")).length,
      };
    }, svg);
    assert.ok(problems.words > 4, name);
    const title = await page.locator(`#${name}-picture h2`).first().textContent();
    assert.deepEqual({ ...problems, words: 0 }, { broken: 0, title, words: 0, plain: true, classes: 0 });
    const png = await saved("PNG");
    assert.equal(png.subarray(1, 4).toString(), "PNG");
    assert.ok(png.readUInt32BE(16) > 300 && png.length > 5000, `${name}.png: ${png.length} bytes`);
  }
});

await check("every control can be reached with the keyboard and has a name", async ({ page }) => {
  for (const name of [
    "overview",
    "head",
    "model",
    "neuron",
    "output",
    "tape",
    "softmax",
    "layernorm",
    "activation",
    "rotary",
    "gradcheck",
  ]) {
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

// Masked probabilities also receive a gradient, but they stay 0.
await check(
  "masked weights have no gradient line",
  async ({ page, data }) => {
    const block = data.attention.find(({ kind }) => kind === "decoder self");
    const [gradient, mask] = [decoded(block.gradients[0].probabilities), decoded(block.values.mask)];
    const least = 0.004 * Math.max(...gradient.values.map(Math.abs));
    let [seen, hidden] = [0, 0];
    for (let head = 0; head < block.heads; ++head)
      for (let query = 0; query < gradient.rows; ++query)
        for (let key = 0; key < gradient.columns; ++key)
          if (Math.abs(gradient.at(head, query, key)) > least)
            if (mask.at(mask.shape[0] === 1 ? 0 : head, query, key) === -Infinity) ++hidden;
            else ++seen;
    assert.ok(hidden > 0);
    assert.equal(Number(await page.locator("#head-picture .lines").getAttribute("data-lines")), seen);
    await page.locator("#head-picture", { hasText: "the mask hides the others" }).waitFor();
  },
  { hash: "#view=head&kind=decoder self&heads=all&show=gradients&least=0" },
);

// The first query of causal attention sees a single key: its scores have no gradient.
await check(
  "values that are all 0 have the color of 0",
  async ({ page }) => {
    const [zero, panel] = await page.locator('#neuron-picture .strip[data-strip="ds·scale·k 0"]').evaluate((cover) => {
      const probe = document.body.appendChild(document.createElement("span"));
      probe.style.color = "var(--panel)";
      const cell = cover.previousElementSibling.previousElementSibling.querySelector("path");
      return [getComputedStyle(cell).fill, getComputedStyle(probe).color];
    });
    assert.equal(zero, panel);
  },
  { hash: "#view=neuron&kind=decoder self&row=0&show=gradients" },
);

await check("the theme can be switched", async ({ page, data }) => {
  await allHeads(page, data.attention[0]);
  const paper = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const light = await paper();
  const cell = () => page.locator("#head-picture .number-cell").first().getAttribute("fill");
  const tint = await cell();
  await option(page, "Theme", "Dark");
  assert.notEqual(await paper(), light);
  assert.notEqual(await cell(), tint);
  await option(page, "Theme", "Auto");
  assert.equal(await paper(), light);
  assert.equal(await cell(), tint);
});

for (const hash of ["", "#view=head&heads=all", "#view=model&kind=cross", "#view=tape"])
  await check(
    `6 + 6 layers of 12 heads open within 2 s (${hash || "#view=overview"})`,
    async ({ page, path, opened, data }) => {
      const size = statSync(path).size;
      const time = await opening(page, opened);
      console.log(`        ${size} bytes, ${data.tape.nodes.length} operations, ${time} ms`);
      assert.ok(size > 3e6 && size < 6e6, `${size} bytes`);
      assert.ok(time < 2000, `${time} ms`);
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
  output: "#view=output&row=2",
  activation: "#view=activation&row=2",
  rotary: "#view=rotary&row=2",
  "tape-slices": "#view=tape&node=59",
};
for (const [look, settings] of Object.entries(browser.looks)) {
  await check(
    `nothing is wider than the window: an image, ${look}`,
    async ({ page }) => {
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
      await browser.picture(page, "explorer-image", look);
    },
    { of: "image", hash: "#view=head&row=4", ...settings },
  );
  for (const [name, hash] of Object.entries(scenes))
    await check(
      `nothing is wider than the window: ${name}, ${look}`,
      async ({ page }) => {
        assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
        await browser.picture(page, `explorer-${name}`, look);
      },
      { hash, ...settings },
    );
}
