// What views of one layer's row share: a list of layers, a list of rows, the gradients' output.
import { element } from "../shared/dom";
import type { App } from "./app";
import { Bar, menu, outputSwitch, rowSwitch, shortened, type Switch } from "./bar";
import type { Layer } from "./data";
import { tensor } from "./tensor";

export abstract class RowView<L extends Layer> {
  readonly node: HTMLElement;
  protected readonly bar: Bar;
  protected readonly body = element("div", {
    class: "closeup",
    tabindex: 0,
    role: "region",
    "aria-label": "One row of a layer. Arrow up and down choose the row.",
  });

  constructor(
    protected readonly app: App,
    name: string,
    private readonly all: () => L[],
    further: Switch[] = [],
  ) {
    this.bar = new Bar([
      menu(
        name,
        () => all().map(({ module }) => [module, module]),
        () => app.state.layer,
        (layer) => app.set({ layer, row: null }),
      ),
      rowSwitch(app, "Row", () => this.tokens()),
      ...further,
      outputSwitch(app, true),
    ]);
    this.body.addEventListener("keydown", (event) => {
      const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      const rows = this.tokens().length;
      if (event.target !== this.body || !by || rows === 0) return;
      app.set({ row: ((app.state.row ?? 0) + by + rows) % rows }, { replace: true });
      event.preventDefault();
    });
    this.node = element("section", { class: "view" }, this.bar.node, this.body);
  }

  protected layer(): L {
    return this.all().find(({ module }) => module === this.app.state.layer)!;
  }

  protected tokens(): string[] {
    const layer = this.layer();
    return rowNames(this.app, layer);
  }

  update() {
    this.bar.update();
    const layer = this.layer();
    const row = this.app.state.row ?? 0;
    const { output } = this.app.state;
    const g = tensor(layer.gradient_output[output])?.row(row);
    const recorded = tensor(layer.gradient_input[output])?.row(row);
    const title = `${layer.module}, row ${row} “${shortened(this.tokens()[row] ?? "", 24)}”`;
    const rest = keptRows(layer);
    this.body.replaceChildren(
      element("h2", {}, title),
      ...(g && recorded
        ? this.worked(layer, row, g, recorded)
        : [element("p", { class: "muted" }, "No gradient of this output arrives here.")]),
      ...(rest ? [rest] : []),
    );
  }

  protected abstract worked(layer: L, row: number, g: Float32Array, recorded: Float32Array): HTMLElement[];
}

export function rowNames(app: App, layer: Layer): string[] {
  const rows = tensor(layer.input).held.at(-2) ?? 1;
  return Array.from({ length: rows }, (_, row) => app.tokens(layer.text)[row] ?? `row ${row}`);
}

// Says so where not all rows of a layer are there.
export function keptRows(layer: Layer): HTMLElement | null {
  const rows = tensor(layer.input).held.at(-2) ?? 1;
  if (rows >= layer.rows) return null;
  return element("p", { class: "note muted" }, `The page keeps the first ${rows} of ${layer.rows} rows of this layer.`);
}
