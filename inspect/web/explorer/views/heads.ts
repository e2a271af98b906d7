// Controls of the head view: which heads, sentences and lines are drawn.
import { element } from "../../shared/dom";
import type { App } from "../app";
import { menu, type Switch } from "../widgets/switches";
import { headColor, inkOn, palette, type SvgGroup } from "../../shared/colors";
import type { Text } from "../data";

export function shownHeads(app: App): number[] {
  const { heads } = app.state;
  return heads.length > 0 ? heads : Array.from({ length: app.block()?.heads ?? 0 }, (_, head) => head);
}

// One button per head, in its color.
export class Swatches implements Switch {
  readonly node = element("div", { class: "swatches screen", role: "group", "aria-label": "Heads" });

  constructor(private readonly app: App) {}

  update() {
    const count = this.app.block()!.heads;
    if (this.node.querySelectorAll("button").length !== count + 1) this.make(count);
    const shown = new Set(shownHeads(this.app));
    this.node.querySelectorAll("button").forEach((button, head) => {
      if (head === count) return void (button.disabled = shown.size === count);
      const color = headColor(head, count);
      button.setAttribute("aria-pressed", String(shown.has(head)));
      button.style.borderColor = color;
      button.style.backgroundColor = shown.has(head) ? color : "";
      button.style.color = shown.has(head) ? inkOn(color) : "";
    });
  }

  private make(count: number) {
    const { app } = this;
    const title = "Click to show or hide; double-click to show only this one";
    const buttons = Array.from({ length: count }, (_, head) => {
      const button = element("button", { type: "button", "aria-label": `Head ${head}`, title }, String(head));
      button.addEventListener("click", () => {
        const shown = shownHeads(app);
        const heads = shown.includes(head) ? shown.filter((other) => other !== head) : [...shown, head];
        app.set({ heads }, { replace: true });
      });
      button.addEventListener("dblclick", () => app.set({ heads: [head] }, { replace: true }));
      return button;
    });
    const all = element("button", { type: "button" }, "All");
    all.addEventListener("click", () => app.set({ heads: [] }));
    this.node.replaceChildren(element("span", { class: "muted" }, "Heads"), ...buttons, all);
  }
}

// Selects the sentences of queries and keys, if the text is a pair.
export function filterSwitch(app: App): Switch {
  const pair = (text: number) => {
    const segments = app.data.texts[text]?.segments;
    return Boolean(segments?.includes(0) && segments.includes(1));
  };
  return menu(
    "Sentences",
    () => {
      const block = app.block()!;
      const [queries, keys] = [pair(block.rows), pair(block.columns)];
      const sides = (has: boolean) => (has ? ["A", "B"] : ["*"]);
      const name = (side: string) => (side === "*" ? "all" : side);
      const some = sides(queries).flatMap((query) =>
        sides(keys).map((key): [string, string] => [`${query}${key}`, `${name(query)} → ${name(key)}`]),
      );
      return some.length > 1 ? [["**", "all"], ...some] : [["**", "all"]];
    },
    () => app.state.filter,
    (filter) => app.set({ filter }),
  );
}

// Hides lines below a percentage of the largest weight.
export function leastSwitch(app: App): Switch {
  const slider = element("input", { type: "range", min: 0, max: 50, step: 1, "aria-label": "Hide lines below" });
  const words = element("output", {});
  slider.addEventListener("input", () => app.set({ least: Number(slider.value) }, { replace: true }));
  const node = element("label", { class: "menu least" }, "Hide lines below", slider, words);
  const update = () => {
    slider.value = String(app.state.least);
    words.textContent = `${app.state.least} %`;
  };
  return { node, update };
}

// A labeled stripe next to the tokens of each sentence of a pair.
export function sentenceBands(
  area: SvgGroup,
  text: Text | undefined,
  tokens: number[],
  { x, top, row }: Record<"x" | "top" | "row", number>,
) {
  const segments = text?.segments;
  if (!segments?.includes(1) || !segments.includes(0)) return;
  const { good, warn } = palette();
  tokens.forEach((token, index) => {
    const second = segments[token] === 1;
    const next = tokens[index + 1];
    const letterBelow = next !== undefined && segments[next] !== segments[token];
    const stripe = area
      .append("rect")
      .attr("class", "sentence")
      .attr("x", x)
      .attr("y", top + index * row);
    stripe
      .attr("width", 3)
      .attr("height", letterBelow ? row - 11 : row)
      .attr("fill", second ? warn : good)
      .attr("data-token", token);
    stripe.append("title").text(`sentence ${second ? "B" : "A"}`);
    if (index > 0 && segments[tokens[index - 1]!] === segments[token]) return;
    const letter = area
      .append("text")
      .attr("x", x + 1.5)
      .attr("y", top + index * row - 1);
    letter
      .attr("text-anchor", "middle")
      .attr("fill", second ? warn : good)
      .attr("class", "small-text");
    letter.text(second ? "B" : "A");
  });
}
