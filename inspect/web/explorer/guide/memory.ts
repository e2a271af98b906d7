// Remembers which steps of the chapters a reader has seen, and where they left. localStorage throws for pages from disk in
// some browsers; the page then forgets when it is closed.
export interface Seen {
  last: string | null; // "chapter/step"
  seen: Set<string>;
}

type Store = Pick<Storage, "getItem" | "setItem">;

export class Memory {
  private readonly state: Seen;

  // key: differs between pages; store: throws or returns what is stored.
  constructor(
    private readonly key: string,
    private readonly store: () => Store = () => localStorage,
  ) {
    this.state = this.read();
  }

  get last(): string | null {
    return this.state.last;
  }

  has(step: string): boolean {
    return this.state.seen.has(step);
  }

  visit(step: string) {
    this.state.last = step;
    this.state.seen.add(step);
    try {
      this.store().setItem(this.key, JSON.stringify({ last: step, seen: [...this.state.seen] }));
    } catch {
      // Remembered until the page is closed.
    }
  }

  private read(): Seen {
    try {
      const found = JSON.parse(this.store().getItem(this.key) ?? "{}") as Partial<Record<"last" | "seen", unknown>>;
      const strings = Array.isArray(found.seen) ? found.seen.filter((step) => typeof step === "string") : [];
      return { last: typeof found.last === "string" ? found.last : null, seen: new Set(strings) };
    } catch {
      return { last: null, seen: new Set() };
    }
  }
}
