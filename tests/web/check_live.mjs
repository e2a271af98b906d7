// The explorer page with an engine: a typed text, edits, training, and what happens if the engine does not run. Most
// checks replace the worker by fake_engine.mjs. Run by check_pages.mjs.
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import * as browser from "./browser.mjs";
import { address, dataOf, decoded, near, numbers, view } from "./explorer_views.mjs";
import { constantEngine, explored, FakeEngine, liveData, packed, recordedText } from "./fake_engine.mjs";
import { writeExplorer } from "./make_explorer_data.mjs";
import * as models from "./models.mjs";
import { boxOf } from "./pointer.mjs";

const made = (name, live) => () => {
  const path = models.folder(`live-${name}.html`);
  if (!existsSync(path)) writeExplorer(path, { ...explored(recordedText), title: "Recorded", live: live() });
  return { path, data: dataOf(path) };
};
const small = made("small", liveData);

// Replaces the page's workers by a fake engine.
async function fakeWorker(page, engine) {
  await page.exposeFunction("fakeAnswer", (request) => {
    try {
      return { answer: engine.answer(request) };
    } catch (error) {
      return { ended: error.message };
    }
  });
  await page.addInitScript(() => {
    window.Worker = class extends EventTarget {
      postMessage({ id, request }) {
        const answer = (message) => {
          if (this.ended) return;
          if (message.answer) message.answer = new TextEncoder().encode(message.answer);
          this.onmessage({ data: { id, ...message } });
          this.dispatchEvent(new Event("message"));
        };
        if (request) window.fakeAnswer(request).then(answer);
        else setTimeout(() => answer({ answer: "{}" }));
      }
      terminate() {
        this.ended = true;
      }
    };
  });
}

function check(name, body, { page: make = small, ...settings } = {}) {
  const engine = new FakeEngine();
  const prepare = (page) => fakeWorker(page, engine);
  const run = (all) => body({ ...all, engine });
  return browser.check(`live: ${name}`, make, run, { ready: "html[data-ready]", prepare, ...settings });
}

const idle = (page) => page.locator(".live:not([data-busy])").waitFor();
const field = (page) => page.getByRole("textbox", { name: "Text", exact: true });
async function type(page, text) {
  await field(page).fill(text);
  await field(page).press("Enter");
  await idle(page);
}
const tokens = (page) => page.locator("#head-picture .query").evaluateAll((all) => all.map((one) => one.textContent));
const chips = (page) => page.locator(".chip span").allInnerTexts();
const lossOf = (page) => page.locator("header .muted, header summary").first().innerText();
const cell = (page, head, key) => page.locator(`#head-picture .number-cell[data-head="${head}"][data-key="${key}"]`);
const pinned = { hash: "#view=head&kind=encoder+self&head=2&row=1" };
const module = "encoder.layers.0.self_attention";

await check(
  "a typed text replaces the data of every view, at the reader's place",
  async ({ page, engine }) => {
    assert.equal(await field(page).inputValue(), recordedText);
    await type(page, "tausend zwanzig ein neu?");
    assert.deepEqual(await tokens(page), ["tausend", "zwanzig", "ein", "neu?"]);
    const at = await address(page);
    // The query “ein” is now the third token.
    assert.deepEqual([at.view, at.head, at.row], ["head", "2", "2"]);
    assert.match(await page.locator(".unknown-words").innerText(), /“neu\?”/);
    assert.equal(await page.locator("h1").innerText(), "Transformer: tausend zwanzig ein neu?");
    assert.ok(await field(page).evaluate((one) => one === document.activeElement));
    await view(page, "tape");
    await view(page, "overview");
    assert.equal(await page.locator(".spaces").count(), 0);
    await type(page, "▁tausend ein ▁neu?");
    assert.equal(await page.locator(".spaces").innerText(), "“▁” in a token is a space.");
    await page.getByRole("button", { name: "Back to the recorded text" }).click();
    assert.equal(await page.locator("h1").innerText(), "Recorded");
    assert.equal(await field(page).inputValue(), recordedText);
    assert.equal(engine.requests.filter(({ call }) => call === "explore").length, 2);
    // Typing without Enter.
    await field(page).press("End");
    await field(page).pressSequentially(" drei");
    await page.locator("h1", { hasText: "[SEP] drei" }).waitFor();
    await page.getByRole("textbox", { name: "Translation" }).fill("three");
    await page.getByRole("textbox", { name: "Translation" }).press("Enter");
    await idle(page);
    assert.equal(engine.requests.at(-1).target_text, "three");
  },
  pinned,
);

const linked = `&text=tausend+zwanzig+ein&edits=ablate:${module}:1`;
await check(
  "the address names the text and the edits, and a link to it reproduces them",
  async ({ page, engine }) => {
    await page.locator("h1", { hasText: "tausend zwanzig ein" }).waitFor();
    await idle(page);
    assert.equal(await field(page).inputValue(), "tausend zwanzig ein");
    assert.deepEqual(await chips(page), ["Head 1: ablated"]);
    const first = await address(page);
    assert.deepEqual([first.text, first.edits, first.view], ["tausend zwanzig ein", `ablate:${module}:1`, "head"]);
    // Another view keeps them; so does an address without a text.
    await view(page, "tape");
    assert.equal((await address(page)).edits, first.edits);
    await page.evaluate(() => (location.hash = "view=overview"));
    await page.waitForFunction(() => location.hash.includes("text=tausend"));
    assert.equal(await page.locator("h1").innerText(), "Transformer: tausend zwanzig ein");
    // A link opened in the same window.
    await page.evaluate(() => (location.hash = "view=head&text=zwanzig+ein"));
    await page.locator("h1", { hasText: /: zwanzig ein$/ }).waitFor();
    await idle(page);
    assert.equal(await field(page).inputValue(), "zwanzig ein");
    assert.deepEqual(await chips(page), []);
    // An edit that the engine refuses leaves the text.
    await page.evaluate((of) => (location.hash = `view=head&text=ein+ein&edits=ablate:${of}:9`), module);
    await page.locator("h1", { hasText: /: ein ein$/ }).waitFor();
    await idle(page);
    assert.match(await page.locator(".live [role=alert]").innerText(), /edits\[0\]\.head: there are 8/);
    assert.equal((await address(page)).edits, undefined);
    await page.getByRole("button", { name: "Back to the recorded text" }).click();
    assert.equal((await address(page)).text, undefined);
    assert.equal(engine.requests.at(-1).text, "ein ein");
  },
  { hash: `${pinned.hash}${linked}` },
);

await check(
  "a model whose positions only enter its attention explains that no token can be moved",
  async ({ page, engine }) => {
    engine.fixedPositions = "Llama adds no positions to the embeddings of its tokens";
    await page.reload();
    await page.locator("html[data-ready]").waitFor();
    await idle(page);
    assert.match(await page.locator(".edit-query").innerText(), /No token can be moved\. Llama adds no positions/);
    assert.equal(await page.getByRole("button", { name: /^Position of/ }).count(), 0);
    await view(page, "overview");
    await page.getByText("Move a token to another position").click();
    assert.match(await page.locator(".positions").innerText(), /No token can be moved\. Llama adds no positions/);
    assert.equal(await page.getByRole("button", { name: /^Position of/ }).count(), 0);
  },
  pinned,
);

await check("a step of the tour follows another text", async ({ page }) => {
  await page.locator(".begin-tour").click();
  for (let step = 0; step < 5; ++step) await page.locator(".tour .go").click();
  const words = () => page.locator(".tour-check").innerText();
  const before = await words();
  await type(page, "zwanzig tausend ein neu drei vier");
  assert.notEqual(await words(), before);
  const at = await address(page);
  await page.getByRole("button", { name: "Show the place in the page" }).click();
  assert.deepEqual(await address(page), at);
});

await check("the selected operation stays selected by what it is", async ({ page, data }) => {
  const node = data.tape.nodes.findLast(({ operation }) => operation === "softmax");
  await page.evaluate((id) => (location.hash = `view=tape&node=${id}`), node.id);
  await page.locator(".inspector h2", { hasText: "softmax" }).waitFor();
  await page.getByRole("button", { name: "Larger" }).click();
  const width = async () => Number(await page.locator("#tape-picture .plot > svg").getAttribute("width"));
  const before = await width();
  await type(page, "eins zwei drei");
  assert.equal(await page.locator(".inspector .where [title]").first().getAttribute("title"), node.module);
  assert.equal((await address(page)).node, String(node.id));
  assert.ok(Math.abs((await width()) / before - 1) < 0.05); // the zoom stays; other tokens have other widths
});

await check("views do not pile up while data are replaced", async ({ page }) => {
  await view(page, "tape");
  const count = () =>
    page.evaluate(() => {
      let resized = 0;
      for (const svg of document.querySelectorAll("#tape-picture svg"))
        new MutationObserver((changes) => (resized += changes.length)).observe(svg, { attributes: true });
      window.dispatchEvent(new Event("resize"));
      return new Promise((done) => setTimeout(() => done(resized), 50));
    });
  const before = await count();
  for (const text of ["a b", "a b c", "a b c d", "a b c"]) await type(page, text);
  assert.equal(await count(), before);
  assert.equal(await page.locator("main#view").count(), 1);
});

await check(
  "a weight is changed by typing and by dragging; the bar shows the effect and what the gradient predicted",
  async ({ page, engine, data }) => {
    const block = data.attention.find((one) => one.module === module);
    await cell(page, 2, 3).click();
    const editor = page.getByRole("dialog");
    assert.match(await editor.innerText(), /Head 2: weight of “zwanzig”/);
    const value = editor.getByRole("spinbutton");
    near(Number(await value.inputValue()), decoded(block.values.probabilities).at(2, 1, 3), "the weight");
    await value.fill("0.5");
    await idle(page);
    assert.deepEqual(engine.requests.at(-1).edits, [{ kind: "weight", module, head: 2, query: 1, key: 3, value: 0.5 }]);
    assert.equal((await numbers(cell(page, 2, 3)))[0], 0.5);
    assert.deepEqual(await chips(page), ["Head 2: weight of “zwanzig” = 0.5"]);
    // The editor stays open over the new data.
    await editor.getByRole("slider").fill("0.25");
    await idle(page);
    assert.equal((await numbers(cell(page, 2, 3)))[0], 0.25);
    await page.keyboard.press("Escape");
    assert.equal(await editor.count(), 0);
    const words = await page.locator(".effect").innerText();
    assert.match(words, /^loss [\d.]+ → [\d.]+ \([+−][\d.e−]+; the gradient predicted [+−][\d.e−]+\)$/);
    // Dragged to the right.
    const box = await boxOf(cell(page, 2, 1));
    const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
    await page.mouse.move(x, y);
    await page.mouse.down();
    await page.mouse.move(x + 30, y);
    await page.mouse.move(x + 60, y);
    assert.equal(await page.locator(".drag-value").count(), 1);
    await page.mouse.up();
    await idle(page);
    assert.equal(await page.locator(".drag-value").count(), 0);
    const dragged = decoded(block.values.probabilities).at(2, 1, 1) + 0.3;
    near((await numbers(cell(page, 2, 1)))[0], dragged, "the dragged weight", 0.01);
    assert.equal((await chips(page)).length, 2);
    assert.equal(await editor.count(), 0);
    await view(page, "output");
    const edited = explored(recordedText, engine.requests.at(-1).edits);
    const of = async (key) => (await numbers(page.locator(`.comparison [data-effect="${key}"]`)))[0];
    near(await of("before"), data.outputs[0].value, "before");
    near(await of("after"), edited.outputs[0].value, "after");
    near(await of("actual"), edited.outputs[0].value - data.outputs[0].value, "actual");
    const gradient = decoded(block.gradients[0].probabilities);
    near(
      await of("predicted"),
      gradient.at(2, 1, 3) * (0.25 - decoded(block.values.probabilities).at(2, 1, 3)),
      "first",
    );
    await page.getByRole("button", { name: /^Remove: Head 2: weight of “zwanzig”/ }).click();
    await idle(page);
    assert.equal((await chips(page)).length, 1);
    await page.getByRole("button", { name: "Undo all" }).click();
    await idle(page);
    assert.equal(await page.locator(".chip, .comparison").count(), 0);
  },
  pinned,
);

await check(
  "a key is masked, a head ablated, its temperature changed and a token moved",
  async ({ page, engine }) => {
    const last = () => engine.requests.at(-1).edits;
    await page.locator("#head-picture text.token", { hasText: "tausend" }).last().click();
    await idle(page);
    assert.deepEqual(last(), [{ kind: "mask", module, head: 2, query: 1, key: 5 }]);
    assert.equal((await numbers(cell(page, 2, 5)))[0], 0);
    const row = page.locator('.edit-query tr[data-index="5"]');
    assert.equal(await row.getByRole("button", { pressed: true }).innerText(), "Show");
    await row.getByRole("button", { pressed: true }).click();
    await idle(page);
    assert.deepEqual(await chips(page), []);
    await page.getByRole("button", { name: "Ablate head 2" }).click();
    await idle(page);
    assert.deepEqual(last(), [{ kind: "ablate", module, head: 2 }]);
    await page.getByRole("button", { name: "Head 2 is ablated" }).click();
    await page.getByRole("button", { name: /^Temperature/ }).click();
    await page.getByRole("dialog").getByRole("spinbutton").fill("0.5");
    await idle(page);
    assert.deepEqual(last(), [{ kind: "temperature", module, head: 2, value: 0.5 }]);
    await page.getByRole("dialog").getByRole("spinbutton").fill("1");
    await idle(page);
    assert.deepEqual(await chips(page), []);
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: /^Position of “ein”/ }).click();
    await page.getByRole("dialog").getByRole("spinbutton").fill("4");
    await idle(page);
    assert.deepEqual(last(), [{ kind: "position", text: 0, token: 1, position: 4 }]);
    assert.match(await page.locator(".effect").innerText(), /\([+−]?[\d.e−]+\)$/); // without a prediction
    await page.keyboard.press("Escape");
    // A score, by the keyboard.
    const score = page.locator('.edit-query tr[data-index="2"] td[data-column="score"] button');
    await score.focus();
    await page.keyboard.press("Enter");
    await page.getByRole("dialog").getByRole("spinbutton").fill("3");
    await idle(page);
    assert.deepEqual(last().at(-1), { kind: "score", module, head: 2, query: 1, key: 2, value: 3 });
    assert.equal((await numbers(page.locator('.edit-query tr[data-index="2"] td[data-column="score"]')))[0], 3);
  },
  pinned,
);

await check(
  "keys that the model's mask hides are not offered for editing",
  async ({ page, data }) => {
    const block = data.attention.find(({ kind }) => kind === "decoder self");
    await page.evaluate((of) => (location.hash = `view=head&block=${of}&head=0&row=1`), block.module);
    await page.locator(".edit-query tr[data-index]").first().waitFor();
    const rows = await page.locator(".edit-query tr[data-index]").allInnerTexts();
    rows.forEach((words, key) => assert.equal(/hidden by the model/.test(words), key > 1, words));
    assert.equal(await page.locator(".edit-query").getByRole("button", { name: /^Hide/ }).count(), 2);
  },
  pinned,
);

await check("values are edited in the Neurons, Softmax, LayerNorm and Tape views", async ({ page, engine, data }) => {
  const value = page.getByRole("dialog").getByRole("spinbutton");
  const edit = async (to) => {
    await value.fill(String(to));
    await idle(page);
    await page.keyboard.press("Escape");
    return engine.requests.at(-1).edits.at(-1);
  };
  await page.evaluate((hash) => (location.hash = hash), `view=neuron&block=${module}&head=1&row=2`);
  await page.locator('#neuron-picture [data-strip="q"]').click();
  const query = await edit(0.7);
  assert.equal(query.kind, "value");
  assert.equal(data.tape.nodes[query.recorded].operation, "transpose");
  assert.deepEqual(query.index.slice(0, 3), [0, 1, 2]);
  await page.locator('#neuron-picture [data-figure="score"]').first().click();
  assert.equal((await edit(1.5)).kind, "score");
  await view(page, "softmax");
  await page.locator('td[data-column="p"] button').nth(1).click();
  assert.equal((await edit(0.4)).kind, "weight");
  await view(page, "layernorm");
  await page.locator('td[data-column="x"] button').nth(5).click();
  const x = await edit(-1);
  assert.deepEqual([x.kind, x.index], ["value", [0, 2, 5]]);
  await page.locator('td[data-column="weight"] button').nth(5).click();
  const name = `${data.layer_norms[0].module}.weight`;
  assert.deepEqual(await edit(2), { kind: "parameter", name, index: [5], value: 2 });
  const relu = data.tape.nodes.find(({ operation }) => operation === "relu");
  await page.evaluate((id) => (location.hash = `view=tape&node=${id}`), relu.id);
  await page.locator("#heat-output-0-value .plot").focus();
  for (const key of ["ArrowRight", "ArrowRight", "ArrowDown", "Enter"]) await page.keyboard.press(key);
  const at = data.tape.nodes.indexOf(relu);
  assert.deepEqual(await edit(9), { kind: "value", recorded: at, index: [0, 1, 1], value: 9 });
  assert.equal((await chips(page)).length, 6);
});

await check("a refused edit is explained and undone", async ({ page, engine }) => {
  await type(page, "eins zwei");
  const { explore } = engine;
  engine.explore = () => {
    throw new Error("explore: edits[0]: query 1 would have no key left");
  };
  await page.evaluate((hash) => (location.hash = hash), "view=head&kind=encoder+self&head=2&row=1");
  await page.locator('.edit-query tr[data-index="1"] button[aria-pressed]').click();
  assert.match(await page.getByRole("alert").innerText(), /no key left/);
  assert.deepEqual(await chips(page), []);
  engine.explore = explore;
  await type(page, " ");
  assert.match(await page.getByRole("alert").innerText(), /no tokens/);
  assert.deepEqual(await tokens(page), ["eins", "zwei"]);
});

await check("a crash of the engine is explained, and it restarts", async ({ page }) => {
  const before = await lossOf(page);
  await field(page).fill("trap");
  await field(page).press("Enter");
  await page.locator(".live-status", { hasText: "The engine does not run: unreachable." }).waitFor();
  assert.equal(await lossOf(page), before);
  assert.ok(await field(page).isDisabled());
  assert.equal(await page.locator(".edit-query").count(), 0);
  await page.getByRole("button", { name: "Restart the engine" }).click();
  await idle(page);
  await type(page, "eins zwei");
  assert.match(await page.locator("h1").innerText(), /eins zwei/);
});

await check("the model learns in the page", async ({ page, engine }) => {
  await view(page, "train");
  const button = (name) => page.locator(".train-controls").getByRole("button", { name });
  const steps = async () => {
    const words = await page.locator(".train-words").innerText();
    return Number(/^([\d,]+) update/.exec(words)?.[1].replaceAll(",", ""));
  };
  for (const name of ["Continue", "Test on held-out numbers"]) assert.ok(await button(name).isDisabled());
  assert.ok(await page.locator("#train-loss").isHidden());
  // One update of random weights, part by part.
  for (const part of ["forward", "backward", "Adam"]) await button(`One update: ${part}`).click();
  await page.waitForFunction(() => document.querySelector(".loss-curve")?.dataset.points === "1");
  assert.equal(await steps(), 1);
  await button("Start again from random weights").click();
  await page.waitForFunction(() => Number(document.querySelector(".loss-curve")?.dataset.points) > 30);
  await button("Pause").click();
  await button("Continue").waitFor();
  await page.waitForTimeout(100);
  const trained = await steps();
  assert.equal(trained, engine.step);
  assert.ok((await page.locator("#train-maps .field").count()) === 2);
  // One update in three parts.
  for (const part of ["forward", "backward", "Adam"]) await button(`One update: ${part}`).click();
  await page.locator(".train-parts h2", { hasText: "Adam" }).waitFor();
  const parts = await page.locator(".train-parts").innerText();
  assert.match(parts, /drei\s+three/);
  const [first] = await numbers(page.locator('[data-norm="gradient"]'));
  near(first, 5, "the group of two parameters of norms 3 and 4");
  assert.equal(await steps(), trained + 1);
  await button("Test on held-out numbers").click();
  await page.locator("[data-right]", { hasText: "93 of 100 right" }).waitFor();
  assert.match(await page.locator(".train-result").innerText(), /✗ for/);
  // The other views with these weights, and back.
  await button("Use these weights").click();
  await page.locator(".own-weights").waitFor();
  assert.match(
    await page.locator(".own-weights").innerText(),
    new RegExp(`${(trained + 1).toLocaleString("en")} updates`),
  );
  assert.equal(engine.requests.at(-1).call, "explore");
  await page.getByRole("button", { name: "Restore the model's weights" }).first().click();
  await page.locator(".own-weights").waitFor({ state: "detached" });
  assert.ok(await button("Continue").isDisabled());
});

for (const [look, settings] of Object.entries(browser.looks))
  await check(
    `nothing is wider than the window, and a phone's controls are 40 px high: ${look}`,
    async ({ page }) => {
      await cell(page, 2, 3).click();
      await page.getByRole("dialog").getByRole("spinbutton").fill("0.5");
      await idle(page);
      const fits = async (name) => {
        assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), name);
        await browser.picture(page, `live-${name}`, look);
        if (look !== "narrow") return;
        const low = await page
          .locator(":is(.live, .live-panel, .editor, .train) :is(button, input, summary)")
          .evaluateAll((all) =>
            all
              .map((one) => [one.getAttribute("aria-label") ?? one.textContent, one.getBoundingClientRect()])
              .filter(([, { width, height }]) => width > 0 && height < 39.5)
              .map(([words, { height }]) => `${words}: ${height}`),
          );
        assert.deepEqual(
          low.filter((words) => !/^(SVG|PNG)/.test(words)),
          [],
          name,
        );
      };
      await fits("editor");
      await page.keyboard.press("Escape");
      await fits("head");
      for (const name of ["overview", "output", "train"]) {
        await view(page, name);
        await fits(name);
      }
      await page.getByRole("button", { name: "Train from random weights" }).click();
      await page.waitForFunction(() => Number(document.querySelector(".loss-curve")?.dataset.points) > 10);
      await page.getByRole("button", { name: "Pause" }).click();
      for (const part of ["forward", "backward", "Adam"])
        await page.getByRole("button", { name: `One update: ${part}` }).click();
      await page.getByRole("button", { name: "Test on held-out numbers" }).click();
      await page.locator("[data-right]").waitFor();
      await fits("trained");
    },
    { ...settings, ...pinned },
  );

// The real worker, with a module whose every answer is the same.
const constant = JSON.stringify({
  ok: {
    class: "Transformer",
    kind: "encoder-decoder",
    parameters: 1,
    trains: false,
    data: explored("aus dem Worker"),
    target: [3],
    unknown: [],
  },
});
const real = { prepare: undefined };
await check(
  "a worker from a blob runs WebAssembly under the page's policy, and a trap is explained",
  async ({ page }) => {
    const policy = await page.locator("meta[http-equiv]").getAttribute("content");
    assert.match(policy, /script-src 'sha256-[^']+' 'wasm-unsafe-eval';.*; worker-src blob:$/);
    await type(page, "kurz");
    assert.match(await page.locator("h1").innerText(), /aus dem Worker/);
    await field(page).fill("lang ".repeat(40));
    await field(page).press("Enter");
    await page.locator(".live-status", { hasText: /does not run: unreachable/ }).waitFor();
    await page.getByRole("button", { name: "Restart the engine" }).click();
    await idle(page);
  },
  { page: made("constant", () => liveData(packed(constantEngine(constant, 150)))), ...real },
);

await check(
  "an engine that cannot start leaves the page as it is and says why",
  async ({ page }) => {
    await page.locator(".live-status", { hasText: "The engine does not run:" }).waitFor();
    await view(page, "head");
    await view(page, "tape");
    assert.equal(await page.locator("h1").innerText(), "Recorded");
  },
  { page: made("broken", () => liveData(packed("no module"))), ...real },
);

await check(
  "a browser without WebAssembly shows the recorded data and says why",
  async ({ page }) => {
    await page.locator(".live-status", { hasText: "this browser has no WebAssembly" }).waitFor();
    await view(page, "head");
  },
  { prepare: (page) => page.addInitScript(() => delete globalThis.WebAssembly) },
);

await browser.check(
  "live: a page without an engine has no bar and today's policy",
  made("none", () => null),
  async ({ page }) => {
    assert.equal(await page.locator(".live").count(), 0);
    const policy = await page.locator("meta[http-equiv]").getAttribute("content");
    assert.ok(!/wasm|worker|live/.test(policy), policy);
    assert.equal(await page.locator("nav a[data-view=train]").count(), 0);
    assert.equal(await page.locator(".editable").count(), 0);
  },
  { ready: "html[data-ready]" },
);

// With the real engine, which the demo's page contains if the build has it.
const whole = join(models.words(), "explorer.html");
if (!dataOf(whole).live) console.log("skipped live: the real engine: this build has none (scripts/wasm.sh)");
else
  await browser.check(
    "live: the real engine computes a text, follows an edit and trains",
    () => ({ path: whole }),
    async ({ page }) => {
      page.setDefaultTimeout(120_000);
      await idle(page);
      await type(page, "siebenundachtzig");
      assert.match(await page.locator("h1").innerText(), /sieben/);
      await page.locator("#head-picture .query").nth(1).click();
      await page.locator(".edit-query tr[data-index] td[data-column=weight] button").first().click();
      await page.getByRole("dialog").getByRole("spinbutton").fill("0.9");
      await idle(page);
      assert.match(await page.locator(".effect").innerText(), /→/);
      await page.keyboard.press("Escape");
      await view(page, "train");
      await page.getByRole("button", { name: "Train from random weights" }).click();
      await page.waitForFunction(() => Number(document.querySelector(".loss-curve")?.dataset.points) > 1);
      await page.getByRole("button", { name: "Pause" }).click();
      await page.getByRole("button", { name: "Restore the model's weights" }).first().click();
      await idle(page);
    },
    { ready: "html[data-ready]", hash: "#view=head" },
  );
