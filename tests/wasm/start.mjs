// Starts a WebAssembly program of the engine in Node; returns its functions and memory.
import { readFileSync } from "node:fs";
import { WASI } from "node:wasi";

export async function start(program, options = {}) {
  const wasi = new WASI({ version: "preview1", ...options });
  const { instance } = await WebAssembly.instantiate(readFileSync(program), {
    wasi_snapshot_preview1: wasi.wasiImport,
  });
  wasi.initialize(instance);
  return instance.exports;
}
