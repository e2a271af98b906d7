// The selected slice of tensors with more than two axes, and the names of its rows and columns.
import { element } from "../../shared/dom";
import type { App } from "../app";
import { shortened } from "../widgets/switches";
import type { Axis, PackedTensor } from "../data";
import { shapeText } from "../../shared/numbers";
import type { Tensor } from "../tensor";

export class Slices {
  private readonly chosen = new Map<string, number>();

  constructor(
    private readonly app: App,
    private readonly changed: () => void,
  ) {}

  // Selected indices of the leading axes.
  places(held: number[], axes: Axis[] | null): number[] {
    return held.slice(0, -2).map((size, index) => {
      const axis = axes?.[index] ?? null;
      const place = this.chosen.get(keyOf(axis, index)) ?? (axis === "heads" ? this.app.head() : 0);
      return Math.min(place, size - 1);
    });
  }

  // A drop-down list for each leading axis of size 2 or more.
  switches(tensor: Tensor, axes: Axis[] | null): HTMLElement | null {
    const places = this.places(tensor.storedShape, axes);
    const lists = tensor.storedShape.slice(0, -2).flatMap((size, index) => {
      if (size < 2) return [];
      const axis = axes?.[index] ?? null;
      const names = this.names(axis, size) ?? Array.from({ length: size }, (_, place) => String(place));
      const options = names.map((name, place) => element("option", { value: place }, name));
      const list = element("select", { "data-axis": index }, ...options);
      list.value = String(places[index]);
      list.addEventListener("change", () => {
        this.chosen.set(keyOf(axis, index), Number(list.value));
        this.changed();
      });
      const what = axis === "heads" ? "Head" : axis && typeof axis === "object" ? "Token" : `Axis ${index}`;
      return [element("label", { class: "menu" }, what, list)];
    });
    return lists.length > 0 ? element("div", { class: "slices screen" }, ...lists) : null;
  }

  // Names of the indices along an axis; undefined if they are plain numbers.
  names(axis: Axis | undefined, size: number, columns?: number[]): string[] | undefined {
    const all = Array.from({ length: size }, (_, place) => columns?.[place] ?? place);
    if (axis === "heads") return all.map((head) => `head ${head}`);
    if (axis === "vocabulary") return all.map((token) => this.token(token));
    if (!axis) return columns?.map(String);
    const tokens = this.app.tokens(axis.text);
    return all.map((place) => `${(axis.start ?? 0) + place} ${shortened(tokens[(axis.start ?? 0) + place] ?? "", 14)}`);
  }

  private token(id: number): string {
    for (const prediction of this.app.data.predictions)
      if (prediction?.names[id] !== undefined) return shortened(prediction.names[id], 14);
    return `#${id}`;
  }
}

const keyOf = (axis: Axis, index: number) =>
  axis === null ? `axis ${index}` : typeof axis === "object" ? `text ${axis.text}` : axis;

// States which part of a tensor is stored and how to store all of it; null if nothing is missing.
export function missing(packed: PackedTensor, module: string): string | null {
  const { shape, cut, columns } = packed;
  if (!cut) return null;
  const kept = shape.flatMap((size, axis) => {
    const some = cut[axis] ?? size;
    if (some === size) return [];
    const what = axis === shape.length - 1 ? "columns" : axis === shape.length - 2 ? "rows" : `indices of axis ${axis}`;
    return [`${some} of ${size} ${what}`];
  });
  const which = columns ? " (the correct tokens and the likeliest)" : "";
  return `Stored: ${kept.join(", ")} of ${shapeText(shape)}${which}. ${keepsAll(module)}.`;
}

// How to make the command store a module's tensors in full.
export const keepsAll = (module: string) => `Use --detail ${module === "" ? "'*'" : module} to store all of it`;
