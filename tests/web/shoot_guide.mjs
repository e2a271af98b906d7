// Takes the screenshots of docs/guide/one_gradient.md, and README's in light and dark, from the page that the guide's first
// step writes:
//   tapeformer demo --out runs/number-words --seconds 0
//   tapeformer inspect --model runs/number-words --text dreiundvierzig --nudges --out page.html
//   node tests/web/shoot_guide.mjs page.html
// Prints the numbers that the guide quotes from the same page.
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { dataOf, decoded } from "./explorer_views.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const { chromium } = createRequire(join(here, "../../inspect/web/package.json"))("playwright-core");
const [, , path] = process.argv;
const folder = join(here, "../../docs/guide/pictures");

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium-headless-shell",
  args: ["--no-sandbox"],
});
const page = await browser.newPage({ viewport: { width: 1120, height: 760 } });
await page.goto(pathToFileURL(path).href);
await page.waitForSelector("html[data-ready]");

// The weight that one_gradient.md follows: the one with the largest gradient in the last cross-attention.
const data = dataOf(path);
const of = data.attention.findLast(({ kind }) => kind === "cross");
const block = of.module;
const [weights, slopes] = [of.values, of.gradients[0]].map(({ probabilities }) => decoded(probabilities));
const sizes = slopes.values.map((slope, place) => (weights.values[place] > 0.05 ? Math.abs(slope) : -1));
const chosen = sizes.indexOf(Math.max(...sizes));
const [, queries, keys] = slopes.shape;
const [head, row] = [Math.floor(chosen / (queries * keys)), Math.floor(chosen / keys) % queries];
const place = `block=${block}&head=${head}&row=${row}`;

async function shoot(name, hash, height) {
  await page.evaluate((text) => (location.hash = text), hash);
  await page.waitForTimeout(300);
  const top = await page.locator("#view").evaluate((e) => e.getBoundingClientRect().top + scrollY);
  await page.evaluate(() => scrollTo(0, 0));
  await page.setViewportSize({ width: 1120, height: Math.max(760, Math.ceil(top + height)) });
  await page.waitForTimeout(200);
  await page.screenshot({ path: join(folder, `${name}.png`), clip: { x: 0, y: top, width: 1120, height } });
}

await shoot("weights", `view=head&${place}`, 376);
await shoot("gradients", `view=head&show=gradients&${place}`, 376);
await shoot("softmax", `view=softmax&${place}`, 557);
const nodeOf = ({ node }) => data.tape.nodes.find(({ id }) => id === node).module;
const { places, gradients, changes, effects, cuts } = data.nudges;
const g = decoded(of.gradients[0].probabilities).row(Number(head), Number(row));
const p = decoded(of.values.probabilities).row(Number(head), Number(row));
const key = p.indexOf(Math.max(...p));
const pulled = places.findIndex(
  (one) => one.kind === "weight" && nodeOf(one) === block && one.index.slice(1).join() === [head, row, key].join(),
);
await shoot("pulled", `view=nudge&${place}&pull=weight&place=${pulled}&stop=5`, 566);
for (const colorScheme of ["light", "dark"]) {
  const wide = await browser.newPage({ viewport: { width: 1280, height: 800 }, colorScheme });
  await wide.goto(`${pathToFileURL(path).href}#view=nudge&${place}&pull=weight`);
  await wide.waitForSelector("html[data-ready]");
  await wide.waitForTimeout(300);
  const top = await wide
    .locator("nav, [role=tablist]")
    .first()
    .evaluate((e) => e.getBoundingClientRect().bottom);
  await wide.screenshot({
    path: join(here, `../../docs/pictures/gradient-${colorScheme}.png`),
    clip: { x: 0, y: Math.ceil(top) + 8, width: 1280, height: 600 },
  });
}
// Chapter 3, "What it means".
const touring = await browser.newPage({ viewport: { width: 1120, height: 700 } });
await touring.goto(pathToFileURL(path).href);
await touring.locator(".begin-tour").click();
await touring.locator(".chapters button").nth(2).click();
while (!(await touring.locator(".tour-title").innerText()).endsWith("What it means"))
  await touring.locator(".tour .go").click();
await touring.waitForTimeout(600);
await touring.screenshot({ path: join(folder, "tour.png") });
await browser.close();

const mean = p.reduce((sum, weight, at) => sum + weight * g[at], 0);
console.log(`loss ${data.outputs[0].value}, ${block}, head ${head}, row ${row}, key ${key}`);
console.log(`p ${p}\ng ${g}\nmean ${mean}, to the score ${p[key] * (g[key] - mean)}`);
decoded(changes)
  .row(pulled)
  .forEach((change, stop) =>
    console.log(`${change}: ${decoded(gradients).at(pulled, 0) * change}, ${decoded(effects).at(pulled, 0, stop)}`),
  );
for (const cut of cuts)
  if (cut.kind === "key" && cut.module === block && cut.head === Number(head) && cut.place === key)
    console.log(`hidden key: predicted ${cut.predicted[0]}, true ${cut.effects[0]}`);
