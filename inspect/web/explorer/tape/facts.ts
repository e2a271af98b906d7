// Details of an operation: attributes, formulas, saved tensors.
import { element, visible } from "../../shared/dom";
import type { TapeNode } from "../data";
import { brief, bytes, shapeText } from "../../shared/numbers";

// " (axis=1, descending=true)": the non-tensor arguments, without flags that are off.
export function attributesText(node: TapeNode): string {
  const text = Object.entries(node.attributes)
    .filter(([, value]) => value !== false)
    .map(([name, value]) => `${name}=${attributeText(value)}`)
    .join(", ");
  return text && ` (${visible(text)})`;
}

function attributeText(value: boolean | number | number[] | string): string {
  if (Array.isArray(value)) return `[${value.join(", ")}]`;
  return typeof value === "number" && !Number.isInteger(value) ? brief(value) : String(value);
}

export function formulas(node: TapeNode): HTMLElement {
  const list = element("dl", { class: "formulas" });
  const line = (name: string, text: string) =>
    list.append(element("div", {}, element("dt", {}, name), element("dd", {}, visible(text))));
  if (node.formula.forward) line("forward", node.formula.forward);
  for (const [index, text] of (node.formula.backward ?? []).entries()) line(index === 0 ? "backward" : "", text);
  return list;
}

export function facts(...rows: [string, string][]): HTMLElement {
  const list = element("dl", { class: "facts" });
  for (const [name, value] of rows) list.append(element("div", {}, element("dt", {}, name), element("dd", {}, value)));
  return list;
}

export function savedList(node: TapeNode): HTMLElement {
  return facts(
    ...node.saved.map(({ what, shape, bytes: count }): [string, string] => [
      `${visible(what)} ${shapeText(shape)}`,
      bytes(count),
    ]),
  );
}
