// Elements are built from text, never from markup, so that nothing in a log can inject HTML.
type Child = Node | string | null | undefined | false;

export function element<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Record<string, string | number | boolean> = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === false) continue;
    made.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children) if (child) made.append(child);
  return made;
}

// Returns the JSON that the library embedded in the page.
export function pageData(): unknown {
  return JSON.parse(document.getElementById("data")!.textContent);
}

// Replaces control characters other than tabs and line breaks with visible symbols.
export function visible(text: string): string {
  return text.replace(/\p{Cc}/gu, (character) => {
    const code = character.charCodeAt(0);
    if (character === "\n" || character === "\t" || code > 0x7f) return character;
    return String.fromCharCode(code === 0x7f ? 0x2421 : 0x2400 + code);
  });
}

// At most `length` characters, cut between words if the words are not too long.
export function cutAtWord(text: string, length: number): string {
  const letters = Array.from(text);
  if (letters.length <= length) return text;
  const start = letters.slice(0, length).join("");
  const space = start.search(/\s\S*$/);
  return `${(space > start.length / 2 ? start.slice(0, space) : start.slice(0, -1)).trimEnd()}…`;
}

// Returns a row of radio buttons that calls `chosen` with the selected value.
export function radioGroup<T extends string>(
  legend: string,
  options: [T, string][],
  value: T,
  chosen: (value: T) => void,
): HTMLElement {
  const name = `choice-${legend.toLowerCase().replace(/\W+/g, "-")}`;
  const row = element("span", { class: "options" });
  for (const [key, label] of options) {
    const input = element("input", { type: "radio", name, value: key, checked: key === value });
    input.addEventListener("change", () => chosen(key));
    row.append(element("label", {}, input, label));
  }
  return element("fieldset", { class: "choice" }, element("legend", {}, legend), row);
}

// Selects a value in such a row without calling its handler.
export function setChoice(row: HTMLElement, value: string) {
  for (const input of row.querySelectorAll("input")) input.checked = input.value === value;
}

// Steps through a list with buttons and a slider. Calls `show` immediately with the last entry.
export function stepper(count: number, label: (index: number) => string, show: (index: number) => void): HTMLElement {
  let at = count - 1;
  const text = element("output", { class: "stepper-label" });
  const slider = element("input", { type: "range", min: 0, max: count - 1, step: 1, value: at, "aria-label": "Step" });
  const back = element("button", { type: "button", "aria-label": "Earlier" }, "‹");
  const on = element("button", { type: "button", "aria-label": "Later" }, "›");
  const go = (index: number) => {
    at = Math.max(0, Math.min(count - 1, index));
    slider.value = String(at);
    slider.setAttribute("aria-valuetext", label(at));
    text.textContent = label(at);
    back.disabled = at === 0;
    on.disabled = at === count - 1;
    show(at);
  };
  back.addEventListener("click", () => go(at - 1));
  on.addEventListener("click", () => go(at + 1));
  slider.addEventListener("input", () => go(Number(slider.value)));
  go(at);
  const controls = element("span", { class: "stepper-controls screen" }, back, slider, on);
  return element("div", { class: "stepper" }, count > 1 && controls, text);
}
