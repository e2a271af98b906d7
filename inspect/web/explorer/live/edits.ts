// The views' way to edit: numbers that open an editor or are dragged, and keys that a click hides.
import type { App } from "../app";
import type { PackedTensor } from "../data";
import { element } from "../../shared/dom";
import { exact } from "../../shared/numbers";
import { closeEditor, openEditor } from "./editor";
import { elementOf, type Element as Value } from "./element";
import type { LiveHooks } from "./hooks";
import type { Edit } from "./protocol";
import type { Session } from "./session";
import { wordsOf } from "./words";

const startDrag = 4; // pixels
const dragLength = 200; // pixels from one end of the slider to the other

export class Edits implements LiveHooks {
  // app: the one whose views are shown.
  constructor(
    private readonly session: Session,
    private readonly app: () => App,
    readonly trains: boolean,
  ) {}

  words(): [string, string][] {
    return this.session.words();
  }

  get ready(): boolean {
    return this.session.engine === "ready";
  }

  offer(
    node: Element | null,
    packed: PackedTensor | null | undefined,
    index: (event?: PointerEvent) => number[] | null,
  ) {
    if (!node || !packed || typeof this.session.engine === "object") return;
    if (node instanceof HTMLTableCellElement) node = asButton(node);
    const target = node;
    node.classList.add("editable");
    let dragged = false;
    node.addEventListener("pointerdown", (event) => {
      dragged = false;
      const pointer = event as PointerEvent;
      const at = index(pointer);
      const found = at && elementOf(this.app().data, packed, at);
      // A finger scrolls; it taps to open the editor.
      if (!found || pointer.button !== 0 || pointer.pointerType !== "mouse") return;
      event.stopPropagation();
      this.drag(pointer, found, () => (dragged = true));
    });
    node.addEventListener("click", (event) => {
      const at = index(event as PointerEvent);
      if (at && !dragged) this.open(packed, at, anchorOf(target, event as PointerEvent));
    });
  }

  edit(packed: PackedTensor | null | undefined, index: number[], anchor: Element) {
    this.open(packed, index, anchor.getBoundingClientRect());
  }

  offerMask(node: Element | null, of: { module: string; heads: number[]; query: number; key: number }) {
    if (!node || typeof this.session.engine === "object") return;
    node.classList.add("editable");
    node.addEventListener("click", () => this.toggleMask(of));
  }

  toggleMask({ module, heads, query, key }: { module: string; heads: number[]; query: number; key: number }) {
    const count = this.app().data.attention.find((block) => block.module === module)?.heads;
    const place = { kind: "mask" as const, module, query, key };
    const masks = heads.length === count ? [place] : heads.map((head) => ({ ...place, head }));
    const others = this.session.edits.filter(
      (edit) => edit.kind !== "mask" || edit.module !== module || edit.query !== query || edit.key !== key,
    );
    const had = others.length < this.session.edits.length;
    this.session.setEdits(had ? others : [...others, ...masks]);
  }

  // Opens an editor of an edit that is not a single element of a tensor. A value that changes nothing removes the edit.
  openNumber(
    anchor: Element,
    value: number,
    [least, most]: [number, number],
    neutral: number,
    made: (value: number) => Edit,
  ) {
    const { short, where } = wordsOf(made(value), this.app());
    openEditor(anchor.getBoundingClientRect(), {
      title: short,
      where,
      value,
      least,
      most,
      change: (to) => (to === neutral ? this.session.removeEdit(made(to)) : this.session.addEdit(made(to))),
    });
  }

  private open(packed: PackedTensor | null | undefined, index: number[], anchor: DOMRect) {
    const found = elementOf(this.app().data, packed, index);
    if (!found) return;
    const [least, most] = ends(found);
    const { short, where } = wordsOf(found.edit(found.value), this.app());
    openEditor(anchor, {
      title: short.replace(/ = [^=]*$/, ""),
      where,
      value: found.value,
      least,
      most,
      change: (value) => this.session.addEdit(found.edit(value)),
    });
  }

  // Follows the mouse until its button is released; the element itself may be replaced meanwhile.
  private drag(start: PointerEvent, found: Value, begin: () => void) {
    const [least, most] = ends(found);
    const ended = new AbortController();
    const { signal } = ended;
    let sign: HTMLElement | null = null;
    const move = (event: PointerEvent) => {
      const by = event.clientX - start.clientX;
      if (!(event.buttons & 1)) {
        ended.abort();
        return;
      }
      if (!sign && Math.abs(by) < startDrag) return;
      if (!sign) {
        closeEditor();
        begin();
        sign = document.body.appendChild(element("output", { class: "drag-value" }));
        signal.addEventListener("abort", () => sign?.remove());
      }
      const moved = found.value + (by / dragLength) * (most - least);
      const within = Math.max(found.least ?? -Infinity, Math.min(found.most ?? Infinity, moved));
      const value = Number(within.toPrecision(3));
      sign.textContent = exact(value);
      sign.style.setProperty("--left", `${event.clientX + 14}px`);
      sign.style.setProperty("--top", `${event.clientY - 10}px`);
      event.preventDefault();
      this.session.addEdit(found.edit(value));
    };
    window.addEventListener("pointermove", move, { signal });
    for (const end of ["pointerup", "pointercancel"]) window.addEventListener(end, () => ended.abort(), { signal });
  }
}

// Puts a button around what a cell shows.
function asButton(cell: HTMLTableCellElement): HTMLButtonElement {
  const words = cell.textContent;
  const button = element("button", { type: "button", "aria-label": `${words}, edit` }, ...cell.childNodes);
  cell.replaceChildren(button);
  return button;
}

// Where the editor opens: at the pointer on a wide picture, else at the cell.
function anchorOf(node: Element, event: PointerEvent): DOMRect {
  const box = node.getBoundingClientRect();
  return box.width < 120 ? box : new DOMRect(event.clientX, event.clientY, 0, 0);
}

function ends({ value, least, most }: Value): [number, number] {
  const size = Math.max(1, 3 * Math.abs(value));
  return [least ?? -size, most ?? size];
}
