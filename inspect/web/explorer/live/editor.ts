// A small form next to a number of a view: a field and a slider that change it.
import { element } from "../../shared/dom";
import { digits } from "../../shared/numbers";

export interface EditorOptions {
  title: string;
  where: string;
  value: number;
  least: number; // ends of the slider
  most: number;
  change(value: number): void;
}

let opened: { node: HTMLElement; close: () => void } | null = null;

export function closeEditor() {
  opened?.close();
}

// A number field and a slider with the same value. Calls `change` for each valid number.
export function numberControls(
  label: string,
  { value, least, most, change }: Omit<EditorOptions, "title" | "where">,
): { field: HTMLInputElement; slider: HTMLInputElement } {
  const field = element("input", {
    type: "number",
    step: "any",
    inputmode: "decimal",
    value: digits(value),
    "aria-label": label,
  });
  const slider = element("input", {
    type: "range",
    min: least,
    max: most,
    step: (most - least) / 200,
    value,
    "aria-label": `${label}, slider`,
  });
  field.addEventListener("input", () => {
    if (field.value === "" || !Number.isFinite(field.valueAsNumber)) return;
    slider.value = field.value;
    change(field.valueAsNumber);
  });
  slider.addEventListener("input", () => {
    const to = Number(slider.valueAsNumber.toPrecision(4));
    field.value = String(to);
    change(to);
  });
  return { field, slider };
}

// Opens below the anchor, or at the bottom of a narrow screen. Escape, Close and a click elsewhere close it.
export function openEditor(anchor: DOMRect, { title, where, ...options }: EditorOptions) {
  closeEditor();
  const { field, slider } = numberControls("Value", options);
  const close = element("button", { type: "button" }, "Close");
  const node = element(
    "form",
    { class: "editor", role: "dialog", "aria-label": title },
    element("p", {}, element("strong", {}, title)),
    element("p", { class: "muted" }, where),
    element("div", { class: "editor-controls" }, field, slider, close),
  );
  const ended = new AbortController();
  const before = document.activeElement;
  opened = {
    node,
    close: () => {
      ended.abort();
      const inside = node.contains(document.activeElement);
      node.remove();
      opened = null;
      if (inside && before instanceof HTMLElement && before.isConnected) before.focus({ preventScroll: true });
    },
  };
  close.addEventListener("click", closeEditor);
  node.addEventListener("submit", (event) => {
    event.preventDefault();
    closeEditor();
  });
  node.addEventListener("keydown", (event) => event.key === "Escape" && closeEditor());
  document.addEventListener("pointerdown", (event) => !node.contains(event.target as Node) && closeEditor(), {
    signal: ended.signal,
    capture: true,
  });
  document.body.append(node);
  const { offsetWidth, offsetHeight } = node;
  const left = Math.max(8, Math.min(anchor.left, document.documentElement.clientWidth - offsetWidth - 8));
  const above = anchor.bottom + offsetHeight + 8 > window.innerHeight && anchor.top > offsetHeight + 8;
  node.style.setProperty("--left", `${left + window.scrollX}px`);
  node.style.setProperty("--top", `${(above ? anchor.top - offsetHeight - 6 : anchor.bottom + 6) + window.scrollY}px`);
  field.focus({ preventScroll: true });
  field.select();
}
