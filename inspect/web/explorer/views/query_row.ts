// Base of the views of one query of one head: controls, keys, title and the region with the numbers.
import { element } from "../../shared/dom";
import type { App } from "../app";
import {
  attentionKeys,
  Toolbar,
  headSwitch,
  outputSwitch,
  rowSwitch,
  shortened,
  type Switch,
} from "../widgets/switches";
import type { Attention } from "../data";

export abstract class QueryRowView {
  readonly node: HTMLElement;
  private readonly bar: Toolbar;
  private readonly body: HTMLElement;

  // attention: controls that select the module; label: accessible name, including the keys; knows: whether a key applies.
  constructor(
    protected readonly app: App,
    label: string,
    attention: Switch[],
    knows: (key: string) => boolean = () => true,
  ) {
    this.bar = new Toolbar([
      ...attention,
      headSwitch(app),
      rowSwitch(
        app,
        "Row",
        () => app.tokens(app.block()?.rows ?? 0),
        () => app.query(),
      ),
      outputSwitch(app, true),
    ]);
    this.body = element("div", { class: "closeup", tabindex: 0, role: "region", "aria-label": label });
    this.body.addEventListener("keydown", (event) => {
      if (event.target === this.body && knows(event.key) && attentionKeys(app, event)) event.preventDefault();
    });
    this.node = element("section", { class: "view" }, this.bar.node, this.body);
  }

  update() {
    this.bar.update();
    const { app } = this;
    const block = app.block()!;
    const [row, head] = [app.query(), app.head()];
    const query = shortened(app.tokens(block.rows)[row] ?? "", 24);
    const title = element(
      "h2",
      { title: block.module },
      `${app.nameOf(block.module)}, head ${head}, row ${row} “${query}”`,
    );
    this.body.replaceChildren(title, ...this.shown(block, head, row));
    this.drawn();
  }

  // The contents below the title.
  protected abstract shown(block: Attention, head: number, row: number): HTMLElement[];

  // Called once the contents are in the page, where pictures know their width.
  protected abstract drawn(): void;
}
