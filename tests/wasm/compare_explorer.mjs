// Compares the explorer's data from the engine in WebAssembly with the data of a page that the command writes, for a text
// of the demo's model: node compare_explorer.mjs live_engine.wasm COMMAND. The last line is "N passed, N failed".
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { dataOf, decoded, resolved } from "../web/explorer_views.mjs";
import { start } from "./start.mjs";

const [program, command] = process.argv.slice(2);
const folder = mkdtempSync(join(tmpdir(), "compare-"));
process.on("exit", () => rmSync(folder, { recursive: true }));
const model = join(folder, "model");
const text = "siebenundachtzig";
const run = (...words) => execFileSync(command, words, { stdio: "pipe" });
run("demo", "--steps", "40", "--pairs", "2000", "--held-out", "5", "--seconds", "0", "--out", model);
run("inspect", "--model", model, "--text", text, "--out", join(folder, "page.html"));

const engine = await start(program, { preopens: { "/model": model } });
function call(request) {
  const bytes = new TextEncoder().encode(JSON.stringify(request));
  const room = engine.live_room(bytes.length);
  new Uint8Array(engine.memory.buffer).set(bytes, room);
  engine.live_call(room, bytes.length);
  const answer = new Uint8Array(engine.memory.buffer, engine.live_answer(), engine.live_answer_size());
  const { ok, error } = JSON.parse(new TextDecoder().decode(answer));
  if (error) throw new Error(error);
  return ok;
}
call({ call: "open", folder: "/model" });
const { data } = call({ call: "explore", text });

const tolerance = 1e-3; // relative to the largest value of a tensor
const rounding = 1e-8; // of gradients that are exactly zero, such as those of key biases
// What differs between machines, and what only the run's folder knows.
const machine = new Set(["made_by", "forward_us", "backward_us", "line", "label_smoothing", "shared"]);
const differences = [];
let compared = 0;

function compareValues(native, wasm, path) {
  ++compared;
  const size = Math.max(0, ...native.map(Math.abs).filter(Number.isFinite));
  const worst = Math.max(...native.map((value, i) => (Object.is(value, wasm[i]) ? 0 : Math.abs(value - wasm[i]))));
  if (native.length !== wasm.length || !(worst <= Math.max(tolerance * size, rounding)))
    differences.push(`${path}: ${worst} apart, largest value ${size}`);
}

function compare(native, wasm, path) {
  if (native === null || wasm === null || typeof native !== typeof wasm) {
    if (native !== wasm) differences.push(`${path}: ${native} and ${wasm}`);
  } else if (typeof native === "number") {
    compareValues([native], [wasm], path);
  } else if (typeof native !== "object") {
    if (native !== wasm) differences.push(`${path}: ${native} and ${wasm}`);
  } else if (typeof native.data === "string" && native.shape) {
    compareValues(decoded(native).values, decoded(wasm).values, path);
  } else {
    const names = [...new Set([...Object.keys(native), ...Object.keys(wasm)])].filter((name) => !machine.has(name));
    for (const name of names)
      if (name in native !== name in wasm) differences.push(`${path}.${name}: only in one of both`);
      else compare(native[name], wasm[name], `${path}.${name}`);
  }
}
compare(dataOf(join(folder, "page.html")), resolved(data, data.shared), "data");
for (const difference of differences.slice(0, 20)) console.log(`FAILED  ${difference}`);
console.log(`${compared - differences.length} passed, ${differences.length} failed`);
process.exitCode = differences.length === 0 ? 0 : 1;
