// The result of a gradient check, with links to the operations that failed.
import { element, visible } from "../../shared/dom";
import type { App } from "../app";
import { brief, shapeText } from "../../shared/numbers";
import { moduleName } from "../widgets/module_name";

export class GradcheckView {
  readonly node: HTMLElement;

  constructor(private readonly app: App) {
    this.node = element("section", { class: "view" });
  }

  update() {
    const report = this.app.data.gradcheck!;
    const body = element("tbody");
    for (const { name, shape, error, ok } of report.rows)
      body.append(
        element(
          "tr",
          { class: ok ? "" : "bad" },
          element("th", { scope: "row" }, moduleName(this.app, name)),
          element("td", {}, shapeText(shape)),
          element("td", { class: "number", "data-value": String(error) }, error === null ? "–" : brief(error)),
          element("td", {}, ok ? "ok" : "✗ wrong"),
        ),
      );
    const heads = ["gradient of", "shape", "largest error", "verdict"].map((name, index) =>
      element("th", { scope: "col", class: index === 2 ? "number" : "" }, name),
    );
    this.node.replaceChildren(
      element("h2", {}, report.passed ? "Gradient check: all gradients are correct" : "Gradient check: failed"),
      ...this.guilty(report.guilty),
      element(
        "div",
        { class: "scroll" },
        element("table", { class: "checked" }, element("thead", {}, element("tr", {}, ...heads)), body),
      ),
      element("pre", {}, visible(report.text)),
    );
  }

  private guilty(ids: number[]): HTMLElement[] {
    if (ids.length === 0) return [];
    const list = element("ul", { class: "guilty-list" });
    for (const id of ids) {
      const node = this.app.data.tape.nodes.find((entry) => entry.id === id);
      const name = node ? `${node.operation} #${id}` : `#${id}`;
      const href = this.app.address({ ...this.app.state, view: "tape", subject: { node: id }, step: null });
      const where = node && [this.app.nameOf(node.module), node.line].filter(Boolean).join(", ");
      list.append(
        element(
          "li",
          {},
          element("a", { href }, visible(name)),
          where ? ` ${visible(where)}` : null,
          node?.guilty ? `: ${visible(node.guilty.text)}` : null,
        ),
      );
    }
    return [element("p", {}, "Operations whose backward is wrong:"), list];
  }
}
