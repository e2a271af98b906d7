// Renders the derivations from docs/derivations: a layer's forward and its backward step by step.
import attention from "../../../../docs/derivations/attention.md";
import crossEntropy from "../../../../docs/derivations/cross_entropy.md";
import embedding from "../../../../docs/derivations/embedding.md";
import layerNorm from "../../../../docs/derivations/layer_norm.md";
import linear from "../../../../docs/derivations/linear.md";
import softmax from "../../../../docs/derivations/softmax.md";
import { element } from "../../shared/dom";
import { tex } from "./tex";

export const derivations = {
  linear: ["Linear", linear],
  softmax: ["Softmax", softmax],
  cross_entropy: ["Cross-entropy", crossEntropy],
  layer_norm: ["LayerNorm", layerNorm],
  embedding: ["Embedding", embedding],
  attention: ["Attention", attention],
} as const;
export type Derivation = keyof typeof derivations;

export function derivation(name: Derivation): HTMLElement {
  const article = element("article", { class: "derivation" });
  const blocks = derivations[name][1].trim().split(/\n\s*\n/);
  for (const block of blocks) article.append(...shown(block));
  article.append(
    element("p", { class: "note muted" }, `Full page with code and a worked example: docs/derivations/${name}.md`),
  );
  return article;
}

function shown(block: string): HTMLElement[] {
  const heading = /^(#+) (.*)/.exec(block);
  if (heading) return [element(heading[1]!.length === 1 ? "h2" : "h3", {}, heading[2])];
  const math = /^```math\n([\s\S]*?)\n?```\s*/.exec(block);
  if (math) {
    const rest = block.slice(math[0].length).trim();
    const made = element("div", { class: "math" });
    made.append(tex(math[1]!, true));
    return [made, ...(rest === "" ? [] : shown(rest))];
  }
  if (block.startsWith("```")) return [element("pre", {}, block.replace(/^```.*\n|```$/g, ""))];
  if (/^[-\d]+\.? /.test(block)) {
    const list = element("ul");
    for (const item of block.split(/\n(?=- |\d+\. )/)) list.append(inline("li", item.replace(/^(-|\d+\.) /, "")));
    return [list];
  }
  if (block.startsWith("|")) return [table(block)];
  return [inline("p", block)];
}

function table(block: string): HTMLElement {
  const cells = (line: string) => line.split("|").slice(1, -1);
  const lines = block.split("\n").filter((line) => !/^\|[\s|:-]+$/.test(line));
  return element(
    "table",
    {},
    ...lines.map((line, row) =>
      element("tr", {}, ...cells(line).map((cell) => inline(row === 0 ? "th" : "td", cell.trim()))),
    ),
  );
}

// Renders formulas, code, bold and italics. Links would lead out of the page and become plain text.
function inline(tag: "p" | "li" | "td" | "th", text: string): HTMLElement {
  const made = element(tag);
  const parts = text.replace(/\[([^\]]*)\]\([^)]*\)/g, "$1").split(/(\$[^$]+\$|`[^`]+`|\*\*[^*]+\*\*|\*[^*]+\*)/);
  for (const part of parts) {
    if (part.length > 2 && part.startsWith("$")) made.append(tex(part.slice(1, -1), false));
    else if (part.length > 2 && part.startsWith("`")) made.append(element("code", {}, part.slice(1, -1)));
    else if (part.startsWith("**")) made.append(element("strong", {}, part.slice(2, -2)));
    else if (part.length > 2 && part.startsWith("*")) made.append(element("em", {}, part.slice(1, -1)));
    else made.append(part);
  }
  return made;
}
