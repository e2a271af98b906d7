// The script of the worker: starts the engine, then answers requests in order. build.mjs embeds it as a string.
import { Engine } from "./engine";
import type { FromWorker, ToWorker } from "./protocol";

let engine: Engine | null = null;
let turn = Promise.resolve();
const send = (message: FromWorker, moved: Transferable[] = []) => self.postMessage(message, { transfer: moved });

async function answer(message: ToWorker) {
  const { id } = message;
  try {
    if ("boot" in message) {
      engine = await Engine.start(message.boot, (printed) => send({ printed }));
      send({ id, answer: new TextEncoder().encode("{}") });
    } else if (engine) {
      const made = engine.call(message.request);
      send({ id, answer: made }, [made.buffer]);
    } else send({ id, ended: "it has ended" });
  } catch (error) {
    // A trap, an exception that nothing caught or no memory: its state is no longer valid.
    engine = null;
    send({ id, ended: error instanceof Error ? error.message : String(error) });
  }
}

self.onmessage = ({ data }: MessageEvent<ToWorker>) => {
  turn = turn.then(() => answer(data));
};
