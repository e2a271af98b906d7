// The import structure of the pages: no circles, and no imports from one page to the other.
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

test("every relative import is a source file", () => {
  assert.ok(sources.length > 60);
  for (const [path, all] of imports) for (const to of all) assert.ok(imports.has(to), `${path} imports ${to}`);
});

test("a page imports only from its own folder and shared/, and shared/ only from itself", () => {
  const folder = (path) => path.split("/")[0];
  for (const [path, all] of imports)
    for (const to of all) assert.ok([folder(path), "shared"].includes(folder(to)), `${path} imports ${to}`);
});

test("there are no circular imports", () => {
  const done = new Set();
  const visit = (path, way) => {
    assert.ok(!way.includes(path), [...way.slice(way.indexOf(path)), path].join(" -> "));
    if (done.has(path)) return;
    for (const to of imports.get(path)) visit(to, [...way, path]);
    done.add(path);
  };
  for (const path of sources) visit(path, []);
});
