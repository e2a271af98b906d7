// Runs the unit tests of the pages' pure modules and counts them with the checks. Run by check_pages.mjs; alone:
//   node --test tests/web/unit/
import { readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { run } from "node:test";
import { fileURLToPath } from "node:url";
import { report } from "./browser.mjs";

const folder = join(dirname(fileURLToPath(import.meta.url)), "unit");
const files = readdirSync(folder)
  .filter((name) => name.endsWith(".test.mjs"))
  .map((name) => join(folder, name));

for await (const { type, data } of run({ files })) {
  // Some versions of Node also report each file as a test; it counts only if it fails as a whole.
  const isFile = data.name?.endsWith(".test.mjs");
  if (type === "test:pass" && !isFile) report(`unit: ${data.name}`);
  if (type === "test:fail" && !(isFile && data.details.error.failureType === "subtestsFailed"))
    report(`unit: ${data.name}`, data.details.error.cause ?? data.details.error);
}
