// The charts of a run, and the switches above them.
import { max, min } from "d3-array";
import { choice, element } from "../shared/dom";
import { count, duration, four, percent, whole, type Format } from "../shared/format";
import { Chart, type ChartOptions, type Curve } from "./chart";
import type { Maybe, Report } from "./data";
import { View, type Point, type Unit } from "./view";

const names: Record<string, string> = {
  bleu: "BLEU",
  chrf: "chrF",
  accuracy: "Accuracy",
  macro_f1: "Macro-F1",
  perplexity: "Perplexity",
};
const shares = new Set(["accuracy", "macro_f1"]);

export function metricName(key: string): string {
  return names[key] ?? key.replaceAll("_", " ").replace(/^./, (letter) => letter.toUpperCase());
}

// Shares of one are shown as percentages; a metric of that name that goes beyond one is no share.
export function metricFormat(key: string, values: Maybe[]): Format {
  if (shares.has(key) && values.every((value) => value === null || (value >= 0 && value <= 1))) return percent;
  return key === "bleu" || key === "chrf" ? (value) => value.toFixed(2) : four;
}

export function metricKeys(report: Report): string[] {
  return [...new Set(report.evals.flatMap((evaluation) => Object.keys(evaluation.metrics)))];
}

function points(steps: number[], values: Maybe[]): Point[] {
  return steps.map((step, index) => ({ step, y: values[index] ?? null }));
}

function charts(report: Report): ChartOptions[] {
  const { steps, evals } = report;
  const curve = (label: string, look: Curve["look"], values: Maybe[]): Curve => ({
    label,
    look,
    points: points(steps.step, values),
  });
  const evaluated = (value: (evaluation: Report["evals"][number]) => Maybe): Curve => ({
    label: "validation",
    look: "validation",
    points: evals
      .filter(({ weights }) => weights === "")
      .map((evaluation) => ({ step: evaluation.step, y: value(evaluation) })),
  });
  const all: ChartOptions[] = [
    {
      id: "loss",
      title: "Loss",
      format: four,
      tick: (value) => String(Number(value.toPrecision(4))),
      height: 340,
      wide: true,
      followsLogLoss: true,
      curves: [
        curve("training", "raw", steps.loss),
        curve("smoothed", "train", steps.smooth_loss),
        evaluated((evaluation) => evaluation.loss),
      ],
    },
  ];
  for (const key of metricKeys(report)) {
    const metric = evaluated((evaluation) => evaluation.metrics[key] ?? null);
    const format = metricFormat(
      key,
      metric.points.map(({ y }) => y),
    );
    const tick = format === percent ? (value: number) => `${Math.round(1000 * value) / 10}%` : count;
    all.push({
      id: `metric-${key.replace(/\W+/g, "-")}`,
      title: `${metricName(key)} (validation)`,
      format,
      tick,
      height: 200,
      curves: [metric],
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
      curves: [curve("", "train", steps.lr)],
    },
    {
      ...small,
      id: "grad-norm",
      title: "Gradient norm",
      format: four,
      tick: count,
      fromZero: true,
      curves: [curve("each", "raw", steps.grad_norm), curve("smoothed", "train", steps.smooth_grad_norm)],
    },
    {
      ...small,
      id: "speed",
      title: "Tokens per second",
      format: count,
      tick: count,
      fromZero: true,
      curves: [curve("each", "raw", steps.speed), curve("smoothed", "train", steps.smooth_speed)],
    },
  );
  return all
    .map((chart) => ({ ...chart, curves: chart.curves.filter(({ points }) => points.some(({ y }) => y !== null)) }))
    .filter(({ curves }) => curves.length > 0);
}

export function curves(report: Report): HTMLElement {
  const known = [...report.steps.step, ...report.evals.map(({ step }) => step)];
  const view = new View(report.steps, [min(known) ?? 0, max(known) ?? 1]);
  const { steps } = report;
  const labels: Record<Unit, string> = { step: "Step", epoch: "Epoch", time: "Time" };
  const where = element("output", { class: "where", "aria-live": "polite" });
  const wholeRun = element("button", { type: "button", class: "whole-run", hidden: true }, "Show the whole run");
  wholeRun.addEventListener("click", () => view.set({ range: null }));
  const bestStep = report.marks.shown.filter(({ kind, best }) => kind === "checkpoint" && best).at(-1)?.step;
  const marks = report.marks.shown.map((mark) => ({ ...mark, best: mark.best && mark.step === bestStep }));

  view.onChange(() => {
    wholeRun.hidden = view.range === null;
    const step = view.cursor;
    if (step === null) return void (where.textContent = "");
    const [epoch, seconds] = [view.place(step, "epoch"), view.place(step, "time")];
    where.textContent = [
      `step ${whole(step)}`,
      epoch !== null && `epoch ${epoch.toFixed(2)}`,
      seconds !== null && duration(seconds),
    ]
      .filter(Boolean)
      .join(" · ");
  });

  const toolbar = element(
    "div",
    { class: "toolbar screen" },
    view.units().length > 1 &&
      choice(
        "Axis",
        view.units().map((unit): [Unit, string] => [unit, labels[unit]]),
        view.unit,
        (unit) => view.set({ unit }),
      ),
    choice<"linear" | "log">(
      "Loss",
      [
        ["linear", "Linear"],
        ["log", "Log"],
      ],
      "linear",
      (scale) => view.set({ logLoss: scale === "log" }),
    ),
    wholeRun,
    where,
  );
  const grid = element("div", { class: "charts" });
  for (const options of charts(report)) grid.append(new Chart(view, marks, options).node);
  return element("section", { class: "curves", "aria-label": "Curves" }, toolbar, grid, notes());

  function notes(): HTMLElement {
    const kinds = new Set<string>(marks.map(({ kind, best }) => (best ? "best" : kind)));
    const line = element("p", { class: "key-notes muted" });
    const meanings: [string, string, string][] = [
      ["checkpoint", "▲", "checkpoint"],
      ["best", "▲", "best checkpoint"],
      ["warning", "◆", "warning"],
      ["resume", "┊", "resumed"],
    ];
    for (const [kind, sign, meaning] of meanings) {
      if (kinds.has(kind))
        line.append(element("span", {}, element("span", { class: `sign ${kind}` }, sign), ` ${meaning}`));
    }
    if (steps.logged > 0)
      line.append(element("span", {}, `smoothed: weights halve every ${whole(Math.max(1, steps.half_life))} steps`));
    if (steps.step.length < steps.logged)
      line.append(
        element(
          "span",
          {},
          `${whole(steps.step.length)} of ${whole(steps.logged)} logged steps are drawn, every peak and valley among them`,
        ),
      );
    line.append(element("span", { class: "screen" }, "drag over a curve to look closer, double-click to go back"));
    return line;
  }
}
