// A small map of the whole graph that marks the visible part; a click scrolls there.
import { element } from "../../shared/dom";
import { palette } from "../../shared/colors";
import type { Layout } from "./layout";

const [most, tallest] = [190, 150];

export class Minimap {
  readonly node = element("div", { class: "minimap screen", role: "img", "aria-label": "Map of the whole tape" });
  private readonly svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  private readonly view = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  private layout: Layout | null = null;

  // plot: the scrolling element; scale: of the graph in it.
  constructor(
    private readonly plot: HTMLElement,
    private readonly scale: () => number,
  ) {
    this.node.append(this.svg);
    this.view.setAttribute("class", "seen");
    plot.addEventListener("scroll", () => this.mark());
    const go = (event: PointerEvent) => {
      if (!this.layout) return;
      const box = this.svg.getBoundingClientRect();
      const place = (at: number, size: number, whole: number) => (at / size) * whole * this.scale();
      plot.scrollTo(
        place(event.clientX - box.left, box.width, this.layout.width) - plot.clientWidth / 2,
        place(event.clientY - box.top, box.height, this.layout.height) - plot.clientHeight / 2,
      );
    };
    this.svg.addEventListener("pointerdown", go);
    this.svg.addEventListener("pointermove", (event) => event.buttons & 1 && go(event));
  }

  draw(layout: Layout) {
    this.layout = layout;
    const { width, height, frames, boxes } = layout;
    const size = Math.min(most / width, tallest / height);
    this.svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    this.svg.setAttribute("width", String(Math.max(24, Math.round(width * size))));
    this.svg.setAttribute("height", String(Math.max(24, Math.round(height * size))));
    this.svg.setAttribute("preserveAspectRatio", "none");
    const { muted, line } = palette();
    const rect = (of: { x: number; y: number; width: number; height: number; key: string }, look: string) => {
      const made = document.createElementNS("http://www.w3.org/2000/svg", "rect");
      const place = { x: of.x - of.width / 2, y: of.y - of.height / 2, width: of.width, height: of.height };
      for (const [name, value] of Object.entries(place)) made.setAttribute(name, String(value));
      made.setAttribute("fill", look);
      made.dataset.of = of.key;
      return made;
    };
    this.svg.replaceChildren(
      ...frames.map((frame) => rect(frame, line)),
      ...boxes.map((box) => rect(box, muted)),
      this.view,
    );
    this.mark();
  }

  // Marks the visible part of the graph and, if given, the current boxes.
  mark(current: (string | null | undefined)[] = []) {
    if (!this.layout) return;
    const { plot } = this;
    const scale = this.scale();
    const { width, height } = this.layout;
    const place = {
      x: Math.max(0, plot.scrollLeft / scale),
      y: Math.max(0, plot.scrollTop / scale),
      width: Math.min(width, plot.clientWidth / scale),
      height: Math.min(height, plot.clientHeight / scale),
    };
    for (const [name, value] of Object.entries(place)) this.view.setAttribute(name, String(value));
    this.node.hidden = place.width >= width && place.height >= height;
    if (current.length === 0) return;
    for (const box of this.svg.querySelectorAll<SVGRectElement>("[data-of]"))
      box.classList.toggle("here", current.includes(box.dataset.of));
  }
}
