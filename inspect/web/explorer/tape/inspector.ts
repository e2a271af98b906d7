// Details of the selected operation or leaf: where it was recorded, its formulas, its values and gradients, and the
// contributions that add up to its gradient.
import { element, visible } from "../../shared/dom";
import type { App } from "../app";
import { arrivals, type Shown } from "./arrivals";
import type { Leaf, PackedTensor, TapeNode } from "../data";
import { attributesText, facts, formulas, savedList } from "./facts";
import { Heatmap } from "../widgets/heatmap";
import { moduleName } from "../widgets/module_name";
import { brief, bytes, exact, microseconds, shapeText } from "../../shared/numbers";
import { viewLinks, sourceLink } from "./links";
import type { Operand, Replay } from "./replay";
import { scoreTable } from "./score_table";
import { missing, Slices } from "./slices";
import type { Subject } from "../state";
import { norm, tensor } from "../tensor";

export class Inspector {
  readonly node = element("aside", { class: "inspector", "aria-label": "Selected operation" });
  private shown = "";
  private readonly slices: Slices;

  constructor(
    private readonly app: App,
    private replay: Replay,
  ) {
    this.slices = new Slices(app, () => this.refresh());
  }

  // Switches to the replay of another output.
  setReplay(replay: Replay) {
    this.replay = replay;
  }

  // Shows the same subject again, after another slice was selected.
  private refresh() {
    const [subject, step] = JSON.parse(this.shown) as [Subject | null, number | null];
    this.shown = "";
    this.show(subject, step);
  }

  // step: of the player, null if it is not in use.
  show(subject: Subject | null, step: number | null) {
    const { state, data } = this.app;
    const key = JSON.stringify([subject, step, state.output]);
    if (key === this.shown) return;
    this.shown = key;
    const top = this.node.scrollTop;
    const heats: Heatmap[] = [];
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
      element("p", { class: "muted" }, "Select an operation or a leaf in the graph; unfold a module to see inside it."),
      element("h3", {}, "Operations by kind"),
      facts(...rows.map(([name, count]): [string, string] => [visible(name), String(count)])),
    );
  }

  private operation(node: TapeNode, step: number | null, heats: Heatmap[]): (HTMLElement | string)[] {
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
        moduleName(this.app, node.module),
        node.line !== "" && element("code", {}, ` ${visible(node.line)}`),
      ),
    ];
    parts.push(...viewLinks(this.app, node));
    if (node.guilty)
      parts.push(
        element(
          "p",
          { class: "guilty", role: "note" },
          `✗ The gradient check failed for this operation's backward: ${visible(node.guilty.text)} (error ${brief(node.guilty.error ?? NaN)}).`,
        ),
      );
    parts.push(formulas(node));
    node.outputs.forEach((output, index) => {
      const name = node.outputs.length > 1 ? `Output ${index}` : "Output";
      parts.push(element("h3", {}, `${name} ${shapeText(output.shape)} ${output.dtype}`));
      const shown = { ...output, module: node.module };
      const operand = { node: node.id, output: index };
      parts.push(...this.heats(`output-${index}`, shown, this.available(operand, step), heats));
      parts.push(...this.arrivals(operand, shown, step, heats, `sum-${index}`));
    });
    parts.push(element("h3", {}, "Inputs"), this.inputs(node, step));
    if (node.saved.length > 0)
      parts.push(element("h3", {}, `Saved for backward: ${bytes(node.saved_bytes)}`), savedList(node));
    parts.push(
      element("h3", {}, "Time"),
      facts(
        ["forward", microseconds(node.forward_us)],
        ["backward", microseconds(node.backward_us[this.app.state.output] ?? null)],
      ),
    );
    return parts;
  }

  private leaf(leaf: Leaf, operand: { leaf: number }, step: number | null, heats: Heatmap[]): HTMLElement[] {
    const shown = { ...leaf, axes: null, module: leaf.name.split(".").slice(0, -1).join(".") };
    return [
      element("h2", {}, moduleName(this.app, leaf.name)),
      element("p", { class: "where" }, leaf.kind),
      element("h3", {}, `${shapeText(leaf.shape)} ${leaf.dtype}`),
      ...this.heats("leaf", shown, this.available(operand, step), heats),
      ...this.arrivals(operand, shown, step, heats, "sum-leaf"),
    ];
  }

  // What is known at a step of the player: the value once recorded, the gradient once all contributions have arrived.
  private available(operand: Operand, step: number | null): { value: boolean; gradient: boolean } {
    if (step === null) return { value: true, gradient: true };
    const { tape } = this.app.data;
    const value = "leaf" in operand || tape.nodes.findIndex(({ id }) => id === operand.node) <= step;
    const last = this.replay.contributions(operand).at(-1)?.step ?? this.replay.recorded;
    return { value, gradient: step >= last };
  }

  private heats(id: string, of: Shown, known: { value: boolean; gradient: boolean }, heats: Heatmap[]): HTMLElement[] {
    const { outputs } = this.app.data;
    const { output } = this.app.state;
    const name = `Gradient of ${outputs[output]!.name}`;
    const later = (words: string) => element("p", { class: "muted none" }, words);
    return [
      ...this.switches(of),
      known.value ? this.heat(`${id}-value`, "Value", of.value, of, heats) : later("Value: not recorded yet"),
      known.gradient
        ? this.heat(`${id}-gradient`, name, of.gradients[output] ?? null, of, heats)
        : later(`${name}: not complete yet`),
    ];
  }

  // Controls to select the slice of a tensor with more than two axes.
  private switches(of: Shown): HTMLElement[] {
    const made = tensor(of.value ?? of.gradients.find(Boolean) ?? null);
    const lists = made && this.slices.switches(made, of.axes);
    return lists ? [lists] : [];
  }

  private heat(id: string, title: string, packed: PackedTensor | null, of: Shown, heats: Heatmap[]): HTMLElement {
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
    const places = this.slices.places(made.storedShape, of.axes);
    const plane = made.plane(...places);
    const { live } = this.app;
    const last = (column: number) => packed?.columns?.[column] ?? column;
    const edit =
      live && packed === of.value
        ? (row: number, column: number, cell: Element) => live.edit(packed, [...places, row, last(column)], cell)
        : undefined;
    const heat = new Heatmap({
      id: `heat-${id}`,
      title,
      plane,
      ...(edit ? { edit } : {}),
      rows: this.slices.names(of.axes?.at(-2), plane.rows),
      columns: this.slices.names(of.axes?.at(-1), plane.columns, packed?.columns),
      missing: {
        rows: made.storedShape.at(-2) !== made.shape.at(-2),
        columns: made.storedShape.at(-1) !== made.shape.at(-1),
      },
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
      const item = element("li", {}, sourceLink(this.app, source));
      const sent = tensor(this.replay.sentTo(node, index));
      if (sent && turn !== undefined && (step === null || step >= turn)) {
        const size = norm(this.replay.sentTo(node, index)!);
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

  private arrivals(operand: Operand, of: Shown, step: number | null, heats: Heatmap[], id: string): HTMLElement[] {
    return arrivals(this.app, this.replay, this.slices, { operand, of, step, heats, id });
  }
}
