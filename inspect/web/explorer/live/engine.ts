// The engine in its worker: unpacked, instantiated and asked.
import type { Live } from "../data";
import { folder } from "./protocol";
import { Wasi } from "./wasi";

interface Exports {
  memory: WebAssembly.Memory;
  _initialize(): void;
  live_room(bytes: number): number;
  live_call(pointer: number, bytes: number): void;
  live_answer(): number;
  live_answer_size(): number;
}
const functions = ["_initialize", "live_room", "live_call", "live_answer", "live_answer_size"] as const;

// From base64 of gzip.
export async function unpacked(packed: string): Promise<Uint8Array<ArrayBuffer>> {
  const text = atob(packed);
  const bytes = Uint8Array.from({ length: text.length }, (_, i) => text.charCodeAt(i));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

// The page has the bytes at even places first, then those at odd ones.
export function fromHalves(halves: Uint8Array): Uint8Array<ArrayBuffer> {
  const half = Math.ceil(halves.length / 2);
  return Uint8Array.from(halves, (_, i) => halves[i % 2 === 0 ? i / 2 : half + (i - 1) / 2]!);
}

export class Engine {
  private readonly encoder = new TextEncoder();

  private constructor(private readonly exports: Exports) {}

  static async start(live: Pick<Live, "engine" | "files">, print: (text: string) => void): Promise<Engine> {
    const names = Object.keys(live.files);
    const [code, ...contents] = await Promise.all([live.engine, ...Object.values(live.files)].map(unpacked));
    const files = new Map(
      contents.map((bytes, index) => {
        const name = names[index]!;
        return [`${folder.slice(1)}/${name}`, name === "model.safetensors" ? fromHalves(bytes) : bytes];
      }),
    );
    const module = await WebAssembly.compile(code!);
    const wasi = new Wasi(files, print);
    const { exports } = await WebAssembly.instantiate(module, wasi.imports(module));
    for (const name of functions)
      if (typeof exports[name] !== "function") throw new Error(`the engine has no function ${name}`);
    const known = exports as unknown as Exports;
    wasi.attach(known.memory);
    known._initialize();
    return new Engine(known);
  }

  // Request and answer are JSON; the answer, which has megabytes, in UTF-8 so that it can be moved to the page.
  call(request: string): Uint8Array<ArrayBuffer> {
    const bytes = this.encoder.encode(request);
    const pointer = this.exports.live_room(bytes.length);
    new Uint8Array(this.exports.memory.buffer).set(bytes, pointer);
    this.exports.live_call(pointer, bytes.length);
    const start = this.exports.live_answer();
    return new Uint8Array(this.exports.memory.buffer.slice(start, start + this.exports.live_answer_size()));
  }
}
