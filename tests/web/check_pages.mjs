// Checks the pages in Chromium: node tests/web/check_pages.mjs TAPEFORMER [--pictures FOLDER] [--only WORDS]
// Run by scripts/check_pages.sh. Runs the files of checks side by side, one per core; each also runs alone, with the same
// arguments. The last line is "N passed, N failed".
import { spawn } from "node:child_process";
import { once } from "node:events";
import { availableParallelism } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const folder = dirname(fileURLToPath(import.meta.url));
// The longest first.
const files = [
  "explorer",
  "chapters",
  "live",
  "runs",
  "overview",
  "run_report",
  "lessons",
  "layout",
  "layers",
  "units",
];
let passed = 0;
let failed = 0;

// Prints the results of a file's checks and adds up its last line.
async function run(name) {
  const words = [join(folder, `check_${name}.mjs`), ...process.argv.slice(2)];
  const child = spawn(process.execPath, words, { stdio: ["ignore", "pipe", "inherit"] });
  const ended = once(child, "close");
  const result = []; // lines, printed together
  let counts = null;
  for await (const line of createInterface({ input: child.stdout })) {
    counts = /^(\d+) passed, (\d+) failed$/.exec(line);
    if (result.length > 0 && (counts !== null || /^(ok|FAILED) /.test(line))) console.log(result.splice(0).join("\n"));
    if (counts === null) result.push(line);
  }
  if (result.length > 0) console.log(result.join("\n"));
  const [status] = await ended;
  if (counts === null) console.log(`FAILED  check_${name}.mjs ended with exit code ${status}`);
  passed += Number(counts?.[1] ?? 0);
  failed += Number(counts?.[2] ?? 1);
}

async function runNext() {
  while (files.length > 0) await run(files.shift());
}
await Promise.all(Array.from({ length: availableParallelism() }, runNext));
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);
