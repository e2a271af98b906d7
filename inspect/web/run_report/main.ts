import { element, pageData } from "../shared/dom";
import { confusion } from "./confusion";
import { curves } from "./curves";
import type { Report } from "./data";
import { comparison, facts, figures, header } from "./facts";
import { samples } from "./samples";

const report = pageData() as Report;
const parts = [
  header(report),
  figures(report),
  report.steps.logged + report.evals.length > 0
    ? curves(report)
    : element("p", { class: "muted" }, "Nothing has been logged yet."),
  comparison(report),
  samples(report.samples),
  confusion(report.confusions),
  facts(report),
];
// Unfold details for printing.
let unfolded: HTMLDetailsElement[] = [];
window.addEventListener("beforeprint", () => {
  unfolded = [...document.querySelectorAll<HTMLDetailsElement>("details[data-print]:not([open])")];
  for (const details of unfolded) details.open = true;
});
window.addEventListener("afterprint", () => {
  for (const details of unfolded) details.open = false;
});

document.getElementById("page")!.replaceChildren(...parts.filter((part) => part !== null));
