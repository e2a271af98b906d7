// Opens every page of the site in Chromium: node browse.mjs SITE [--pictures FOLDER] [--only WORDS]
// --only: of the pages, those whose path contains the words.
// No page may request anything outside of SITE, report an error, or be wider than the screen, at 1440 and 390 pixels, light
// and dark; the search must find a function; the explorer must start. The last line is "N passed, N failed".
import { mkdirSync, readdirSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const { chromium } = createRequire(join(here, "../../../inspect/web/package.json"))("playwright-core");
const site = resolve(process.argv[2]);
const after = (option) => (process.argv.includes(option) ? process.argv[process.argv.indexOf(option) + 1] : null);
const only = after("--only") ?? "";
const pictures = after("--pictures");
const root = pathToFileURL(site).href;
const looks = [
  { width: 1440, colorScheme: "light" },
  { width: 390, colorScheme: "dark" },
];
if (pictures) looks.push({ width: 1440, colorScheme: "dark" }, { width: 390, colorScheme: "light" });

// All pages except sources, which are alike: one of them; and 404.html, whose paths start at the root of a server. Explorers
// have checks of their own in tests/web.
const pages = readdirSync(site, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile() && entry.name.endsWith(".html"))
  .map((entry) => relative(site, join(entry.parentPath ?? entry.path, entry.name)))
  .filter((path) => !/^(try\/|source\/|404)/.test(path) || path === "source/nn/linear.h.html")
  .filter((path) => path.includes(only))
  .sort();

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium-headless-shell",
  args: ["--no-sandbox", "--allow-file-access-from-files"],
});
let passed = 0;
let failed = 0;
function report(name, complaints) {
  if (complaints.length === 0) return ++passed;
  ++failed;
  console.log(`FAILED  ${name}\n  ${[...new Set(complaints)].join("\n  ")}`);
}

async function open({ width, colorScheme }) {
  const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme });
  const page = await context.newPage();
  const complaints = [];
  page.on("request", (request) => {
    const url = request.url();
    if (!url.startsWith(root) && !/^(data|blob|about):/.test(url)) complaints.push(`requested ${url}`);
  });
  page.on("requestfailed", (request) => {
    if (request.failure()?.errorText !== "net::ERR_ABORTED") complaints.push(`could not load ${request.url()}`);
  });
  page.on("pageerror", (error) => complaints.push(String(error)));
  return { context, page, complaints };
}

// Elements that make the page wider than the screen, or pictures that did not load.
const faults = () => {
  const found = [];
  if (document.documentElement.scrollWidth > innerWidth)
    for (const element of document.querySelectorAll(".md-content *"))
      if (element.getBoundingClientRect().right > innerWidth + 1 && element.scrollWidth > element.clientWidth)
        found.push(
          `wider than the screen: ${element.tagName} ${element.className} ${element.textContent.slice(0, 40)}`,
        );
  if (document.documentElement.scrollWidth > innerWidth) found.splice(5);
  if (document.documentElement.scrollWidth > innerWidth && found.length === 0) found.push("wider than the screen");
  for (const image of document.images)
    if (image.complete && image.naturalWidth === 0) found.push(`no picture: ${image.src}`);
  if (document.querySelector(".katex-error")) found.push("a formula has an error");
  return found;
};

for (const look of looks) {
  const { context, page, complaints } = await open(look);
  for (const path of pages) {
    complaints.length = 0;
    await page.goto(`${root}/${path}`);
    complaints.push(...(await page.evaluate(faults)));
    if (pictures) {
      const folder = join(pictures, `${look.width}-${look.colorScheme}`);
      mkdirSync(folder, { recursive: true });
      const height = Math.min(5000, await page.evaluate(() => document.documentElement.scrollHeight));
      await page.waitForTimeout(250);
      const clip = { x: 0, y: 0, width: look.width, height };
      await page.screenshot({ path: join(folder, `${path.replaceAll("/", "_")}.png`), fullPage: true, clip });
    }
    report(`${path} at ${look.width} pixels, ${look.colorScheme}`, complaints);
  }
  await context.close();
}

// The search, from disk and without a server. It reads keys, not only the field's value.
{
  const { context, page, complaints } = await open(looks[0]);
  for (const [words, target] of [
    ["log_softmax", "reference/"],
    ["gradcheck", "guide/checking_gradients.html"],
  ]) {
    await page.goto(`${root}/index.html`);
    await page.click("[data-md-component=search-query]");
    await page.locator("[data-md-component=search-query]").pressSequentially(words);
    const found = page.locator(`.md-search-result__link[href*="${target}"]`).first();
    await found
      .waitFor({ state: "attached", timeout: 20000 })
      .catch(() => complaints.push(`does not find ${words} in ${target}`));
  }
  report("the search", complaints);
  await context.close();
}

// The explorers in their frames compute another text.
for (const [path, text, expected] of [
  ["explorer.html", "dreiundvierzig", "forty"],
  ["small_gpt.html", "206 207 208", "206 207 208"],
]) {
  const { context, page, complaints } = await open(looks[0]);
  await page.goto(`${root}/${path}`);
  // small_gpt.html has no frame if the site was built without the command.
  if (path === "explorer.html" || (await page.locator("iframe.explorer").count()) > 0) {
    const frame = page.frameLocator("iframe.explorer");
    try {
      await frame.locator("input").first().fill(text, { timeout: 60000 });
      await frame.getByRole("button", { name: "Compute" }).click({ timeout: 60000 });
      await frame.locator("h1", { hasText: expected }).waitFor({ timeout: 60000 });
    } catch (error) {
      complaints.push(`the explorer does not compute ${text}: ${error.message.split("\n")[0]}`);
    }
  }
  report(`${path}: the explorer`, complaints);
  await context.close();
}

await browser.close();
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);
