// The JSON that inspect/run_report/run_report.cpp embeds in the page. A number that is missing or not finite is null.
export type Maybe = number | null;

export interface Smooth {
  half_life: number; // in steps
  loss: Maybe[];
  grad_norm: Maybe[];
  speed: Maybe[];
}

export interface Steps {
  step: number[];
  epoch: Maybe[];
  seconds: Maybe[];
  loss: Maybe[];
  lr: Maybe[];
  grad_norm: Maybe[];
  speed: Maybe[];
  smooth: Smooth[]; // from light to strong smoothing
  logged: number;
}

export interface Eval {
  step: number;
  seconds: Maybe;
  loss: Maybe;
  metrics: Record<string, Maybe>;
  weights: string; // name of the evaluated weights, "" for the model itself
}

export interface Samples {
  step: number;
  samples: [input: string, reference: string, output: string][];
  drawn: string; // how they were chosen, "" if unknown
}

export interface Confusion {
  step: number;
  labels: string[];
  counts: number[][]; // counts[truth][prediction]
}

export interface Mark {
  kind: "checkpoint" | "resume" | "warning" | "stop";
  step: number;
  text: string;
  best: boolean;
}

export interface Subset<T> {
  logged: number; // total number; shown may be fewer
  shown: T[];
}

export interface Start {
  time?: string;
  task?: string;
  parameters?: number;
  machine?: string;
  options?: Record<string, unknown>;
  loss_floor?: number; // smallest possible training loss under label smoothing
  chance_loss?: number; // loss of a uniform guess
  model?: string;
}

export interface Run {
  folder: string;
  start: Start;
  steps: Steps;
  evals: Eval[];
  end: { step: number; seconds: Maybe; reason: string; metrics: Record<string, Maybe> } | null;
}

export interface Report extends Run {
  samples: Subset<Samples>;
  confusions: Subset<Confusion>;
  marks: Subset<Mark>;
  steps_done_again: number;
  unknown_events: number;
  others: Run[]; // runs to compare with
}
