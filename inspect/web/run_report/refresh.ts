// Reloads the page periodically on request, while the run is in progress and its report is being rewritten.
import { radioGroup } from "../shared/dom";
import type { Report } from "./data";

const every = 10; // seconds

export function refreshSwitch(report: Report): HTMLElement | false {
  if (report.end) return false;
  const on = location.hash === "#refresh";
  let timer: number | undefined;
  const start = () => (timer = window.setTimeout(() => location.reload(), every * 1000));
  if (on) start();
  return radioGroup<"off" | "on">(
    "Refresh",
    [
      ["off", "Off"],
      ["on", `Every ${every} s`],
    ],
    on ? "on" : "off",
    (value) => {
      window.clearTimeout(timer);
      history.replaceState(null, "", value === "on" ? "#refresh" : "#");
      if (value === "on") start();
    },
  );
}
