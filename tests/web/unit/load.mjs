// Bundles TypeScript modules of the pages with esbuild and imports them.
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export const web = join(dirname(fileURLToPath(import.meta.url)), "../../../inspect/web");
const esbuild = createRequire(join(web, "package.json"))("esbuild");

// Returns the exports of all paths, bundled together so that they share their common modules.
export async function load(...paths) {
  const { outputFiles } = await esbuild.build({
    absWorkingDir: web,
    stdin: { contents: paths.map((path) => `export * from "./${path}";`).join("\n"), resolveDir: web },
    bundle: true,
    write: false,
    format: "esm",
    target: "es2022",
    charset: "ascii",
  });
  return import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString("base64")}`);
}
