// Finds modules, operations and leaves by parts of their names.
import { element, visible } from "../../shared/dom";
import type { App } from "../app";
import type { State } from "../state";

const most = 12;

export interface Found {
  kind: string;
  name: string;
  change: Partial<State>;
}

export function find(app: App, text: string): Found[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return [];
  const { attention, activations, rotaries, tape } = app.data;
  const modules = new Map<string, Partial<State>>();
  for (const { module } of attention) modules.set(module, { view: "head", block: module });
  for (const { module } of app.norms()) modules.set(module, { view: "layernorm", norm: module, row: null });
  for (const { module } of activations) modules.set(module, { view: "activation", layer: module, row: null });
  for (const { module } of rotaries) modules.set(module, { view: "rotary", layer: module, row: null });
  for (const { module, id } of tape.nodes)
    if (module !== "" && !modules.has(module)) modules.set(module, { view: "tape", subject: { node: id }, step: null });
  const all: Found[] = [
    ...[...modules].map(([name, change]) => ({ kind: "module", name, change })),
    ...tape.leaves.map(({ name, kind }, leaf) => ({
      kind,
      name,
      change: { view: "tape" as const, subject: { leaf }, step: null },
    })),
    ...tape.nodes.map(({ operation, module, id }) => ({
      kind: "operation",
      name: `${operation} #${id}${module === "" ? "" : ` in ${module}`}`,
      change: { view: "tape" as const, subject: { node: id }, step: null },
    })),
  ];
  const fits = ({ kind, name }: Found) => {
    const known = `${kind} ${name} ${app.architecture.wordsIn(name)}`.toLowerCase();
    return words.every((word) => known.includes(word));
  };
  return all.filter(fits);
}

export function searchBox(app: App): HTMLElement {
  const input = element("input", {
    type: "search",
    placeholder: "Search: softmax, layers.1",
    "aria-label": "Search modules, operations and leaves",
  });
  const list = element("ul", { class: "found", hidden: true });
  const node = element("search", { class: "search screen" }, input, list);
  const close = () => (list.hidden = true);
  const go = ({ change }: Found) => {
    close();
    input.value = "";
    app.set(change);
  };
  const show = () => {
    const found = find(app, input.value);
    const entry = (one: Found) => {
      const button = element(
        "button",
        { type: "button" },
        element("span", { class: "muted" }, `${one.kind} `),
        visible(app.architecture.wordsIn(one.name)),
      );
      button.title = one.name;
      button.addEventListener("click", () => go(one));
      return element("li", {}, button);
    };
    list.replaceChildren(...found.slice(0, most).map(entry));
    if (found.length > most)
      list.append(element("li", { class: "muted" }, `and ${found.length - most} more: refine the search`));
    if (found.length === 0) list.append(element("li", { class: "muted" }, "Nothing found."));
    list.hidden = input.value.trim() === "";
  };
  input.addEventListener("input", show);
  node.addEventListener("keydown", (event) => {
    const buttons = [...list.querySelectorAll("button")];
    const at = buttons.indexOf(document.activeElement as HTMLButtonElement);
    if (event.key === "Escape") return close();
    if (event.key === "Enter" && event.target === input) buttons[0]?.click();
    const by = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (by === 0) return;
    event.preventDefault();
    (buttons[at + by] ?? input).focus();
  });
  node.addEventListener("focusout", (event) => {
    if (!node.contains(event.relatedTarget as Node | null)) close();
  });
  return node;
}
