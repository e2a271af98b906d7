// Base of the views of one row of a layer: selection of layer, row and output.
import { element } from "../../shared/dom";
import type { App } from "../app";
import { noGradientNote } from "../widgets/number_table";
import { Toolbar, menu, outputSwitch, rowSwitch, shortened, type Switch } from "../widgets/switches";
import { storedRows, type Layer } from "../data";
import { keepsAll } from "../tape/slices";
import { tensor } from "../tensor";

export abstract class LayerRowView<L extends Layer> {
  readonly node: HTMLElement;
  protected readonly bar: Toolbar;
  protected readonly body = element("div", {
    class: "closeup",
    tabindex: 0,
    role: "region",
    "aria-label": "One row of a layer. Up and down arrows select the row.",
  });

  constructor(
    protected readonly app: App,
    name: string,
    private readonly all: () => L[],
    further: Switch[] = [],
  ) {
    this.bar = new Toolbar([
      menu(
        name,
        () => all().map(({ module }) => [module, app.nameOf(module)]),
        () => app.state.layer,
        (layer) => app.set({ layer, row: null }),
      ),
      layerRowSwitch(app, () => this.layer()),
      ...further,
      outputSwitch(app, true),
    ]);
    this.body.addEventListener("keydown", (event) => {
      const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (event.target === this.body && by && stepRow(app, this.layer(), by)) event.preventDefault();
    });
    this.node = element("section", { class: "view" }, this.bar.node, this.body);
  }

  protected layer(): L {
    return this.all().find(({ module }) => module === this.app.state.layer)!;
  }

  update() {
    this.bar.update();
    const { app } = this;
    const layer = this.layer();
    const row = app.rowOf(layer);
    const { output } = app.state;
    const g = tensor(layer.gradient_output[output])?.row(row);
    const recorded = tensor(layer.gradient_input[output])?.row(row);
    const rest = missingRows(layer);
    this.body.replaceChildren(
      element("h2", { title: layer.module }, rowTitle(app, layer)),
      ...(rest ? [rest] : []),
      ...(g && recorded ? this.worked(layer, row, g, recorded) : [noGradientNote()]),
    );
  }

  protected abstract worked(layer: L, row: number, g: Float32Array, recorded: Float32Array): HTMLElement[];
}

// Names of all rows, including those that the page does not store.
const rowNames = (app: App, layer: Layer): string[] =>
  Array.from({ length: layer.rows }, (_, row) => app.tokens(layer.text)[row] ?? `row ${row}`);

export function rowTitle(app: App, layer: Layer): string {
  const row = app.rowOf(layer);
  return `${app.nameOf(layer.module)}, row ${row} “${shortened(rowNames(app, layer)[row] ?? "", 24)}”`;
}

export function layerRowSwitch(app: App, layer: () => Layer): Switch {
  return rowSwitch(
    app,
    "Row",
    () => rowNames(app, layer()),
    () => app.rowOf(layer()),
    () => storedRows(layer()),
  );
}

// Selects the next or previous stored row. Returns whether there is one.
export function stepRow(app: App, layer: Layer, by: number): boolean {
  const rows = storedRows(layer);
  if (rows === 0) return false;
  app.set({ row: (app.rowOf(layer) + by + rows) % rows }, { replace: true });
  return true;
}

// A note if not all rows of a layer are stored, and how to store them.
export function missingRows(layer: Layer): HTMLElement | null {
  const rows = storedRows(layer);
  if (rows >= layer.rows) return null;
  const words = `The page stores the first ${rows} of ${layer.rows} rows of this layer. ${keepsAll(layer.module)}.`;
  return element("p", { class: "note muted missing" }, words);
}
