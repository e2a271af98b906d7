// What the views know of the engine in the page.
import type { PackedTensor } from "../data";

export interface LiveHooks {
  readonly trains: boolean; // whether the page can train its model
  readonly ready: boolean; // whether the engine answers

  // The text and the edits of the shown data, for the page's address.
  words(): [string, string][];

  // Makes a number of a view editable: a click on it (or Enter) opens a field, dragging it changes it. index: of the
  // element in the stored tensor, at least its last axes; null if the pointer is on none.
  offer(
    node: Element | null,
    packed: PackedTensor | null | undefined,
    index: (event?: PointerEvent) => number[] | null,
  ): void;
  edit(packed: PackedTensor | null | undefined, index: number[], anchor: Element): void;

  // Makes a click on a key's name hide the key from a query.
  offerMask(node: Element | null, of: { module: string; heads: number[]; query: number; key: number }): void;
}
