// The run in a few figures, and in tables what it was made with and what happened.
import { element, visible } from "../shared/dom";
import { count, duration, four, whole } from "../shared/format";
import { markText } from "./chart";
import { metricFormat, metricKeys, metricName } from "./curves";
import type { Maybe, Report } from "./data";

const endings: Record<string, string> = {
  steps: "Finished: all steps done",
  "early stop": "Finished early: validation no longer improved",
  interrupted: "Interrupted",
  time: "Finished: its time was up",
};

function seconds(report: Report): Maybe {
  return report.end?.seconds ?? report.steps.seconds.findLast((value) => value !== null) ?? null;
}

function figure(name: string, value: string, note = ""): HTMLElement {
  return element("div", { class: "figure" }, element("dt", {}, name), element("dd", {}, value), note !== "" && element("dd", { class: "note muted" }, note));
}

export function header(report: Report): HTMLElement {
  const { start, end } = report;
  const task = start.task ?? "training";
  const title = visible(`${task[0]?.toUpperCase() ?? ""}${task.slice(1)} · ${report.folder}`);
  document.title = title;
  const state = end ? (endings[end.reason] ?? `Ended: ${visible(end.reason)}`) : "Has not ended: still running, or cut off";
  const kind = !end ? "open" : end.reason === "interrupted" ? "broken" : "done";
  const moment = start.time === undefined ? null : new Date(start.time);
  const began = moment && !Number.isNaN(moment.getTime()) ? `began ${start.time!.replace("T", " ").replace(/(:\d\d)(?:\.\d+)?Z$/, "$1 UTC")}` : "";
  return element("header", {}, element("h1", { dir: "auto" }, title),
    element("p", { class: `state ${kind}` }, element("span", { class: "dot" }), [state, began].filter(Boolean).join(" · ")));
}

export function figures(report: Report): HTMLElement {
  const { steps, evals, start } = report;
  const list = element("dl", { class: "figures" });
  const last = report.end?.step ?? steps.step.at(-1) ?? 0;
  const epoch = steps.epoch.at(-1);
  list.append(figure("Steps", whole(last), epoch == null ? "" : `${epoch.toFixed(2)} epochs`));
  const time = seconds(report);
  if (time !== null) list.append(figure("Time", duration(time)));
  const smooth = steps.smooth.findLast((value) => value !== null);
  if (smooth != null) list.append(figure("Training loss", four(smooth), "smoothed, at the end"));
  const losses = evals.filter(({ loss }) => loss !== null);
  if (losses.length > 0) {
    const best = losses.reduce((a, b) => (b.loss! < a.loss! ? b : a));
    list.append(figure("Validation loss", four(best.loss!), `best, step ${whole(best.step)}`));
  }
  for (const key of metricKeys(report)) {
    const all = evals.filter(({ metrics }) => metrics[key] != null);
    if (all.length === 0) continue;
    const lower = /loss|perplexity|error|wer|cer/i.test(key);
    const best = all.reduce((a, b) => ((lower ? b.metrics[key]! < a.metrics[key]! : b.metrics[key]! > a.metrics[key]!) ? b : a));
    const format = metricFormat(key, all.map(({ metrics }) => metrics[key] ?? null));
    list.append(figure(metricName(key), format(best.metrics[key]!), `${lower ? "lowest" : "highest"}, step ${whole(best.step)}`));
  }
  const speeds = steps.speed.filter((value): value is number => value !== null).sort((a, b) => a - b);
  if (speeds.length > 0) list.append(figure("Tokens per second", count(speeds[speeds.length >> 1]!), "median"));
  if (start.parameters != null) list.append(figure("Parameters", whole(start.parameters)));
  return list;
}

export function evaluations(report: Report): HTMLElement | null {
  const keys = metricKeys(report);
  if (report.evals.length === 0) return null;
  const formats = keys.map((key) => metricFormat(key, report.evals.map(({ metrics }) => metrics[key] ?? null)));
  const cell = (text: string) => element("td", { class: "number" }, text);
  const rows = report.evals.map(({ step, seconds: at, loss, metrics }) =>
    element("tr", {}, cell(whole(step)), cell(at === null ? "–" : duration(at)), cell(loss === null ? "–" : four(loss)),
      ...keys.map((key, index) => cell(metrics[key] == null ? "–" : formats[index]!(metrics[key]!)))));
  const heads = ["Step", "Time", "Loss", ...keys.map(metricName)].map((name) => element("th", { scope: "col", class: "number" }, visible(name)));
  return element("details", { id: "evaluations" }, element("summary", {}, `Evaluations (${whole(rows.length)})`),
    element("div", { class: "scroll" }, element("table", {}, element("thead", {}, element("tr", {}, ...heads)), element("tbody", {}, ...rows))));
}

export function events(report: Report): HTMLElement | null {
  const { marks } = report;
  const lines = marks.shown.map((mark) => element("li", { class: mark.kind, dir: "auto" }, visible(markText(mark))));
  if (report.steps_done_again > 0)
    lines.push(element("li", {}, `${whole(report.steps_done_again)} logged steps were done again after a resume; the curves show the last time`));
  if (report.unknown_events > 0) lines.push(element("li", {}, `${whole(report.unknown_events)} lines of the log are of kinds that this report does not know`));
  if (marks.shown.length < marks.logged) lines.push(element("li", {}, `${whole(marks.logged - marks.shown.length)} more are in log.jsonl`));
  if (lines.length === 0) return null;
  const warnings = marks.shown.filter(({ kind }) => kind === "warning").length;
  const summary = `Events (${whole(marks.logged)}${warnings > 0 ? `, ${whole(warnings)} of them ${warnings === 1 ? "a warning" : "warnings"}` : ""})`;
  return element("details", { id: "events", open: warnings > 0 && lines.length <= 12 }, element("summary", {}, summary), element("ol", {}, ...lines));
}

function flattened(value: unknown, path: string, into: [string, string][]) {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) {
    for (const [key, inner] of Object.entries(value)) flattened(inner, path === "" ? key : `${path}.${key}`, into);
  } else {
    into.push([path, typeof value === "string" ? value : JSON.stringify(value)]);
  }
}

export function facts(report: Report): HTMLElement {
  const { start } = report;
  const options: [string, string][] = [];
  flattened(start.options ?? {}, "", options);
  const list = element("dl", { class: "options" });
  for (const [name, value] of options) list.append(element("div", {}, element("dt", {}, visible(name)), element("dd", { dir: "auto" }, visible(value))));
  return element("section", { id: "facts" },
    element("h2", {}, "The run"),
    start.machine !== undefined && element("p", { class: "machine muted" }, visible(start.machine)),
    evaluations(report),
    events(report),
    options.length > 0 && element("details", { id: "options" }, element("summary", {}, `Options (${whole(options.length)})`), list),
    start.model !== undefined && element("details", { id: "model" }, element("summary", {}, "Model"), element("pre", {}, visible(start.model))));
}
