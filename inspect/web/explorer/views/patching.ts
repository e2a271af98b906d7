// Activation patching: the model reads a corrupted text, with one activation restored from the clean run.
import { element } from "../../shared/dom";
import type { App } from "../app";
import { Toolbar, menu, shortened } from "../widgets/switches";
import { sequential, diverging, type Scale } from "../../shared/colors";
import type { PatchGrid, Patching } from "../data";
import { Heatmap } from "../widgets/heatmap";
import { brief, exact } from "../../shared/numbers";
import { Plane, tensor } from "../tensor";

// Share of the difference between the corrupted and the clean run that a patch restores: 0 for none, 1 for all of it.
export const restoredShare = (value: number, clean: number, corrupted: number) =>
  (value - corrupted) / (clean - corrupted);

// A token, or both if the corrupted text has a different one.
export function tokenPair(clean: string, corrupted: string, length: number): string {
  const [a, b] = [shortened(clean, length), shortened(corrupted, length)];
  return clean === corrupted ? a : `${a}/${b}`;
}

export class PatchingView {
  readonly node: HTMLElement;
  private readonly bar: Toolbar;
  private readonly body = element("div", { class: "closeup-body" });

  constructor(private readonly app: App) {
    this.bar = new Toolbar([
      menu(
        "Output",
        () => app.data.outputs.map(({ name }, index) => [String(index), shortened(name, 40)]),
        () => String(app.state.output),
        (output) => app.set({ output: Number(output) }),
      ),
    ]);
    this.node = element("section", { class: "view patching" }, this.bar.node, this.body);
  }

  update() {
    this.bar.update();
    const { app } = this;
    const { grids } = this.patching;
    const output = app.data.outputs[app.state.output]!;
    const [clean, corrupted] = this.ends();
    const apart = this.runsDiffer();
    const heats: Heatmap[] = [];
    this.body.replaceChildren(
      element("h2", {}, `What restores the clean ${shortened(output.name, 40)}`),
      element("p", { class: "formula" }, ...this.texts()),
      element(
        "p",
        { class: "formula" },
        `The clean run gives ${exact(clean)}, the corrupted one ${exact(corrupted)}. Each cell is a run on the corrupted ${this.read()} with the output of one part taken from the clean run. It shows `,
        apart
          ? "the share of the difference that this restores: 0 for none, 1 for all of it."
          : "the change that this makes, because the two runs do not differ here.",
      ),
      ...this.verdicts(),
      element("div", { class: "triple" }, ...grids.map((grid, index) => this.grid(grid, index, heats))),
    );
    for (const heat of heats) heat.picture.redraw();
  }

  private get patching(): Patching {
    return this.app.data.patching!;
  }

  // The selected output of the clean and of the corrupted run.
  private ends(): [number, number] {
    const { output } = this.app.state;
    return [this.patching.clean[output]!, this.patching.corrupted[output]!];
  }

  // Whether the two runs differ in the selected output.
  private runsDiffer(): boolean {
    const [clean, corrupted] = this.ends();
    return Math.abs(clean - corrupted) > 1e-9 * (1 + Math.abs(clean));
  }

  // The kind of input.
  private read(): string {
    return this.app.data.texts.some(({ image }) => image) ? "image" : "text";
  }

  private texts(): (HTMLElement | string)[] {
    const { data } = this.app;
    return data.texts.flatMap(({ name, tokens }, index) => {
      const other = this.patching.texts[index]!;
      if (tokens.every((token, at) => token === other[at])) return [];
      const words = (list: string[], against: string[]) =>
        list.flatMap((token, at) => [
          token === against[at] ? shortened(token, 24) : element("b", {}, shortened(token, 24)),
          " ",
        ]);
      return [`The ${name}, clean: `, ...words(tokens, other), "· corrupted: ", ...words(other, tokens)];
    });
  }

  private values(grid: PatchGrid): Plane {
    const { values, storedShape: held } = tensor(grid.values);
    const [rows, columns, outputs] = held as [number, number, number];
    const { output } = this.app.state;
    return new Plane(
      rows,
      columns,
      Float64Array.from({ length: rows * columns }, (_, i) => values[i * outputs + output]!),
    );
  }

  private columns(grid: PatchGrid): string[] {
    if (grid.heads > 0) return Array.from({ length: grid.heads }, (_, head) => `head ${head}`);
    const clean = this.app.tokens(grid.text);
    const corrupted = this.patching.texts[grid.text]!;
    const raw = this.app.data.texts[grid.text]!.tokens;
    const names = clean.map((token, at) => tokenPair(token, raw[at] === corrupted[at] ? token : corrupted[at]!, 10));
    return [...names, "all"];
  }

  // The shown values of a grid: shares, or changes if there is nothing to restore.
  private plane(grid: PatchGrid): Plane {
    const [clean, corrupted] = this.ends();
    const apart = this.runsDiffer();
    const { rows, columns, values } = this.values(grid);
    const shown = (value: number) => (apart ? restoredShare(value, clean, corrupted) : value - corrupted);
    return new Plane(rows, columns, Float64Array.from(values, shown));
  }

  // One scale for all grids, so that their colors are comparable.
  private scale(): Scale {
    const all = this.patching.grids.map((grid) => this.plane(grid));
    const size = Math.max(1e-12, ...all.map((plane) => plane.maxAbs()));
    return all.some((plane) => plane.low() < -1e-6) ? diverging(size) : sequential(size);
  }

  private grid(grid: PatchGrid, index: number, heats: Heatmap[]): HTMLElement {
    const [, corrupted] = this.ends();
    const [values, plane] = [this.values(grid), this.plane(grid)];
    const words = element("p", { class: "note muted patched" });
    const { architecture } = this.app;
    const name = architecture.kindName(grid.name);
    const rows = grid.modules.map((module) => {
      const index = module.split(".").find((part) => /^\d+$/.test(part));
      return index === undefined ? architecture.nameOf(module) : `block ${Number(index) + 1}`;
    });
    const heat = new Heatmap({
      id: `patching-${index}`,
      title: grid.heads > 0 ? `${name}, one head at all tokens` : name,
      details: grid.name,
      plane,
      rows,
      columns: this.columns(grid),
      scale: () => this.scale(),
      unit: this.runsDiffer() ? "share restored" : "change",
      cell: 34,
      point: (row, column) => {
        const last = column === values.columns - 1;
        const at = grid.heads > 0 ? `:${column}` : last ? "" : `@${column}`;
        words.textContent = `${exact(values.at(row, column))} instead of ${brief(corrupted)}; to add this run to the page: --patch ${grid.modules[row]!}${at}`;
        words.dataset.value = String(values.at(row, column));
      },
    });
    heats.push(heat);
    return element("div", { class: "heat" }, heat.picture.node, words);
  }

  // Consistency checks: the page's own run is the clean one, and restoring all of the last layer, after which nothing
  // reads the corrupted text, leaves no difference.
  private verdicts(): HTMLElement[] {
    const { app } = this;
    const [clean] = this.ends();
    const own = app.data.outputs[app.state.output]!.value ?? NaN;
    const ends = this.patching.grids
      .filter(({ name, heads }) => heads === 0 && name.endsWith("*"))
      .map((grid) => {
        const values = this.values(grid);
        return { module: grid.modules.at(-1)!, value: values.at(values.rows - 1, values.columns - 1) };
      });
    const size = 1 + Math.max(...this.patching.clean.map(Math.abs), ...this.patching.corrupted.map(Math.abs));
    const off = Math.max(...ends.map(({ value }) => Math.abs(value - clean)), 0);
    const agrees = off <= 1e-6 * size && Math.abs(own - clean) <= 1e-4 * size;
    const words = agrees
      ? `Restored at all tokens, ${ends.map(({ module }) => app.nameOf(module)).join(" or ")} alone reproduces the clean run, as it must: nothing after it reads the ${this.read()}. The clean run matches this page.`
      : `Restored at all tokens, the last layer differs from the clean run by ${brief(off)}, and the clean run differs from this page by ${brief(Math.abs(own - clean))}: something is wrong.`;
    return [element("p", { class: `verdict ${agrees ? "good" : "bad"}`, "data-difference": off }, words)];
  }
}
