// The page's side of the worker: starts it, asks it, and notices when it ends.
import type { Live } from "../data";
import { folder, type Answer, type Call, type FromWorker, type Request, type ToWorker } from "./protocol";

// The part of a Worker that is used, so that tests can replace it.
export interface Port {
  postMessage(message: ToWorker): void;
  terminate(): void;
  onmessage: ((event: MessageEvent<FromWorker>) => void) | null;
  onerror: ((event: ErrorEvent) => void) | null;
}

// The engine refused a request and remains usable.
export class Refused extends Error {}
// The engine crashed, was stopped, or could not start.
export class Ended extends Error {}

interface Waiting {
  done: (answer: Uint8Array) => void;
  failed: (error: Error) => void;
}

// Why this browser cannot run an engine; null if it can.
export function missingFeature(): string | null {
  const needs = { WebAssembly: "WebAssembly", DecompressionStream: "DecompressionStream", Worker: "workers" };
  const missing = Object.entries(needs).find(([name]) => !(name in globalThis));
  return missing ? `this browser has no ${missing[1]}` : null;
}

export function startWorker(source: string): Port {
  const address = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
  const worker = new Worker(address);
  worker.addEventListener("message", () => URL.revokeObjectURL(address), { once: true });
  return worker;
}

export class Client {
  private port: Port | null = null;
  private readonly waiting = new Map<number, Waiting>();
  private readonly decoder = new TextDecoder();
  private last = 0;
  private printed = ""; // the last message that the engine printed, which may say why it ended

  constructor(
    private readonly live: Pick<Live, "engine" | "files">,
    private readonly startPort: () => Port,
  ) {}

  // Starts a worker instead of an earlier one. Throws Ended.
  async start(): Promise<Answer<"open">> {
    this.end("it was restarted");
    const missing = missingFeature();
    if (missing) throw new Ended(missing);
    try {
      this.port = this.startPort();
    } catch (error) {
      throw new Ended(`the browser refuses to start a worker (${String(error)})`);
    }
    this.port.onmessage = ({ data }) => this.receive(data);
    this.port.onerror = (event) => {
      // A worker that the browser did not start has an event without words.
      this.end(event.message || "the browser refuses to start the worker");
    };
    await this.send((id) => ({ id, boot: { engine: this.live.engine, files: this.live.files } }));
    return this.call("open", { folder });
  }

  // Throws Refused or Ended.
  async call<C extends Call>(call: C, request: Request<C>): Promise<Answer<C>> {
    const bytes = await this.send((id) => ({ id, request: JSON.stringify({ call, ...request }) }));
    const answer = JSON.parse(this.decoder.decode(bytes)) as { ok?: Answer<C>; error?: string };
    if (answer.ok === undefined) throw new Refused(answer.error ?? "no answer");
    return answer.ok;
  }

  private send(message: (id: number) => ToWorker): Promise<Uint8Array> {
    return new Promise((done, failed) => {
      if (!this.port) {
        failed(new Ended("it does not run"));
        return;
      }
      const id = ++this.last;
      this.waiting.set(id, { done, failed });
      this.port.postMessage(message(id));
    });
  }

  private receive(message: FromWorker) {
    if ("printed" in message) {
      this.printed = message.printed.trim();
      return;
    }
    if ("ended" in message) {
      this.end([message.ended, this.printed].filter(Boolean).join(": "));
      return;
    }
    this.waiting.get(message.id)?.done(message.answer);
    this.waiting.delete(message.id);
  }

  private end(why: string) {
    this.port?.terminate();
    this.port = null;
    this.printed = "";
    for (const { failed } of this.waiting.values()) failed(new Ended(why));
    this.waiting.clear();
  }
}
