// Outlines the place in the page that a step is about, points at its number, and scrolls it into view.
import { element } from "../../shared/dom";
import { scrollToCell } from "../widgets/number_table";
import type { Place } from "./chapters/step";

const margin = 5; // pixels between a place and its outline

// The part of a box that its scrolling ancestors show.
function seen(part: Element): DOMRect {
  let { left, top, right, bottom } = part.getBoundingClientRect();
  for (let outer = part.parentElement; outer && outer !== document.body; outer = outer.parentElement) {
    if (getComputedStyle(outer).overflow === "visible") continue;
    const box = outer.getBoundingClientRect();
    [left, top] = [Math.max(left, box.left), Math.max(top, box.top)];
    [right, bottom] = [Math.min(right, box.right), Math.min(bottom, box.bottom)];
  }
  return new DOMRect(left, top, Math.max(0, right - left), Math.max(0, bottom - top));
}

export const found = (selector: string): Element | null =>
  document.querySelector(selector.startsWith(".lesson") ? selector : `#view ${selector}`);

export class Spotlight {
  readonly node = element("div", { class: "spotlight screen", "aria-hidden": true, hidden: true });
  private place: Place | null = null;
  private waiting = false;

  // panel: covers the bottom of the window. ended: when other data replace the page's.
  constructor(
    private readonly panel: HTMLElement,
    ended: AbortSignal,
  ) {
    const later = () => this.later();
    document.addEventListener("scroll", later, { capture: true, passive: true, signal: ended });
    window.addEventListener("resize", later, { signal: ended });
    const changes = new MutationObserver(later);
    const watch = () => {
      for (const part of document.querySelectorAll("#view, .lesson"))
        changes.observe(part, { childList: true, subtree: true });
    };
    requestAnimationFrame(watch);
    ended.addEventListener("abort", () => {
      this.node.remove();
      changes.disconnect();
    });
  }

  show(place: Place | null) {
    this.place = place;
    this.point();
    this.draw();
  }

  // Scrolls the place between the top of the window and the panel.
  reveal() {
    const part = this.place && found(this.place.at);
    if (!part) return;
    const number = this.place!.number ? found(this.place!.number) : null;
    part.scrollIntoView({ block: "nearest", inline: "nearest" });
    if (number) scrollToCell(number);
    const box = part.getBoundingClientRect();
    const room = this.panel.getBoundingClientRect().top;
    const above = Math.min(48, room / 8);
    const fits = box.top >= margin && box.bottom <= room - margin;
    if (!fits)
      window.scrollBy(0, box.height + above > room - 2 * margin ? box.top - above : box.bottom - room + above / 2);
    this.draw();
  }

  private later() {
    if (this.waiting || !this.place) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      this.point();
      this.draw();
    });
  }

  // The element with the cells of a place.
  private cells(): Element | null {
    const { at, cell } = this.place ?? {};
    const picture = at && cell && found(at);
    if (!picture) return null;
    return picture.querySelector(cell.strip ? `[data-strip="${CSS.escape(cell.strip)}"]` : ".cover");
  }

  // Shows the number of a cell as if the pointer were on it, unless the reader points at another.
  private point() {
    const cover = this.cells();
    if (!cover?.closest(".picture")?.querySelector(".readout.hint")) return;
    const { row, column, rows, columns } = this.place!.cell!;
    const { left, top, width, height } = cover.getBoundingClientRect();
    const clientX = left + ((column + 0.5) / columns) * width;
    const clientY = top + ((row + 0.5) / rows) * height;
    cover.dispatchEvent(new PointerEvent("pointermove", { clientX, clientY }));
  }

  // Outlines the place; of a strip, whose cells are large, the cell.
  private draw() {
    const part = this.place && found(this.place.at);
    const cell = this.place?.cell;
    const strip = cell?.strip ? this.cells() : null;
    let box = (strip ?? part) && seen(strip ?? part!);
    if (box && strip)
      box = new DOMRect(
        box.left + (cell!.column / cell!.columns) * box.width,
        box.top,
        box.width / cell!.columns,
        box.height,
      );
    this.node.hidden = !box || box.width === 0 || box.height === 0;
    if (!box) return;
    this.node.dataset.number = cell ? `${this.place!.at} .readout` : (this.place!.number ?? this.place!.at);
    const { style } = this.node;
    style.left = `${box.left + window.scrollX - margin}px`;
    style.top = `${box.top + window.scrollY - margin}px`;
    style.width = `${box.width + 2 * margin}px`;
    style.height = `${box.height + 2 * margin}px`;
  }
}
