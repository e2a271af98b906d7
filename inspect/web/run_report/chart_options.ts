// The charts of a run: which ones its log gives, their curves and their number formats.
import { visible } from "../shared/dom";
import { compact, fourDigits, percent, type Format } from "../shared/format";
import { smoothingNote } from "../shared/smoothing";
import type { ChartOptions, Curve } from "./chart";
import type { Maybe, Report, Run, Smooth, Start } from "./data";
import type { Point } from "./view";

const names: Record<string, string> = {
  bleu: "BLEU",
  chrf: "chrF",
  accuracy: "Accuracy",
  macro_f1: "Macro-F1",
  perplexity: "Perplexity",
};
const shares = new Set(["accuracy", "macro_f1", "f1", "exact", "recall_at_1"]);

export function metricName(key: string): string {
  return names[key] ?? key.replaceAll("_", " ").replace(/^./, (letter) => letter.toUpperCase());
}

// Shares are shown as percentages, unless a value is outside of [0, 1].
export function metricFormat(key: string, values: Maybe[]): Format {
  if (shares.has(key) && values.every((value) => value === null || (value >= 0 && value <= 1))) return percent;
  return key === "bleu" || key === "chrf" ? (value) => value.toFixed(2) : fourDigits;
}

export function metricKeys(report: Run): string[] {
  return [...new Set(report.evals.flatMap((evaluation) => Object.keys(evaluation.metrics)))];
}

// A numeric option of a run, 0 if absent.
function option(start: Start, name: string): number {
  const value = start.options?.[name];
  return typeof value === "number" ? value : 0;
}

// Regularization that applies to the training loss but not to the validation loss.
export function trainingOnly(start: Start): string[] {
  const [smoothing, dropout] = [option(start, "label_smoothing"), option(start, "dropout")];
  return [...(smoothing > 0 ? [`label smoothing ${smoothing}`] : []), ...(dropout > 0 ? [`dropout ${dropout}`] : [])];
}

// What label smoothing does to the probabilities; null without it or if the number of classes is unknown.
export function smoothingOf(start: Start): string | null {
  const [smoothing, classes] = [option(start, "label_smoothing"), option(start, "vocab_size")];
  return smoothing > 0 && classes > 0 ? smoothingNote(smoothing, classes) : null;
}

function points(steps: number[], values: Maybe[]): Point[] {
  return steps.map((step, index) => ({ step, y: values[index] ?? null }));
}

// This run, and the others with their names.
function runs(report: Report): { run: Run; name: string; other?: Curve["other"] }[] {
  const named = report.others.map((run, place) => ({
    run,
    name: visible(run.folder),
    other: { place, steps: run.steps },
  }));
  return [{ run: report, name: "" }, ...named];
}

// The smallest training loss possible with label smoothing, if any training loss was logged.
function floor({ start, steps }: Report): Curve[] {
  const least = start.loss_floor;
  if (typeof least !== "number" || steps.step.length === 0) return [];
  const ends = [steps.step[0]!, steps.step.at(-1)!];
  return [
    { label: "smallest possible training loss", look: "floor", points: ends.map((step) => ({ step, y: least })) },
  ];
}

export function chartOptions(report: Report): ChartOptions[] {
  const { steps } = report;
  const curve = (label: string, look: Curve["look"], values: Maybe[]): Curve => ({
    label,
    look,
    points: points(steps.step, values),
  });
  // The smoothed curves of all runs.
  const smoothed = (key: "loss" | "grad_norm" | "speed"): Curve[] =>
    runs(report).map(({ run, name, other }) => {
      const all = run.steps.smooth.map((smooth: Smooth) => points(run.steps.step, smooth[key]));
      return { label: name || "smoothed", look: "train", points: all[1] ?? [], smoothed: all, other };
    });
  const evaluated = (value: (evaluation: Report["evals"][number]) => Maybe): Curve[] =>
    runs(report).map(({ run, name, other }) => ({
      label: name === "" ? "validation" : `${name}, validation`,
      look: "validation",
      other,
      points: run.evals
        .filter(({ weights }) => weights === "")
        .map((evaluation) => ({ step: evaluation.step, y: value(evaluation) })),
    }));
  const only = trainingOnly(report.start);
  const all: ChartOptions[] = [
    {
      id: "loss",
      title: "Loss",
      format: fourDigits,
      tick: (value) => String(Number(value.toPrecision(4))),
      height: 340,
      wide: true,
      followsLogLoss: true,
      curves: [
        curve(`training${only.length > 0 ? ` (${only.join(", ")})` : ""}`, "raw", steps.loss),
        ...smoothed("loss"),
        ...evaluated((evaluation) => evaluation.loss),
        ...floor(report),
      ],
    },
  ];
  for (const key of metricKeys(report)) {
    const metrics = evaluated((evaluation) => evaluation.metrics[key] ?? null);
    const format = metricFormat(
      key,
      metrics.flatMap(({ points }) => points.map(({ y }) => y)),
    );
    const tick = format === percent ? (value: number) => `${Math.round(1000 * value) / 10}%` : compact;
    all.push({
      id: `metric-${key.replace(/\W+/g, "-")}`,
      title: `${metricName(key)} (validation)`,
      format,
      tick,
      height: 200,
      curves: metrics,
    });
  }
  const small = { height: 200 };
  const tiny: Format = (value) =>
    value !== 0 && Math.abs(value) < 1e-3 ? value.toExponential() : String(Number(value.toPrecision(6)));
  all.push(
    {
      ...small,
      id: "lr",
      title: "Learning rate",
      format: (value) => value.toExponential(3),
      tick: tiny,
      fromZero: true,
      curves: runs(report).map(({ run, name, other }) => ({
        label: name || visible(report.folder),
        look: "train",
        points: points(run.steps.step, run.steps.lr),
        other,
      })),
    },
    {
      ...small,
      id: "grad-norm",
      title: "Gradient norm",
      format: fourDigits,
      tick: compact,
      fromZero: true,
      curves: [curve("each", "raw", steps.grad_norm), ...smoothed("grad_norm")],
    },
    {
      ...small,
      id: "speed",
      title: "Tokens per second",
      format: compact,
      tick: compact,
      fromZero: true,
      curves: [curve("each", "raw", steps.speed), ...smoothed("speed")],
    },
  );
  return all
    .map((chart) => ({ ...chart, curves: chart.curves.filter(({ points }) => points.some(({ y }) => y !== null)) }))
    .filter(({ curves }) => curves.length > 0);
}
