// The charts of a run, and the controls above them.
import { max, min } from "d3-array";
import { radioGroup, element, visible } from "../shared/dom";
import { duration, integer } from "../shared/format";
import { Chart } from "./chart";
import { chartOptions, smoothingOf, trainingOnly } from "./chart_options";
import { csvButtons } from "./csv";
import type { Report } from "./data";
import { refreshSwitch } from "./refresh";
import { View, type Unit } from "./view";

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
      `step ${integer(step)}`,
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
      radioGroup(
        "Axis",
        view.units().map((unit): [Unit, string] => [unit, labels[unit]]),
        view.unit,
        (unit) => view.set({ unit }),
      ),
    radioGroup<"linear" | "log">(
      "Loss",
      [
        ["linear", "Linear"],
        ["log", "Log"],
      ],
      "linear",
      (scale) => view.set({ logLoss: scale === "log" }),
    ),
    steps.logged > 0 &&
      radioGroup(
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
  for (const options of chartOptions(report)) grid.append(new Chart(view, marks, options).node);
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
          `the training loss is computed with ${only.join(" and ")}; the validation loss is not and can be much lower`,
        ),
      );
    const smoothing = smoothingOf(report.start);
    if (smoothing !== null) line.append(element("span", { class: "label-smoothing" }, smoothing));
    if (report.others.length > 0)
      line.append(
        element(
          "span",
          {},
          `${visible(report.folder)} is drawn in blue and orange; marks and samples are from this run`,
        ),
      );
    if (steps.logged > 0) {
      const smoothed = element("span", { class: "smoothing" });
      const describe = () => {
        const smooth = view.smooth === null ? null : steps.smooth[view.smooth]!;
        smoothed.textContent = smooth
          ? `smoothed with a half-life of ${integer(Math.max(1, smooth.half_life))} steps`
          : "not smoothed";
      };
      view.onChange(describe);
      describe();
      line.append(smoothed);
    }
    if (steps.step.length < steps.logged)
      line.append(
        element(
          "span",
          {},
          `${integer(steps.step.length)} of ${integer(steps.logged)} logged steps are drawn, including every peak and valley`,
        ),
      );
    line.append(element("span", { class: "screen" }, "drag across a chart to zoom in, double-click to zoom out"));
    line.append(csvButtons(report));
    return line;
  }
}
