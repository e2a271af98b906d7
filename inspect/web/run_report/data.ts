// What inspect/run_report.cpp writes into the page. A number that is not there, or not finite, is null.
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
  smooth: Smooth[]; // from light to strong
  logged: number;
}

export interface Eval {
  step: number;
  seconds: Maybe;
  loss: Maybe;
  metrics: Record<string, Maybe>;
  weights: string; // what was evaluated, where it was not the model of that step
}

export interface Samples {
  step: number;
  samples: [input: string, reference: string, output: string][];
  drawn: string; // how they were chosen, where it is known
}

export interface Confusion {
  step: number;
  labels: string[];
  counts: number[][]; // rows: the truth
}

export interface Mark {
  kind: "checkpoint" | "resume" | "warning" | "stop";
  step: number;
  text: string;
  best: boolean;
}

export interface Subset<T> {
  logged: number; // how many there were
  shown: T[];
}

export interface Start {
  time?: string;
  task?: string;
  parameters?: number;
  machine?: string;
  options?: Record<string, unknown>;
  loss_floor?: number; // the smallest training loss there can be, where labels are smoothed
  chance_loss?: number; // of guessing
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
  others: Run[]; // whose curves are drawn beside
}
