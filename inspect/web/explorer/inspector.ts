// All that is known of one operation or leaf: who made it, its formulas, its values and gradients in colours and numbers,
// and the contributions that its gradient is the sum of.
import { element, visible } from "../shared/dom";
import type { App, State, Subject } from "./app";
import { norm, planeOf, tensor, type Axis, type Leaf, type Packed, type Source, type TapeNode } from "./data";
import { attributesText, facts, formulas, savedList } from "./facts";
import { Heat } from "./heat";
import { brief, bytes, exact, microseconds, shapeText } from "./numbers";
import { summed, type Contribution, type Operand, type Replay } from "./replay";
import { scoreTable } from "./scores";
import { missing, Slices } from "./slices";

// What of an operand is shown, and where it belongs.
interface Shown {
  value: Packed | null;
  gradients: (Packed | null)[];
  axes: Axis[] | null;
  module: string;
}

export class Inspector {
  readonly node = element("aside", { class: "inspector", "aria-label": "The chosen operation" });
  private shown = "";
  private readonly slices: Slices;

  constructor(
    private readonly app: App,
    private readonly replay: Replay,
  ) {
    this.slices = new Slices(app, () => this.again());
  }

  // Another slice of the same tensors.
  private again() {
    const [subject, step] = JSON.parse(this.shown) as [Subject | null, number | null];
    this.shown = "";
    this.show(subject, step);
  }

  // step: of the player, null where it rests.
  show(subject: Subject | null, step: number | null) {
    const { state, data } = this.app;
    const key = JSON.stringify([subject, step, state.output]);
    if (key === this.shown) return;
    this.shown = key;
    const top = this.node.scrollTop;
    const heats: Heat[] = [];
    if (!subject) this.node.replaceChildren(this.nothing());
    else if ("leaf" in subject)
      this.node.replaceChildren(...this.leaf(data.tape.leaves[subject.leaf]!, subject, step, heats));
    else
      this.node.replaceChildren(
        ...this.operation(
          data.tape.nodes.find(({ id }) => id === subject.node)!,
          step,
          heats,
        ),
      );
    for (const heat of heats) heat.picture.redraw();
    this.node.scrollTop = top;
  }

  private nothing(): HTMLElement {
    const { tape } = this.app.data;
    const operations = new Map<string, number>();
    for (const { operation } of tape.nodes) operations.set(operation, (operations.get(operation) ?? 0) + 1);
    const saved = tape.nodes.reduce((sum, node) => sum + node.saved_bytes, 0);
    const rows = [...operations].sort(([, a], [, b]) => b - a);
    return element(
      "div",
      {},
      element("h2", {}, "The tape"),
      facts(
        ["operations", String(tape.nodes.length)],
        ["leaves", String(tape.leaves.length)],
        ["saved for backward", bytes(saved)],
      ),
      element("p", { class: "muted" }, "Choose an operation or a leaf in the graph; unfold a module to see inside it."),
      element("h3", {}, "Operations by kind"),
      facts(...rows.map(([name, count]): [string, string] => [visible(name), String(count)])),
    );
  }

  private operation(node: TapeNode, step: number | null, heats: Heat[]): (HTMLElement | string)[] {
    const parts: HTMLElement[] = [
      element(
        "h2",
        {},
        visible(node.operation),
        element("span", { class: "muted" }, `${attributesText(node)} #${node.id}`),
      ),
      element(
        "p",
        { class: "where" },
        visible(node.module || "outside of modules"),
        node.line !== "" && element("code", {}, ` ${visible(node.line)}`),
      ),
    ];
    parts.push(...this.elsewhere(node));
    if (node.guilty)
      parts.push(
        element(
          "p",
          { class: "guilty", role: "note" },
          `✗ A gradient check found this operation's backward wrong: ${visible(node.guilty.text)} (error ${brief(node.guilty.error ?? NaN)}).`,
        ),
      );
    parts.push(formulas(node));
    node.outputs.forEach((output, index) => {
      const name = node.outputs.length > 1 ? `Output ${index}` : "Output";
      parts.push(element("h3", {}, `${name} ${shapeText(output.shape)} ${output.dtype}`));
      const shown = { ...output, module: node.module };
      const operand = { node: node.id, output: index };
      parts.push(...this.heats(`output-${index}`, shown, this.known(operand, step), heats));
      parts.push(...this.arrivals(operand, shown, step, heats, `sum-${index}`));
    });
    parts.push(element("h3", {}, "Inputs"), this.inputs(node, step));
    if (node.saved.length > 0)
      parts.push(element("h3", {}, `Saved for backward: ${bytes(node.saved_bytes)}`), savedList(node));
    parts.push(
      element("h3", {}, "Time"),
      facts(["forward", microseconds(node.forward_us)], ["backward", microseconds(node.backward_us)]),
    );
    return parts;
  }

  // The views that show the module of an operation in their own way.
  private elsewhere(node: TapeNode): HTMLElement[] {
    const { state, data } = this.app;
    const links: HTMLElement[] = [];
    const add = (words: string, change: Partial<State>) =>
      links.push(element("a", { href: this.app.address({ ...state, ...change }) }, words));
    if (data.attention.some(({ module }) => module === node.module)) {
      add("its heads", { view: "head", block: node.module });
      add("its softmax in numbers", { view: "softmax", block: node.module });
    }
    if (data.layer_norms.some(({ module }) => module === node.module))
      add("this LayerNorm in numbers", { view: "layernorm", norm: node.module });
    return links.length > 0 ? [element("p", { class: "where" }, ...links)] : [];
  }

  private leaf(leaf: Leaf, operand: { leaf: number }, step: number | null, heats: Heat[]): HTMLElement[] {
    const shown = { ...leaf, axes: null, module: leaf.name.split(".").slice(0, -1).join(".") };
    return [
      element("h2", {}, visible(leaf.name)),
      element("p", { class: "where" }, leaf.kind),
      element("h3", {}, `${shapeText(leaf.shape)} ${leaf.dtype}`),
      ...this.heats("leaf", shown, this.known(operand, step), heats),
      ...this.arrivals(operand, shown, step, heats, "sum-leaf"),
    ];
  }

  // What there is at a step of the player: the value once it is recorded, the gradient once all of it has arrived.
  private known(operand: Operand, step: number | null): { value: boolean; gradient: boolean } {
    if (step === null) return { value: true, gradient: true };
    const { tape } = this.app.data;
    const value = "leaf" in operand || tape.nodes.findIndex(({ id }) => id === operand.node) <= step;
    if (this.app.state.output > 0) return { value, gradient: true };
    const last = this.replay.contributions(operand).at(-1)?.step ?? this.replay.recorded;
    return { value, gradient: step >= last };
  }

  private heats(
    id: string,
    of: Shown,
    known: { value: boolean; gradient: boolean },
    heats: Heat[],
  ): HTMLElement[] {
    const { outputs } = this.app.data;
    const { output } = this.app.state;
    const name = `Gradient of ${outputs[output]!.name}`;
    const later = (words: string) => element("p", { class: "muted none" }, words);
    return [
      ...this.switches(of),
      known.value ? this.heat(`${id}-value`, "Value", of.value, of, heats) : later("Value: not recorded yet"),
      known.gradient
        ? this.heat(`${id}-gradient`, name, of.gradients[output] ?? null, of, heats)
        : later(`${name}: not all of it has arrived yet`),
    ];
  }

  // Lists that reach every slice of what has more than two axes.
  private switches(of: Shown): HTMLElement[] {
    const made = tensor(of.value ?? of.gradients.find(Boolean) ?? null);
    const lists = made && this.slices.switches(made, of.axes);
    return lists ? [lists] : [];
  }

  private heat(id: string, title: string, packed: Packed | null, of: Shown, heats: Heat[]): HTMLElement {
    const made = tensor(packed);
    if (!made) return element("p", { class: "muted none" }, `${title}: none`);
    if (made.values.length === 0) return element("p", { class: "muted none" }, `${title}: no elements`);
    if (made.values.length === 1)
      return element(
        "p",
        { class: "scalar" },
        `${title} `,
        element("output", { id: `heat-${id}`, "data-value": made.values[0]! }, exact(made.values[0]!)),
      );
    const plane = made.plane(...this.slices.places(made.held, of.axes));
    const heat = new Heat({
      id: `heat-${id}`,
      title,
      plane,
      rows: this.slices.names(of.axes?.at(-2), plane.rows),
      columns: this.slices.names(of.axes?.at(-1), plane.columns, packed?.columns),
      missing: { rows: made.held.at(-2) !== made.shape.at(-2), columns: made.held.at(-1) !== made.shape.at(-1) },
    });
    heats.push(heat);
    const words = packed && missing(packed, of.module);
    const part = words && element("p", { class: "note muted missing" }, words);
    const scores =
      of.axes?.at(-1) === "vocabulary" &&
      scoreTable(this.app, plane, of.axes, packed?.columns, id.endsWith("gradient"));
    return element("div", { class: "heat" }, heat.picture.node, part, scores);
  }

  private inputs(node: TapeNode, step: number | null): HTMLElement {
    const list = element("ol", { class: "inputs", start: 0 });
    const turn = this.replay.backwardStep(node.id);
    node.inputs.forEach((source, index) => {
      const item = element("li", {}, this.link(source));
      const sent = tensor(node.contributions[index]);
      if (sent && turn !== undefined && (step === null || step >= turn)) {
        const size = norm(node.contributions[index]!);
        item.append(
          element(
            "span",
            { class: "muted", "data-sent": index, "data-value": size },
            ` ← gradient of norm ${brief(size)}`,
          ),
        );
      }
      list.append(item);
    });
    return list;
  }

  // A link to where an input comes from.
  private link(source: Source): HTMLElement | string {
    if (!source) return element("span", { class: "muted" }, "a constant");
    const { tape } = this.app.data;
    if ("leaf" in source) return this.anchor(tape.leaves[source.leaf]?.name ?? "a leaf", { leaf: source.leaf });
    const from = tape.nodes.find(({ id }) => id === source.node);
    const name = from
      ? `${from.operation} #${from.id}${from.outputs.length > 1 ? `, output ${source.output}` : ""}`
      : `#${source.node}`;
    return from ? this.anchor(name, { node: source.node }) : name;
  }

  private anchor(text: string, subject: Subject): HTMLElement {
    const state = { ...this.app.state, view: "tape" as const, subject };
    return element("a", { href: this.app.address(state) }, visible(text));
  }

  // The parts of the gradient of output 0 that have arrived, and their sum.
  private arrivals(
    operand: Operand,
    of: Shown,
    step: number | null,
    heats: Heat[],
    id: string,
  ): HTMLElement[] {
    const all = this.replay.contributions(operand);
    const seed = "node" in operand && operand.node === this.app.data.tape.root;
    if (seed) return [element("p", { class: "muted" }, "Backward starts here, with a gradient of 1.")];
    if (all.length === 0) return [];
    const arrived = all.filter((contribution) => step === null || contribution.step <= step);
    const title = element("h4", {}, `Contributions to its gradient: ${arrived.length} of ${all.length}`);
    const list = element("ol", { class: "contributions", "data-arrived": arrived.length, "data-all": all.length });
    const cells = all.map((contribution) => this.contribution(contribution, arrived.includes(contribution), list));
    const sum = summed(arrived);
    const shape = tensor(arrived[0]?.value);
    if (!sum || !shape) return [title, list];
    const words = element("p", { class: "addition muted" }, "point at the sum to see it added up");
    const recorded = of.gradients[0] ?? null;
    const places = this.slices.places(shape.held, of.axes);
    const plane = planeOf(shape.held, sum, places);
    const point = (row: number, column: number) => {
      const terms = arrived.map(({ value }) => tensor(value)!.plane(...places).at(row, column));
      terms.forEach((term, index) => {
        cells[index]!.textContent = exact(term);
        cells[index]!.dataset.value = String(term);
      });
      const target = tensor(recorded)?.plane(...places).at(row, column);
      const complete = arrived.length === all.length && target !== undefined;
      words.textContent = `${terms.map(exact).join(" + ")} = ${exact(plane.at(row, column))}${complete ? `; recorded ${exact(target)}` : ""}`;
      words.dataset.value = String(plane.at(row, column));
    };
    if (sum.length === 1) {
      point(0, 0);
      return [title, list, words];
    }
    const heat = new Heat({
      id: `heat-${id}`,
      title: arrived.length === all.length ? "Their sum" : "Their sum so far",
      plane,
      rows: this.slices.names(of.axes?.at(-2), plane.rows),
      columns: this.slices.names(of.axes?.at(-1), plane.columns, arrived[0]?.value?.columns),
      point,
    });
    heats.push(heat);
    return [title, list, element("div", { class: "heat" }, heat.picture.node), words];
  }

  private contribution(contribution: Contribution, arrived: boolean, list: HTMLElement): HTMLElement {
    const value = element("span", { class: "term" });
    const { node, input } = contribution;
    const name = `${node.operation} #${node.id}, as its input ${input}`;
    const item = element("li", { class: arrived ? "" : "waiting" }, this.anchor(name, { node: node.id }), " ", value);
    if (!arrived) value.textContent = "has not arrived";
    list.append(item);
    return value;
  }
}
