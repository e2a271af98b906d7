// The text and the edits in the page's address, so that a link reproduces them:
// text=…&translation=…&edits=weight:decoder.layers.1.cross_attention:0:1:2:0.5;ablate:encoder.layers.0.self_attention:3
import type { Edit } from "./protocol";

export interface Linked {
  text: string;
  targetText: string; // empty: the model's own translation
  edits: Edit[];
}

type Field = "name" | "index" | "whole" | "optional" | "number";

// The members of each kind of edit, in the order of the address.
const members: Record<Edit["kind"], Record<string, Field>> = {
  parameter: { name: "name", index: "index", value: "number" },
  value: { recorded: "whole", index: "index", value: "number" },
  score: { module: "name", head: "whole", query: "whole", key: "whole", value: "number" },
  weight: { module: "name", head: "whole", query: "whole", key: "whole", value: "number" },
  mask: { module: "name", head: "optional", query: "whole", key: "whole" },
  temperature: { module: "name", head: "optional", value: "number" },
  position: { text: "whole", token: "whole", position: "whole" },
  ablate: { module: "name", head: "whole" },
};

function written(value: string | number | number[] | undefined, field: Field): string {
  if (value === undefined) return "all";
  return field === "name" ? encodeURIComponent(value as string) : value.toString(); // 0,2,5 for an index
}

function read(text: string, field: Field): unknown {
  const whole = /^\d{1,9}$/;
  if (field === "name") return decodeURIComponent(text);
  if (field === "index") {
    const places = text.split(",");
    return places.every((place) => whole.test(place)) ? places.map(Number) : null;
  }
  if (field === "number") return text !== "" && Number.isFinite(Number(text)) ? Number(text) : null;
  if (field === "optional" && text === "all") return undefined;
  return whole.test(text) ? Number(text) : null;
}

function edit(text: string): Edit | null {
  const [kind = "", ...texts] = text.split(":");
  if (!Object.hasOwn(members, kind)) return null;
  const fields = Object.entries(members[kind as Edit["kind"]]);
  if (texts.length !== fields.length) return null;
  try {
    const values = fields.map(([name, field], index) => [name, read(texts[index]!, field)] as const);
    if (values.some(([, value]) => value === null)) return null;
    return { kind, ...Object.fromEntries(values.filter(([, value]) => value !== undefined)) } as unknown as Edit;
  } catch {
    return null; // a stray % in a name
  }
}

const spelled = (one: Edit) =>
  [one.kind, ...Object.entries(members[one.kind]).map(([name, field]) => written(one[name as keyof Edit], field))].join(
    ":",
  );

// The words of an address. None for the text that the page was made from.
export function addressOf({ text, targetText, edits }: Linked, recorded: Linked): [string, string][] {
  const same = text === recorded.text && targetText === recorded.targetText;
  if (same && edits.length === 0) return [];
  const words: [string, string][] = [["text", text]];
  if (targetText !== "") words.push(["translation", targetText]);
  if (edits.length > 0) words.push(["edits", edits.map(spelled).join(";")]);
  return words;
}

// What an address names; null if it names no text. Leaves out edits that it does not spell correctly.
export function linkedBy(hash: string): Linked | null {
  const words = new URLSearchParams(hash.replace(/^#/, ""));
  const text = words.get("text");
  if (text === null) return null;
  const edits = (words.get("edits") ?? "")
    .split(";")
    .map(edit)
    .filter((one) => one !== null);
  return { text, targetText: words.get("translation") ?? "", edits };
}
