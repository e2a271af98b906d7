// Remembers scroll positions and the focus while elements are replaced by new ones of the same structure.

// Positions in a tree that survive its replacement: the nearest id above an element, and its index among those of the same tag.
function pathOf(element: Element, root: Element): string | null {
  const owner = element.closest("[id]");
  if (!owner || !root.contains(owner)) return null;
  if (owner === element) return `#${CSS.escape(owner.id)}`;
  const index = [...owner.querySelectorAll(element.localName)].indexOf(element);
  return `#${CSS.escape(owner.id)} ${element.localName} ${index}`;
}

function find(path: string, root: Element): Element | null {
  const [id, tag, index] = path.split(" ");
  const owner = root.querySelector(id!);
  return tag === undefined ? owner : (owner?.querySelectorAll(tag)[Number(index)] ?? null);
}

// Returns a function that restores the positions of the page and of the scrolled elements in root.
export function scrolledParts(root: Element): () => void {
  const [left, top] = [window.scrollX, window.scrollY];
  const parts = [...root.querySelectorAll("*")]
    .filter(({ scrollTop, scrollLeft }) => scrollTop !== 0 || scrollLeft !== 0)
    .flatMap((part) => {
      const path = pathOf(part, root);
      return path === null ? [] : [{ path, top: part.scrollTop, left: part.scrollLeft }];
    });
  return () => {
    for (const { path, top, left } of parts) find(path, root)?.scrollTo({ top, left, behavior: "instant" });
    window.scrollTo({ left, top, behavior: "instant" });
  };
}

// Returns a function that focuses what has taken the place of the focused element in root, if there was one.
export function focusedPlace(root: Element): () => void {
  const active = document.activeElement;
  const path = active && root !== active && root.contains(active) ? pathOf(active, root) : null;
  return () => {
    const found = path === null ? null : find(path, root);
    if (found instanceof HTMLElement || found instanceof SVGElement) found.focus({ preventScroll: true });
  };
}
