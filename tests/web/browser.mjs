// Shared by the checks of all pages: one browser, a check that fails on any error of a page, and the count.
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const { chromium } = createRequire(join(here, "../../inspect/web/package.json"))("playwright-core");

export const command = process.argv[2];
const after = (option) => process.argv[process.argv.indexOf(option, 3) + 1];
const given = (option) => (process.argv.includes(option, 3) ? after(option) : null);
export const pictures = given("--pictures");
const only = given("--only");
if (pictures) mkdirSync(pictures, { recursive: true });

export const work = mkdtempSync(join(tmpdir(), "tapeformer-pages-"));
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium-headless-shell",
  args: ["--no-sandbox"],
});
let passed = 0;
let failed = 0;
const skipped = (name) => only !== null && !name.includes(only);

// Counts a check and prints its result.
export function report(name, error) {
  if (skipped(name)) return;
  if (error === undefined) ++passed;
  else ++failed;
  console.log(error === undefined ? `ok      ${name}` : `FAILED  ${name}\n${error.stack ?? error}`);
}

// Opens the page that make() writes and passes it to body(). Console errors and warnings and network requests fail the
// check, unless they match the regular expression that body() returns. make() returns the page's path and further
// arguments for body(); hash: of the page's address; prepare: called before the page opens.
export async function check(name, make, body, { hash = "", ready = "h1", prepare, ...settings } = {}) {
  if (skipped(name)) return;
  const complaints = [];
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...settings });
  try {
    const { path, ...known } = make();
    const page = await context.newPage();
    page.on("console", (message) => ["error", "warning"].includes(message.type()) && complaints.push(message.text()));
    page.on("pageerror", (error) => complaints.push(String(error)));
    page.on("request", (request) => {
      const url = request.url();
      if (url.split("#")[0] !== pathToFileURL(path).href && !/^(data|blob):/.test(url))
        complaints.push(`requested ${url}`);
    });
    await prepare?.(page);
    const began = Date.now();
    await page.goto(pathToFileURL(path).href + hash);
    await page.waitForSelector(ready);
    const expected = await body({ page, path, opened: Date.now() - began, ...known });
    assert.deepEqual(
      complaints.filter((complaint) => !expected?.test(complaint)),
      [],
    );
    report(name);
  } catch (error) {
    report(name, error);
    if (complaints.length > 0) console.log(complaints.join("\n"));
  } finally {
    await context.close();
  }
}

// Browser settings that every page must support; --pictures takes a screenshot of each.
export const looks = {
  light: {},
  dark: { colorScheme: "dark" },
  narrow: { viewport: { width: 390, height: 844 } },
};

export async function picture(page, name, look) {
  if (!pictures) return;
  await page.screenshot({ path: join(pictures, `${name}-${look}.png`), fullPage: true });
  if (look !== "light") return;
  const margin = { top: "15mm", bottom: "15mm", left: "15mm", right: "15mm" };
  await page.pdf({ path: join(pictures, `${name}.pdf`), format: "A4", margin });
}

export async function finish() {
  await browser.close();
  rmSync(work, { recursive: true });
  console.log(`${passed} passed, ${failed} failed`);
  process.exit(failed === 0 ? 0 : 1);
}
