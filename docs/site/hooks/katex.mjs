// node katex.mjs TOOLS: reads {"text", "display"} per line and prints {"html"} or {"error"}.
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";

const katex = createRequire(join(resolve(process.argv[2]), "package.json"))("katex");
for await (const line of createInterface({ input: process.stdin })) {
  const { text, display } = JSON.parse(line);
  try {
    const html = katex.renderToString(text, { displayMode: display, output: "htmlAndMathml", strict: "error" });
    console.log(JSON.stringify({ html }));
  } catch (error) {
    console.log(JSON.stringify({ error: String(error) }));
  }
}
