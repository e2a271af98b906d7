// Names of edits for a reader.
import type { App } from "../app";
import { exact } from "../../shared/numbers";
import { visible } from "../../shared/dom";
import { shortened } from "../widgets/switches";
import { operationOf } from "./element";
import type { Edit } from "./protocol";

export interface Words {
  short: string; // "Head 2: weight of “drei” = 0.5"
  where: string; // the module and the query
}

const brief = (value: number) => exact(Number(value.toPrecision(4)));

export function wordsOf(edit: Edit, app: App): Words {
  const of = (text: number | undefined, token: number) =>
    `“${shortened(app.tokens(text ?? null)[token] ?? String(token), 14)}”`;
  const place = (index: number[]) => (index.length === 0 ? "" : `[${index.join(", ")}]`);
  if (edit.kind === "position")
    return {
      short: `${of(edit.text, edit.token)} at position ${edit.position}`,
      where: `Token ${edit.token} of the ${visible(app.data.texts[edit.text]?.name ?? "text")}`,
    };
  if (edit.kind === "parameter")
    return {
      short: `${edit.name.split(".").slice(-2).join(".")}${place(edit.index)} = ${brief(edit.value)}`,
      where: edit.name,
    };
  if (edit.kind === "value") {
    const node = operationOf(app.data, edit.recorded);
    const name = node ? visible(node.operation) : "operation";
    return {
      short: `${name} #${node?.id ?? edit.recorded} ${place(edit.index)} = ${brief(edit.value)}`,
      where: node ? app.nameOf(node.module) : "",
    };
  }
  const block = app.data.attention.find(({ module }) => module === edit.module);
  const head = edit.head === undefined ? "All heads" : `Head ${edit.head}`;
  const module = app.nameOf(edit.module);
  if (edit.kind === "temperature") return { short: `${head}: temperature ${brief(edit.value)}`, where: module };
  if (edit.kind === "ablate") return { short: `${head}: ablated`, where: module };
  const [query, key] = [of(block?.rows, edit.query), of(block?.columns, edit.key)];
  const where = `${module}, query ${query}`;
  if (edit.kind === "mask") return { short: `${head}: ${key} hidden from ${query}`, where };
  return { short: `${head}: ${edit.kind} of ${key} = ${brief(edit.value)}`, where };
}
