// Models and pages for the checks of the explorer.
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { command, work } from "./browser.mjs";

export const run = (...words) => execFileSync(command, words, { encoding: "utf8", stdio: "pipe" });
export const folder = (name) => join(work, `explorer-${name}`);

// The demo's model after a few training steps.
export function words() {
  const made = folder("words");
  if (!existsSync(made))
    run(
      "demo",
      "--steps",
      "40",
      "--pairs",
      "2000",
      "--held-out",
      "5",
      "--seconds",
      "0",
      "--keep-last",
      "3",
      "--out",
      made,
    );
  return made;
}

// Its checkpoints, earliest first.
export const checkpoints = () =>
  readdirSync(words())
    .filter((name) => /^checkpoint-\d+$/.test(name))
    .sort((a, b) => Number(a.split("-")[1]) - Number(b.split("-")[1]));

export const texts = ["--text", "dreiundvierzigtausend", "--text-b", "forty-three", "--logit", "1:-"];
export const cut = { module: "decoder.layers.1.cross_attention", head: 3 };

// Another number with the same token count, and the patches from the first one.
export const corrupted = {
  text: "zweiundsechzigtausend",
  patches: ["decoder.layers.1.cross_attention:3@0", "encoder.layers.1@2"],
};

// A page of that model on a corrupted text, with patches from the clean run.
export function patched() {
  const path = folder("patched.html");
  const beside = ["--corrupted", corrupted.text, ...corrupted.patches.flatMap((patch) => ["--patch", patch])];
  if (!existsSync(path)) run("inspect", "--model", words(), ...texts, ...beside, "--out", path);
  return path;
}

// A page of that model with nudges, compared with a checkpoint and with an ablated head.
export function pulled() {
  const path = folder("pulled.html");
  const beside = ["--beside", join(words(), checkpoints()[0]), "--cut", `${cut.module}:${cut.head}`];
  if (!existsSync(path)) run("inspect", "--model", words(), ...texts, ...beside, "--nudges", "--out", path);
  return path;
}
