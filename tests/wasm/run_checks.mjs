// Runs the gradient checks in WebAssembly with Node and compares what they checked with what the native tests check:
// node run_checks.mjs checks.wasm [FOLDER of the native test programs]. The last line is "N passed, N failed".
import { execFileSync } from "node:child_process";
import { closeSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { start } from "./start.mjs";

const [program, native] = process.argv.slice(2);
const folder = mkdtempSync(join(tmpdir(), "checks-"));
const output = join(folder, "output");
const stdout = openSync(output, "w");
const { run_checks } = await start(program, { stdout });
run_checks();
closeSync(stdout);
const lines = readFileSync(output, "utf8").split("\n");
rmSync(folder, { recursive: true });

const results = lines.filter((line) => /^(ok|FAILED)\t/.test(line)).map((line) => line.split("\t"));
let failed = results.filter(([outcome]) => outcome === "FAILED").length;
const passed = results.length - failed;
if (failed > 0) console.log(lines.filter((line) => !line.startsWith("ok\t")).join("\n"));

// The engine in WebAssembly has no LAPACK, so it has no operation of this folder.
const linalg = new URL("../../autograd/ops/linalg/", import.meta.url);
const linearAlgebra = new Set(
  readdirSync(linalg)
    .filter((file) => file.endsWith(".cpp"))
    .flatMap((file) => [...readFileSync(new URL(file, linalg), "utf8").matchAll(/\.name = "(\w+)"/g)])
    .map(([, name]) => name),
);
const plain = (name) => name.replace(/[^A-Za-z0-9]/g, "_");

// Compares the names of one kind with the parameters of a native test.
function compare(kind, testProgram, test, nameOf) {
  const listed = execFileSync(join(native, testProgram), ["--gtest_list_tests", `--gtest_filter=*${test}/*`], {
    encoding: "utf8",
  });
  const wanted = [...listed.matchAll(/^ {2}\w+\/(\w+)/gm)].map(([, name]) => name);
  const checked = new Set(results.filter(([, of]) => of === kind).map(nameOf));
  const left = wanted.filter((name) => !checked.has(name) && !(kind === "operation" && linearAlgebra.has(name)));
  for (const name of left) console.log(`FAILED\t${kind}\t${name}\tis checked natively and not in WebAssembly`);
  if (wanted.length === 0) throw new Error(`${testProgram} lists no ${kind}`);
  failed += left.length;
}
if (native) {
  compare("operation", "test_autograd", "Registry.HasCorrectGradients", ([, , name]) => plain(name));
  compare("module", "test_nn", "EveryModule.HasRightGradients", ([, , name, label]) => plain(`${name}_${label}`));
}
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
