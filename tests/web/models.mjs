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
  return JSON.parse(json);
}
