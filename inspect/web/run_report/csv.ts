// Exports the curves as CSV.
import { element } from "../shared/dom";
import type { Maybe, Report, Run } from "./data";

const field = (value: Maybe | string): string => {
  if (value === null) return "";
  const text = String(value);
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
};
const table = (rows: (Maybe | string)[][]) => rows.map((row) => `${row.map(field).join(",")}\n`).join("");

export function stepsCsv(runs: Run[]): string {
  const names = ["step", "epoch", "seconds", "loss", "lr", "grad_norm", "speed"] as const;
  const rows = runs.flatMap(({ folder, steps }) =>
    steps.step.map((_, index) => [folder, ...names.map((name) => steps[name][index] ?? null)]),
  );
  return table([["run", ...names.map((name) => (name === "speed" ? "tokens_per_second" : name))], ...rows]);
}

export function evaluationsCsv(runs: Run[]): string {
  const metrics = [...new Set(runs.flatMap(({ evals }) => evals.flatMap((one) => Object.keys(one.metrics))))];
  const rows = runs.flatMap(({ folder, evals }) =>
    evals.map((one) => [
      folder,
      one.step,
      one.seconds,
      one.loss,
      ...metrics.map((name) => one.metrics[name] ?? null),
      one.weights,
    ]),
  );
  return table([["run", "step", "seconds", "loss", ...metrics, "weights"], ...rows]);
}

export function csvButtons(report: Report): HTMLElement {
  const runs = [report, ...report.others];
  const button = (name: string, file: string, text: () => string) => {
    const made = element("button", { type: "button" }, name);
    made.addEventListener("click", () => {
      const link = element("a", {
        href: URL.createObjectURL(new Blob([text()], { type: "text/csv" })),
        download: `${report.folder}-${file}.csv`,
      });
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
    });
    return made;
  };
  return element(
    "span",
    { class: "csv screen" },
    element("span", { class: "muted" }, "CSV "),
    report.steps.logged > 0 && button("Steps", "steps", () => stepsCsv(runs)),
    report.evals.length > 0 && button("Evaluations", "evaluations", () => evaluationsCsv(runs)),
  );
}
