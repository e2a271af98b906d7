// What the page and the engine say to each other: requests and answers in JSON, one at a time.
import type { Data, Live } from "../data";

// A change of one forward pass. Everything computed from it follows, and so do the gradients.
export type Edit =
  | { kind: "parameter"; name: string; index: number[]; value: number }
  | { kind: "value"; recorded: number; index: number[]; value: number } // of an operation's first output
  | { kind: "score" | "weight"; module: string; head: number; query: number; key: number; value: number }
  | { kind: "mask"; module: string; head?: number; query: number; key: number } // all heads if none is given
  | { kind: "temperature"; module: string; head?: number; value: number }
  | { kind: "position"; text: number; token: number; position: number }
  | { kind: "ablate"; module: string; head: number };

export interface Input {
  text: string;
  target?: number[]; // ids; without them, those of target_text, or the model's own translation
  target_text?: string;
}

export interface Heads {
  module: string;
  heads: number;
  queries: string[];
  keys: string[];
  weights: number[][][]; // [head][query][key]
}

export interface Sample {
  source: string;
  expected: string;
  output: string;
}

export interface ParameterNorm {
  name: string;
  norm: number;
}

export interface Calls {
  open: [
    { folder: string },
    {
      class: string;
      kind: string;
      parameters: number;
      trains: string | null;
      fixed_positions?: string | null; // why no token can be moved
    },
  ];
  explore: [
    Input & { edits?: Edit[]; title?: string; bytes?: number },
    { data: Data; target: number[]; unknown: string[] },
  ];
  heads: [Input, { attention: Heads[]; loss: number }];
  train_new: [{ seed: number }, { parameters: number }];
  train: [
    { steps: number },
    { step: number; steps: number; losses: number[]; lr: number; grad_norm: number; ms: number },
  ];
  train_part: [
    { part: "forward" | "backward" | "update" },
    {
      step?: number;
      batch?: { source: string; target: string }[];
      loss?: number;
      grad_norm?: number;
      lr?: number;
      parameters?: (ParameterNorm & { change?: number })[];
    },
  ];
  test: [{ count: number }, { right: number; count: number; samples: Sample[] }];
  restore: [Record<string, never>, Record<string, never>];
}
export type Call = keyof Calls;
export type Request<C extends Call> = Calls[C][0];
export type Answer<C extends Call> = Calls[C][1];

// Messages to the worker: first the engine and its files, then requests.
export type ToWorker = { id: number; boot: Pick<Live, "engine" | "files"> } | { id: number; request: string };

// Messages from the worker. ended: the engine trapped or could not start, and answers no more.
export type FromWorker = { id: number; answer: Uint8Array } | { id: number; ended: string } | { printed: string };

export const folder = "/model";
