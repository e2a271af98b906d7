// Deterministic made-up logs that resemble those of real runs. Used by check_run_report.mjs, and by hand:
//   node tests/web/make_log.mjs translation|classifier|long|hostile FOLDER
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

export const hostile = `</script><img src=x onerror="window.broken=1"><!-- & "quoted" \u2028\u2029 \u202e right \u0000 to left`;

// mulberry32 (public domain).
function random(seed) {
  return () => {
    seed = (seed + 0x6d2b79f5) | 0;
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

const model = `Transformer(                                    5,221,888
  (source_embedding): Embedding(8000, 128)      1,024,000
  (encoder): TransformerEncoder(                  793,088
    (layers.0): EncoderLayer(                     198,272
      (self_attention): MultiHeadAttention(128, heads 8)
      (feed_forward): FeedForward(128 -> 512 -> 128)
    )
  )
)
5,221,888 parameters`;

export function start(task, options, more = {}) {
  return {
    event: "start",
    time: "2026-01-05T09:30:00Z",
    task,
    parameters: 5221888,
    machine: "tapeformer 0.1.0 · AMD EPYC-Genoa · kernels v4 · OpenBLAS 0.3.21 (openmp), Cooperlake · 2 threads",
    options,
    ...more,
    model,
  };
}

// Log lines of updates first to steps, one for each `every`: a warm-up, a falling loss with noise and some spikes.
export function updates({
  first = 1,
  steps,
  every = 1,
  perEpoch,
  seed,
  from = 9,
  to = 1.2,
  warmup = 400,
  second = 0.4,
}) {
  const draw = random(seed);
  const lines = [];
  for (let step = first; step <= steps; ++step) {
    const noise = draw() + draw() + draw() - 1.5;
    const spike = draw() > 0.997 ? 1 + draw() : 0;
    if (step % every !== 0) continue;
    const progress = step / steps;
    const loss = to + (from - to) * Math.exp(-9 * Math.sqrt(progress)) + 0.12 * noise + spike;
    lines.push({
      event: "step",
      step,
      epoch: step / perEpoch,
      loss,
      lr: 0.005 * Math.min(step / warmup, Math.sqrt(warmup / step)),
      grad_norm: 0.6 + 3 * Math.exp(-step / warmup) + 0.15 * Math.abs(noise) + 2 * spike,
      tokens: 7900 + Math.round(200 * noise),
      tokens_per_second: 20100 + 900 * noise - (draw() > 0.99 ? 6000 : 0),
      seconds: second * step,
    });
  }
  return lines;
}

const german = [
  "Ein Mann mit einem roten Hut sitzt auf einer Bank und liest eine Zeitung.",
  "Zwei Kinder spielen im Park Fußball.",
  "Eine Frau steht vor einem Gebäude und telefoniert.",
];
const english = [
  "A man in a red hat is sitting on a bench reading a newspaper.",
  "Two children are playing football in the park.",
  "A woman stands in front of a building, talking on the phone.",
];
const written = [
  ["A man in a man in a man.", "Two men are a a.", "A woman in a woman."],
  [
    "A man with a red hat is sitting on a bench and reading.",
    "Two children play soccer in the park.",
    "A woman is standing in front of a building.",
  ],
  [
    "A man in a red hat is sitting on a bench and reading a newspaper.",
    "Two children are playing soccer in the park.",
    "A woman stands in front of a building, on the phone.",
  ],
];

export function translation({ hostile: extra = false } = {}) {
  const options = {
    preset: "tiny",
    layers: 4,
    d_model: 128,
    heads: 8,
    batch_tokens: 8000,
    schedule: { kind: "inverse_sqrt", warmup: 400, peak: 0.005 },
    label_smoothing: 0.1,
    dropout: 0.1,
    seed: 1,
    src: "train.de",
    tgt: "train.en",
  };
  const lines = [start("translation", options, { loss_floor: 1.2237, chance_loss: 8.987 })];
  for (const line of updates({ steps: 4000, every: 2, perEpoch: 231, seed: 7 })) {
    const { step } = line;
    if (step === 2502) lines.push({ event: "resume", step: 2500 });
    lines.push(line);
    if (step % 250 !== 0) continue;
    const progress = step / 4000;
    lines.push({
      event: "eval",
      step,
      seconds: 0.4 * step + 3,
      loss: 1.5 + 6 * Math.exp(-6 * Math.sqrt(progress)),
      metrics: { bleu: 41.3 * (1 - Math.exp(-4 * progress)) },
    });
    const level = Math.min(2, Math.floor(progress * 3));
    const samples = german.map((input, row) => ({ input, reference: english[row], output: written[level][row] }));
    if (extra) samples.push({ input: hostile, reference: hostile, output: hostile });
    lines.push({ event: "samples", step, samples, drawn: "8 of 500 validation pairs, drawn with seed 7" });
    lines.push({ event: "checkpoint", step, folder: `checkpoint-${step}`, best: progress < 0.9 });
  }
  lines.push({
    event: "warning",
    step: 1200,
    text: extra ? hostile : "31 pairs are longer than 256 tokens and were left out",
  });
  lines.push({ event: "eval", step: 4000, seconds: 1604, loss: 1.4921, metrics: { bleu: 41.27 }, weights: "average" });
  lines.push({ event: "end", step: 4000, seconds: 1604, reason: "steps", metrics: { bleu: 40.54 } });
  return lines;
}

export function classifier() {
  const labels = ["ABBR", "DESC", "ENTY", "HUM", "LOC", "NUM"];
  const lines = [start("classification", { init: "minilm", epochs: 3, batch: 32, peak: 2e-4 })];
  for (const line of updates({ steps: 510, perEpoch: 170, seed: 3, from: 1.8, to: 0.05, warmup: 51, second: 0.23 })) {
    lines.push({ ...line, loss: Math.max(0.002, line.loss * 0.6) });
    if (line.step % 85 !== 0) continue;
    const wrong = Math.round(60 * Math.exp(-line.step / 130)) + 2;
    const counts = labels.map((_, row) =>
      labels.map((__, column) =>
        row === column
          ? [9, 138, 94, 65, 81, 113][row] - Math.min(7, wrong)
          : (row * 7 + column * 3) % 5 < 2
            ? Math.ceil(wrong / 6)
            : 0,
      ),
    );
    lines.push({
      event: "eval",
      step: line.step,
      seconds: 0.23 * line.step,
      loss: 0.15 + 1.5 * Math.exp(-line.step / 90),
      metrics: { accuracy: 0.964 - 0.4 * Math.exp(-line.step / 90), macro_f1: 0.951 - 0.5 * Math.exp(-line.step / 90) },
    });
    lines.push({ event: "confusion", step: line.step, labels, counts });
  }
  lines.push({ event: "end", step: 510, seconds: 119.2, reason: "steps", metrics: { accuracy: 0.962 } });
  return lines;
}

export function long() {
  const lines = [start("language model", { preset: "shakespeare" })];
  for (const line of updates({ steps: 100000, perEpoch: 1040, seed: 5, from: 4.2, to: 1.4 })) {
    lines.push(line);
    if (line.step % 500 !== 0) continue;
    const loss = 1.55 + 2.6 * Math.exp(-line.step / 9000);
    lines.push({
      event: "eval",
      step: line.step,
      seconds: 0.4 * line.step,
      loss,
      metrics: { perplexity: Math.exp(loss) },
    });
    lines.push({
      event: "samples",
      step: line.step,
      samples: [
        {
          input: "ROMEO:",
          reference: "",
          output: "ROMEO:\nWhat say you to the " + "king of this our house, ".repeat(20),
        },
      ],
    });
    lines.push({ event: "checkpoint", step: line.step, folder: `checkpoint-${line.step}`, best: true });
  }
  return lines;
}

const begun = () => [start("language model", {})];
const first = () => [
  ...begun(),
  { event: "eval", step: 0, seconds: 0, loss: 4.2, metrics: {} },
  { event: "step", step: 1, loss: null, seconds: 0.2 },
  { event: "step", step: 2, loss: 4.1, seconds: 0.4 },
];

// Metrics between 0 and 1, one of which is not a share.
export function shares() {
  const lines = [start("number words", { label_smoothing: 0, dropout: 0 })];
  for (const line of updates({ steps: 80, perEpoch: 40, seed: 5, warmup: 8 })) {
    lines.push(line);
    if (line.step % 10 !== 0) continue;
    const exact = 0.98 - 0.0005 * (80 - line.step);
    const metrics = { exact, f1: exact - 0.3, recall_at_1: exact / 2, distance: 1 - exact };
    lines.push({ event: "eval", step: line.step, seconds: line.seconds, loss: 0.4, metrics });
  }
  return lines;
}

export const kinds = {
  shares,
  translation,
  classifier,
  long,
  begun,
  first,
  hostile: () => translation({ hostile: true }),
};

export function writeLog(folder, lines) {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "log.jsonl"), lines.map((line) => JSON.stringify(line) + "\n").join(""));
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) writeLog(process.argv[3], kinds[process.argv[2]]());
