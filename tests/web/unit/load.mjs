// Bundles modules of the pages with esbuild, as build.mjs does, and imports the result.
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export const web = join(dirname(fileURLToPath(import.meta.url)), "../../../inspect/web");
const esbuild = createRequire(join(web, "package.json"))("esbuild");

// One bundle for all paths, so that modules they share are loaded once: the exports of all, in one object.
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
