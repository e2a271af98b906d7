// The controls above a view: attention, layer, head, row, and values or gradients of an output.
import { radioGroup, setChoice, element, visible } from "../../shared/dom";
import type { App } from "../app";
import type { Attention } from "../data";
import { brief } from "../../shared/numbers";
import { letterWidth, lettersWide } from "./letters";

export interface Switch {
  node: HTMLElement;
  update?: () => void; // absent if the control does not depend on the state
}

// A drop-down list whose options may change with the state. Options with a null value are disabled.
export function menu(
  legend: string,
  options: () => [string | null, string][],
  value: () => string,
  chosen: (value: string) => void,
): Required<Switch> {
  const list = element("select");
  const node = element("label", { class: "menu" }, legend, list);
  let shown = "";
  list.addEventListener("change", () => chosen(list.value));
  const update = () => {
    const now = options();
    const key = JSON.stringify(now);
    if (key !== shown)
      list.replaceChildren(
        ...now.map(([name, label]) => element("option", name === null ? { disabled: true } : { value: name }, label)),
      );
    shown = key;
    list.value = value();
    node.hidden = now.length < 2;
  };
  return { node, update };
}

export const attentionKinds = (app: App) => [...new Set(app.data.attention.map(({ kind }) => kind))];

// The attention of this kind whose layer is nearest.
function blockLike(app: App, kind: string, layer: number): Attention {
  const all = app.data.attention.filter((block) => block.kind === kind);
  return all.reduce((a, b) => (Math.abs(b.layer - layer) < Math.abs(a.layer - layer) ? b : a));
}

const capital = (text: string) => text.replace(/^./, (letter) => letter.toUpperCase());

export function kindSwitch(app: App): Switch {
  const options = attentionKinds(app).map((kind): [string, string] => [kind, capital(kind)]);
  const node = radioGroup("Attention", options, app.block()?.kind ?? "", (kind) =>
    app.set({ block: blockLike(app, kind, app.block()!.layer).module, row: null }),
  );
  node.hidden = options.length < 2;
  return { node, update: () => setChoice(node, app.block()?.kind ?? "") };
}

export function layerSwitch(app: App): Switch {
  const same = () => app.data.attention.filter(({ kind }) => kind === app.block()?.kind);
  return menu(
    "Block",
    () => same().map(({ module, layer }) => [module, String(layer + 1)]),
    () => app.state.block,
    (block) => app.set({ block }),
  );
}

export function headSwitch(app: App): Switch {
  return menu(
    "Head",
    () => Array.from({ length: app.block()?.heads ?? 0 }, (_, head) => [String(head), String(head)]),
    () => String(app.head()),
    (head) => app.set({ heads: [Number(head)] }),
  );
}

// row: the selected row; kept: number of rows stored in the page, if not all of them.
export function rowSwitch(
  app: App,
  legend: string,
  tokens: () => string[],
  row = () => app.state.row ?? 0,
  kept = () => Infinity,
): Switch {
  return menu(
    legend,
    () =>
      tokens().map((token, row) => {
        const label = `${row}  ${shortened(token, 24)}`;
        return row < kept() ? [String(row), label] : [null, `${label}, not stored`];
      }),
    () => String(row()),
    (chosen) => app.set({ row: Number(chosen) }),
  );
}

export function showSwitch(app: App, values: string): Switch {
  const node = radioGroup<"values" | "gradients">(
    "Show",
    [
      ["values", values],
      ["gradients", "Gradients"],
    ],
    app.state.show,
    (show) => app.set({ show }),
  );
  return { node, update: () => setChoice(node, app.state.show) };
}

export function outputSwitch(app: App, always: boolean): Switch {
  const made = menu(
    "of",
    () =>
      app.data.outputs.map(({ name, value }, index) => [
        String(index),
        `${shortened(name, 40)} = ${brief(value ?? NaN)}`,
      ]),
    () => String(app.state.output),
    (output) => app.set({ output: Number(output) }),
  );
  made.node.firstChild!.textContent = always ? "Gradients of" : "of";
  const update = () => {
    made.update();
    made.node.hidden = !always && app.state.show !== "gradients";
  };
  return { node: made.node, update };
}

export class Toolbar implements Switch {
  readonly node: HTMLElement;
  constructor(private readonly switches: Switch[]) {
    this.node = element("div", { class: "bar screen" }, ...switches.map(({ node }) => node));
  }

  update() {
    for (const one of this.switches) one.update?.();
  }
}

// Handles the arrow keys over a picture of one attention: rows, heads, layers. Returns whether the key was handled.
export function attentionKeys(app: App, event: KeyboardEvent): boolean {
  const block = app.block();
  if (!block) return false;
  const rows = app.tokens(block.rows).length;
  const { row, heads } = app.state;
  const step = (from: number, by: number, count: number) => (from + by + count) % count;
  const layers = app.data.attention.filter(({ kind }) => kind === block.kind);
  const layer = (by: number) => layers[step(layers.indexOf(block), by, layers.length)]!.module;
  const moves: Record<string, () => void> = {
    ArrowDown: () => app.set({ row: row === null ? 0 : step(row, 1, rows) }, { replace: true }),
    ArrowUp: () => app.set({ row: step(row ?? 0, -1, rows) }, { replace: true }),
    ArrowRight: () =>
      app.set({ heads: [heads.length === 0 ? 0 : step(heads.at(-1)!, 1, block.heads)] }, { replace: true }),
    ArrowLeft: () => app.set({ heads: [step(heads[0] ?? 0, -1, block.heads)] }, { replace: true }),
    PageDown: () => app.set({ block: layer(1) }, { replace: true }),
    PageUp: () => app.set({ block: layer(-1) }, { replace: true }),
    Escape: () => app.set({ row: null }, { replace: true }),
  };
  moves[event.key]?.();
  return event.key in moves;
}

// A token as a label at most `length` letters wide, with an ellipsis if cut and with visible whitespace.
export function shortened(token: string, length: number): string {
  const whole = visible(token).replaceAll("\n", "⏎").replaceAll("\t", "⇥");
  let text = whole;
  if (lettersWide(whole) > length) {
    let room = length - 1;
    const letters = Array.from(whole);
    const cut = letters.findIndex((letter) => (room -= letterWidth(letter)) < 0);
    text = `${letters.slice(0, cut).join("")}…`;
  }
  return text.trim() === "" ? `“${text}”` : text;
}
