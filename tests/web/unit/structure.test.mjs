// The modules of the pages: a page imports its own and the shared ones, and no module imports itself by way of others.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { web } from "./load.mjs";

const sources = readdirSync(web)
  .filter((folder) => ["shared", "explorer", "run_report"].includes(folder))
  .flatMap((folder) => readdirSync(join(web, folder), { recursive: true }).map((name) => join(folder, name)))
  .filter((path) => path.endsWith(".ts") && !path.endsWith(".d.ts"));
const imports = new Map(
  sources.map((path) => {
    const text = readFileSync(join(web, path), "utf8");
    const relative = [...text.matchAll(/^(?:import|export)[^;]*?from "(\.[^"]+)";/gms)].map(([, to]) => to);
    return [path, relative.filter((to) => !to.endsWith(".md")).map((to) => `${join(path, "..", to)}.ts`)];
  }),
);

test("every relative import is one of the sources", () => {
  assert.ok(sources.length > 60);
  for (const [path, all] of imports) for (const to of all) assert.ok(imports.has(to), `${path} imports ${to}`);
});

test("a page imports from its own folder and from shared/, shared/ from itself only", () => {
  const folder = (path) => path.split("/")[0];
  for (const [path, all] of imports)
    for (const to of all) assert.ok([folder(path), "shared"].includes(folder(to)), `${path} imports ${to}`);
});

test("imports form no circle", () => {
  const done = new Set();
  const visit = (path, way) => {
    assert.ok(!way.includes(path), [...way.slice(way.indexOf(path)), path].join(" -> "));
    if (done.has(path)) return;
    for (const to of imports.get(path)) visit(to, [...way, path]);
    done.add(path);
  };
  for (const path of sources) visit(path, []);
});
