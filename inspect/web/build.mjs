// Builds the pages: each folder here with page.html, main.ts and style.css becomes dist/<folder>.html, a single file with
// its script, its styles and the licenses of the packages in it. Usage: node build.mjs [output folder]
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const out = process.argv[2] ?? join(here, "dist");
const read = (...path) => readFileSync(join(here, ...path), "utf8");
const hash = (text) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
const escape = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

// Loads a derivation as text, up to the section about the code, which is useful only next to the sources.
const derivations = {
  name: "derivations",
  setup: ({ onLoad }) =>
    onLoad({ filter: /\.md$/ }, ({ path }) => ({
      contents: readFileSync(path, "utf8").split("\n## The code")[0],
      loader: "text",
    })),
};

// The explorer's worker, bundled into the page as a string that it starts from a blob.
const worker = {
  name: "worker",
  setup: ({ onResolve, onLoad }) => {
    onResolve({ filter: /^live:worker$/ }, ({ path }) => ({ path, namespace: "worker" }));
    onLoad({ filter: /.*/, namespace: "worker" }, async () => ({
      contents: (await bundle("explorer/live/worker.ts")).text,
      loader: "text",
    }));
  },
};

// Tokens in the explorer's policy, which inspect/web_page.cpp replaces: by what a page with the engine needs, or by
// nothing.
const live = { explorer: { script: " live-script", worker: "; live-worker" } };

async function bundle(entry) {
  const result = await build({
    absWorkingDir: here,
    entryPoints: [entry],
    bundle: true,
    minify: true,
    write: false,
    metafile: true,
    format: "iife",
    target: "es2022",
    charset: "ascii",
    plugins: [derivations, worker],
    legalComments: "none", // the page contains the licenses in full
  });
  const text = result.outputFiles[0].text.trim();
  const inputs = Object.values(result.metafile.outputs).flatMap((output) =>
    Object.entries(output.inputs)
      .filter(([, { bytesInOutput }]) => bytesInOutput > 0)
      .map(([path]) => path),
  );
  const packages = new Set(
    inputs.map((path) => /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1]).filter(Boolean),
  );
  return { text, packages };
}

// Lists a license shared by several packages once.
function licenses(packages) {
  const texts = new Map();
  for (const name of [...packages].sort()) {
    const folder = join("node_modules", name);
    const { version, license } = JSON.parse(read(folder, "package.json"));
    const file = readdirSync(join(here, folder)).find((entry) => /^licen[sc]e(\.|$)/i.test(entry));
    if (!file) throw new Error(`${name} has no license file`);
    const text = read(folder, file).trim();
    texts.set(text, [...(texts.get(text) ?? []), `${name} ${version} (${license})`]);
  }
  return [...texts].map(([text, names]) => `${names.join(", ")}\n\n${text}`).join("\n\n\n");
}

mkdirSync(out, { recursive: true });
for (const page of readdirSync(here).filter((folder) => existsSync(join(here, folder, "page.html")))) {
  const script = await bundle(join(page, "main.ts"));
  const style = await bundle(join(page, "style.css"));
  if (/<\/script|<!--/i.test(script.text)) throw new Error(`${page}: the script would close its own element`);
  const more = live[page] ?? { script: "", worker: "" };
  const policy = `default-src 'none'; script-src ${hash(script.text)}${more.script}; style-src ${hash(style.text)}; img-src data:${more.worker}`;
  const parts = {
    policy,
    style: style.text,
    script: script.text,
    licenses: escape(licenses(new Set([...script.packages, ...style.packages]))),
  };
  const html = read(page, "page.html").replace(/\{\{(\w+)\}\}/g, (_, name) => parts[name]);
  if (html.split('"@data@"').length !== 2)
    throw new Error(`${page}: the placeholder for the data must occur exactly once`);
  writeFileSync(join(out, `${page}.html`), html);
  console.log(`${page}.html: ${html.length.toLocaleString("en")} bytes`);
}
