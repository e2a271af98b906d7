// What the checks of the explorer page make their pages of.
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { command, work } from "./browser.mjs";

export const run = (...words) => execFileSync(command, words, { encoding: "utf8", stdio: "pipe" });
export const folder = (name) => join(work, `explorer-${name}`);

// The demo's model after a few steps.
export function words() {
  const made = folder("words");
  if (!existsSync(made)) run("demo", "--steps", "40", "--held-out", "5", "--seconds", "0", "--out", made);
  return made;
}

export function dataOf(path) {
  const [, json] = /<script type="application\/json" id="data">(.*?)<\/script>/s.exec(readFileSync(path, "utf8"));
  const data = JSON.parse(json);
  return resolved(data, data.shared);
}

// With what stands there once for several in the place of each.
function resolved(of, shared) {
  if (!of || typeof of !== "object") return of;
  for (const [name, inner] of Object.entries(of)) {
    if (name === "data" && typeof inner === "number") of.data = shared[inner];
    else resolved(inner, shared);
  }
  return of;
}
