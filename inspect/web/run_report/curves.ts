// The charts of a run, and the switches above them.
import { max, min } from "d3-array";
import { choice, element, visible } from "../shared/dom";
import { count, duration, four, percent, whole, type Format } from "../shared/format";
import { Chart, type ChartOptions, type Curve } from "./chart";
import { csvButtons } from "./csv";
import type { Maybe, Report, Run, Smooth, Start } from "./data";
import { refreshSwitch } from "./refresh";
import { View, type Point, type Unit } from "./view";

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

// Shares of one are shown as percentages; a metric of that name that goes beyond one is no share.
export function metricFormat(key: string, values: Maybe[]): Format {
  if (shares.has(key) && values.every((value) => value === null || (value >= 0 && value <= 1))) return percent;
  return key === "bleu" || key === "chrf" ? (value) => value.toFixed(2) : four;
}

export function metricKeys(report: Run): string[] {
  return [...new Set(report.evals.flatMap((evaluation) => Object.keys(evaluation.metrics)))];
}

// A number among the options of a run.
function option(start: Start, name: string): number {
  const value = start.options?.[name];
  return typeof value === "number" ? value : 0;
}

// What the training loss is computed with, and the validation loss is not.
export function trainingOnly(start: Start): string[] {
  const [smoothing, dropout] = [option(start, "label_smoothing"), option(start, "dropout")];
  return [...(smoothing > 0 ? [`label smoothing ${smoothing}`] : []), ...(dropout > 0 ? [`dropout ${dropout}`] : [])];
}

function points(steps: number[], values: Maybe[]): Point[] {
  return steps.map((step, index) => ({ step, y: values[index] ?? null }));
}

// This run, and the others with their names.
function runs(report: Report): { run: Run; name: string; other?: Curve["other"] }[] {
  const named = report.others.map((run, place) => ({ run, name: visible(run.folder), other: { place, steps: run.steps } }));
  return [{ run: report, name: "" }, ...named];
}

// The least training loss that smoothed labels allow, where any training loss was logged.
function floor({ start, steps }: Report): Curve[] {
  const least = start.loss_floor;
  if (typeof least !== "number" || steps.step.length === 0) return [];
  const ends = [steps.step[0]!, steps.step.at(-1)!];
  return [{ label: "smallest possible training loss", look: "floor", points: ends.map((step) => ({ step, y: least })) }];
}

function charts(report: Report): ChartOptions[] {
  const { steps } = report;
  const curve = (label: string, look: Curve["look"], values: Maybe[]): Curve => ({
    label,
    look,
    points: points(steps.step, values),
  });
  // The smoothed curve of a run, and of the others those that bear their names.
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
      format: four,
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
    const tick = format === percent ? (value: number) => `${Math.round(1000 * value) / 10}%` : count;
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
      format: four,
      tick: count,
      fromZero: true,
      curves: [curve("each", "raw", steps.grad_norm), ...smoothed("grad_norm")],
    },
    {
      ...small,
      id: "speed",
      title: "Tokens per second",
      format: count,
      tick: count,
      fromZero: true,
      curves: [curve("each", "raw", steps.speed), ...smoothed("speed")],
    },
  );
  return all
    .map((chart) => ({ ...chart, curves: chart.curves.filter(({ points }) => points.some(({ y }) => y !== null)) }))
    .filter(({ curves }) => curves.length > 0);
}

export function curves(report: Report): HTMLElement {
  const known = [report, ...report.others].flatMap(({ steps, evals }) => [
    ...steps.step,
    ...evals.map(({ step }) => step),
  ]);
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
    steps.logged > 0 &&
      choice(
        "Smoothing",
        [
          ["none", "None"],
          ["0", "Light"],
          ["1", "Medium"],
          ["2", "Strong"],
        ],
        "1",
        (level) => view.set({ smooth: level === "none" ? null : Number(level) }),
      ),
    refreshSwitch(report),
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
    const only = trainingOnly(report.start);
    if (only.length > 0 && report.evals.length > 0 && steps.logged > 0)
      line.append(
        element(
          "span",
          { class: "losses" },
          `the training loss is computed with ${only.join(" and ")}, the validation loss without: it can be far lower`,
        ),
      );
    if (report.others.length > 0)
      line.append(element("span", {}, `${visible(report.folder)} is in blue and orange, its marks and samples are shown`));
    if (steps.logged > 0) {
      const smoothing = element("span", { class: "smoothing" });
      const say = () => {
        const smooth = view.smooth === null ? null : steps.smooth[view.smooth]!;
        smoothing.textContent = smooth
          ? `smoothed: weights halve every ${whole(Math.max(1, smooth.half_life))} steps`
          : "not smoothed";
      };
      view.onChange(say);
      say();
      line.append(smoothing);
    }
    if (steps.step.length < steps.logged)
      line.append(
        element(
          "span",
          {},
          `${whole(steps.step.length)} of ${whole(steps.logged)} logged steps are drawn, every peak and valley among them`,
        ),
      );
    line.append(element("span", { class: "screen" }, "drag over a curve to look closer, double-click to go back"));
    line.append(csvButtons(report));
    return line;
  }
}
