// Zooms and pans the graph: buttons, Ctrl + wheel, dragging.
import type { Layout } from "./layout";
import { Minimap } from "./minimap";
import type { Picture } from "../../shared/picture";

export class Zoom {
  readonly map: Minimap;
  chosen: number | "all" | null = null; // all: fit the plot; null: fit the width while still legible

  constructor(
    private readonly picture: Picture,
    private readonly layout: () => Layout | null,
    unmounted: AbortSignal,
  ) {
    this.map = new Minimap(picture.plot, () => this.scale());
    picture.node.append(this.map.node);
    this.drag();
    window.addEventListener("resize", () => this.apply(), { signal: unmounted });
  }

  scale(): number {
    const layout = this.layout();
    if (!layout) return 1;
    if (typeof this.chosen === "number") return this.chosen;
    const { clientWidth } = this.picture.plot;
    // The plot is only as high as the graph, up to this height.
    const most = Number.parseFloat(getComputedStyle(this.picture.plot).maxHeight);
    const wide = (clientWidth - 4) / layout.width;
    if (this.chosen === "all") return Math.min(1.5, wide, (most - 4) / layout.height);
    return Math.max(0.5, Math.min(1, wide));
  }

  to(zoom: number | "all") {
    this.chosen = zoom === "all" ? zoom : Math.max(0.05, Math.min(3, zoom));
    this.apply();
  }

  apply() {
    const layout = this.layout();
    if (!layout || !this.picture.plot.clientWidth) return;
    const { width, height } = layout;
    this.picture.size(width, height);
    this.picture.svg.setAttribute("width", String(Math.round(width * this.scale())));
    this.picture.svg.setAttribute("height", String(Math.round(height * this.scale())));
    this.map.mark();
  }

  // Dragging pans, Ctrl + wheel zooms.
  private drag() {
    const { plot } = this.picture;
    let from: { x: number; y: number; left: number; top: number } | null = null;
    plot.addEventListener("pointerdown", (event) => {
      if (event.button === 0 && event.pointerType === "mouse")
        from = { x: event.clientX, y: event.clientY, left: plot.scrollLeft, top: plot.scrollTop };
    });
    plot.addEventListener("pointermove", (event) => {
      if (!from || !(event.buttons & 1)) return void (from = null);
      plot.scrollTo(from.left + from.x - event.clientX, from.top + from.y - event.clientY);
    });
    plot.addEventListener("wheel", (event) => {
      if (!event.ctrlKey) return;
      event.preventDefault();
      this.to(this.scale() * (event.deltaY < 0 ? 1.1 : 1 / 1.1));
    });
  }
}
