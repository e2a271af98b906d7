// The description above each view, and the glossary and derivations, which open in a dialog.
import { element } from "../../shared/dom";
import type { ViewName } from "../state";
import { derivation, derivations, type Derivation } from "./derivation";
import { viewTexts, glossary } from "./texts";

const page = element("div", { class: "sheet-body" });
const close = element("button", { type: "button", "aria-label": "Close" }, "×");
const sheet = element("dialog", { class: "sheet", "aria-label": "Explanation" }, close, page);
close.addEventListener("click", () => sheet.close());
sheet.addEventListener("click", (event) => event.target === sheet && sheet.close());

function open(...content: HTMLElement[]) {
  if (!sheet.isConnected) document.body.append(sheet);
  page.replaceChildren(...content);
  if (!sheet.open) sheet.showModal();
  page.scrollTop = 0;
}

function opener(name: string, content: () => HTMLElement[], attributes: Record<string, string> = {}): HTMLElement {
  const button = element("button", { type: "button", class: "link", ...attributes }, name);
  button.addEventListener("click", () => open(...content()));
  return button;
}

function glossaryList(): HTMLElement[] {
  const list = element("dl", { class: "glossary" });
  for (const [word, meaning] of glossary)
    list.append(element("dt", { "data-word": word }, word), element("dd", {}, meaning));
  return [element("h2", {}, "Glossary"), list];
}

export function glossaryButton(): HTMLElement {
  return opener("Glossary", glossaryList);
}

// Opens the glossary at a word.
export function explain(word: string) {
  open(...glossaryList());
  const entry = page.querySelector<HTMLElement>(`[data-word="${CSS.escape(word)}"]`);
  entry?.classList.add("asked");
  entry?.scrollIntoView({ block: "center" });
}

export function aboutView(view: ViewName): HTMLElement[] {
  const about = viewTexts[view];
  if (!about) return [];
  const link = (name: Derivation) =>
    opener(derivations[name][0], () => [derivation(name)], { "data-derivation": name });
  return [
    element("strong", {}, "What you see: "),
    element("span", { class: "see" }, about.see),
    element("strong", {}, " What to try: "),
    element("span", { class: "attempt" }, about.attempt),
    element("span", { class: "links screen" }, " Derivations: ", ...about.derivations.map(link)),
  ];
}
