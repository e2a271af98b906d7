// Key figures of the run, and tables of its options, evaluations and events.
import { element, visible } from "../shared/dom";
import { compact, duration, fourDigits, integer } from "../shared/format";
import { metricFormat, metricKeys, metricName, trainingOnly } from "./chart_options";
import type { Eval, Maybe, Report, Run } from "./data";
import { markText } from "./marks";

const endings: Record<string, string> = {
  steps: "Finished: all steps done",
  "early stop": "Finished early: validation no longer improved",
  interrupted: "Interrupted",
  time: "Finished: time limit reached",
};

function seconds(report: Run): Maybe {
  return report.end?.seconds ?? report.steps.seconds.findLast((value) => value !== null) ?? null;
}

interface Figure {
  name: string;
  value: string;
  note?: string;
}

function shown({ name, value, note = "" }: Figure): HTMLElement {
  return element(
    "div",
    { class: "figure" },
    element("dt", {}, name),
    element("dd", {}, value),
    note !== "" && element("dd", { class: "note muted" }, note),
  );
}

export function header(report: Report): HTMLElement {
  const { start, end } = report;
  const task = start.task ?? "training";
  const title = visible(`${task[0]?.toUpperCase() ?? ""}${task.slice(1)} · ${report.folder}`);
  document.title = title;
  const state = end
    ? (endings[end.reason] ?? `Ended: ${visible(end.reason)}`)
    : "Not finished: still running, or interrupted";
  const kind = !end ? "open" : end.reason === "interrupted" ? "broken" : "done";
  const moment = start.time === undefined ? null : new Date(start.time);
  const began =
    moment && !Number.isNaN(moment.getTime())
      ? `started ${start.time!.replace("T", " ").replace(/(:\d\d)(?:\.\d+)?Z$/, "$1 UTC")}`
      : "";
  return element(
    "header",
    {},
    element("h1", { dir: "auto" }, title),
    element(
      "p",
      { class: `state ${kind}` },
      element("span", { class: "dot" }),
      [state, began].filter(Boolean).join(" · "),
    ),
  );
}

const at = ({ step, weights }: Eval) => `step ${integer(step)}${weights === "" ? "" : ` (${visible(weights)})`}`;

// Key figures of a run.
export function figuresOf(report: Run): Figure[] {
  const { steps, evals, start } = report;
  const list: Figure[] = [];
  const figure = (name: string, value: string, note = "") => list.push({ name, value, note });
  const last = report.end?.step ?? steps.step.at(-1) ?? 0;
  const epoch = steps.epoch.at(-1);
  figure("Steps", integer(last), epoch == null ? "" : `${epoch.toFixed(2)} epochs`);
  const time = seconds(report);
  if (time !== null && time < 60) figure("Time", `${Number(time.toPrecision(2))} s`);
  else if (time !== null) figure("Time", duration(time), time < 3600 ? "minutes:seconds" : "hours:minutes:seconds");
  const smooth = (steps.smooth[1]?.loss ?? []).findLast((value) => value !== null);
  if (smooth != null)
    figure("Training loss", fourDigits(smooth), ["smoothed, at the end", ...trainingOnly(start)].join("; "));
  const losses = evals.filter(({ loss }) => loss !== null);
  if (losses.length > 0) {
    const best = losses.reduce((a, b) => (b.loss! < a.loss! ? b : a));
    figure("Validation loss", fourDigits(best.loss!), `best, ${at(best)}`);
  }
  for (const key of metricKeys(report)) {
    const all = evals.filter(({ metrics }) => metrics[key] != null);
    if (all.length === 0) continue;
    const lower = /(^|_)(loss|perplexity|error|wer|cer|ter)(_|$)/i.test(key);
    const best = all.reduce((a, b) =>
      (lower ? b.metrics[key]! < a.metrics[key]! : b.metrics[key]! > a.metrics[key]!) ? b : a,
    );
    const format = metricFormat(
      key,
      all.map(({ metrics }) => metrics[key] ?? null),
    );
    figure(metricName(key), format(best.metrics[key]!), `${lower ? "lowest" : "highest"}, ${at(best)}`);
  }
  const speeds = steps.speed.filter((value): value is number => value !== null).sort((a, b) => a - b);
  if (speeds.length > 0) figure("Tokens per second", compact(speeds[speeds.length >> 1]!), "median");
  if (start.parameters != null) figure("Parameters", integer(start.parameters));
  return list;
}

export function figures(report: Report): HTMLElement {
  return element("dl", { class: "figures" }, ...figuresOf(report).map(shown));
}

// Comparison with other runs: the figures of each, and the options that differ.
export function comparison(report: Report): HTMLElement | null {
  if (report.others.length === 0) return null;
  const runs: Run[] = [report, ...report.others];
  const figures = runs.map((run) => new Map(figuresOf(run).map(({ name, value }) => [name, value])));
  const options = runs.map(({ start }) => {
    const list: [string, string][] = [];
    flattened(start.options ?? {}, "", list);
    return new Map(list);
  });
  const names = (maps: Map<string, string>[]) => [...new Set(maps.flatMap((map) => [...map.keys()]))];
  const differing = names(options).filter((name) => new Set(options.map((map) => map.get(name))).size > 1);
  const row = (name: string, values: (string | undefined)[]) =>
    element(
      "tr",
      {},
      element("th", { scope: "row" }, visible(name)),
      ...values.map((value) =>
        element("td", { class: "number", dir: "auto" }, value === undefined ? "–" : visible(value)),
      ),
    );
  const body = (id: string, title: string, rows: HTMLElement[]) =>
    element(
      "tbody",
      { id },
      element("tr", {}, element("th", { scope: "rowgroup", class: "group", colspan: runs.length + 1 }, title)),
      ...rows,
    );
  return element(
    "section",
    { id: "comparison" },
    element("h2", {}, "Run comparison"),
    element(
      "div",
      { class: "scroll" },
      element(
        "table",
        {},
        element(
          "thead",
          {},
          element(
            "tr",
            {},
            element("th", {}),
            ...runs.map(({ folder }) => element("th", { scope: "col", class: "number", dir: "auto" }, visible(folder))),
          ),
        ),
        body(
          "compared-figures",
          "Figures",
          names(figures).map((name) =>
            row(
              name,
              figures.map((map) => map.get(name)),
            ),
          ),
        ),
        differing.length > 0 &&
          body(
            "compared-options",
            "Options that differ",
            differing.map((name) =>
              row(
                name,
                options.map((map) => map.get(name) ?? "not set"),
              ),
            ),
          ),
      ),
    ),
    differing.length === 0 && element("p", { class: "muted" }, "All options are the same."),
  );
}

export function evaluations(report: Report): HTMLElement | null {
  const keys = metricKeys(report);
  if (report.evals.length === 0) return null;
  const formats = keys.map((key) =>
    metricFormat(
      key,
      report.evals.map(({ metrics }) => metrics[key] ?? null),
    ),
  );
  const cell = (text: string) => element("td", { class: "number" }, text);
  const named = report.evals.some(({ weights }) => weights !== "");
  const rows = report.evals.map(({ step, seconds: at, loss, metrics, weights }) =>
    element(
      "tr",
      {},
      named && element("td", {}, visible(weights)),
      cell(integer(step)),
      cell(at === null ? "–" : duration(at)),
      cell(loss === null ? "–" : fourDigits(loss)),
      ...keys.map((key, index) => cell(metrics[key] == null ? "–" : formats[index]!(metrics[key]))),
    ),
  );
  const heads = ["Step", "Time", "Loss", ...keys.map(metricName)].map((name) =>
    element("th", { scope: "col", class: "number" }, visible(name)),
  );
  return element(
    "details",
    { id: "evaluations", "data-print": rows.length <= 40 },
    element("summary", {}, `Evaluations (${integer(rows.length)})`),
    element(
      "div",
      { class: "scroll" },
      element(
        "table",
        {},
        element("thead", {}, element("tr", {}, named && element("th", { scope: "col" }, "Weights"), ...heads)),
        element("tbody", {}, ...rows),
      ),
    ),
  );
}

function folded(id: string, summary: string, lines: string[], open: boolean): HTMLElement | null {
  if (lines.length === 0) return null;
  const items = lines.map((line) => element("li", { dir: "auto" }, visible(line)));
  return element(
    "details",
    { id, open, "data-print": lines.length <= 40 },
    element("summary", {}, summary),
    element("ol", {}, ...items),
  );
}

export function events(report: Report): (HTMLElement | null)[] {
  const { marks } = report;
  const warnings = marks.shown.filter(({ kind }) => kind === "warning");
  const others = marks.shown.filter(({ kind }) => kind !== "warning");
  const left = marks.logged - marks.shown.length;
  const notes = [
    report.steps_done_again > 0 &&
      `${integer(report.steps_done_again)} logged steps were repeated after a resume; the curves show the last repetition.`,
    report.unknown_events > 0 &&
      `${integer(report.unknown_events)} log lines have an event type that this report does not know.`,
    left > 0 && `${integer(left)} more events are in log.jsonl.`,
  ].filter((note) => note !== false);
  return [
    folded("warnings", `Warnings (${integer(warnings.length)})`, warnings.map(markText), warnings.length <= 12),
    folded("events", `Checkpoints, stops and resumes (${integer(others.length)})`, others.map(markText), false),
    notes.length > 0 ? element("p", { class: "note muted" }, notes.join(" ")) : null,
  ];
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
  const list = element("dl", { class: "option-list" });
  for (const [name, value] of options)
    list.append(element("div", {}, element("dt", {}, visible(name)), element("dd", { dir: "auto" }, visible(value))));
  return element(
    "section",
    { id: "facts" },
    element("h2", {}, "The run"),
    start.machine !== undefined && element("p", { class: "machine muted" }, visible(start.machine)),
    evaluations(report),
    ...events(report),
    options.length > 0 &&
      element(
        "details",
        { id: "options", "data-print": true },
        element("summary", {}, `Options (${integer(options.length)})`),
        list,
      ),
    start.model !== undefined &&
      element("details", { id: "model" }, element("summary", {}, "Model"), element("pre", {}, visible(start.model))),
  );
}
