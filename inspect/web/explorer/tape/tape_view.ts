// The recorded tape: a graph with folding modules, a player, and details of the selected operation.
import { element } from "../../shared/dom";
import type { App } from "../app";
import { Toolbar, outputSwitch, shortened } from "../widgets/switches";
import type { SvgGroup } from "../../shared/colors";
import { arrowheads, Drawing, drawWire } from "./drawing";
import { Groups, isItem, type Group, type Item } from "./groups";
import { Inspector } from "./inspector";
import { arrange, densestCenter, type Box, type Layout, type Wire } from "./layout";
import { Marks } from "./marks";
import { Picture } from "../../shared/picture";
import { Player } from "./player";
import { Replay } from "./replay";
import type { Subject } from "../state";
import { Zoom } from "./zoom";

export class TapeView {
  readonly node: HTMLElement;
  private readonly groups: Groups;
  private readonly drawing: Drawing;
  private replay: Replay;
  private readonly inspector: Inspector;
  private readonly player: Player;
  private readonly bar: Toolbar;
  private readonly picture: Picture;
  private layout: Layout | null = null;
  private readonly paths = new Map<Wire, SVGPathElement>();
  readonly zoom: Zoom;
  private readonly marks: Marks;
  private open: string | null = null; // State.open as last applied
  private centers = false; // whether the next update scrolls to the middle
  private follows = true; // whether the player's current module unfolds
  private readonly followed = new Set<Group>(); // groups unfolded for the player
  private at: string | null = null; // key of the keyboard cursor
  private revealed: Subject | null = null;

  constructor(private readonly app: App) {
    this.groups = new Groups(app.data);
    this.drawing = new Drawing(
      app.data,
      this.groups,
      () => this.replay.output,
      ({ path, name }) => app.architecture.groupName(path, name),
    );
    this.replay = new Replay(app.data, app.state.output);
    this.inspector = new Inspector(app, this.replay);
    this.player = new Player(app, this.replay, (follows) => {
      this.follows = follows;
      this.update();
    });
    this.picture = new Picture({
      id: "tape-picture",
      label:
        "The tape. Up and down arrows move through it, right unfolds a module, left folds it, Enter selects; period and comma step the player.",
      naturalSize: true,
      draw: (area) => this.draw(area),
      key: (event) => this.key(event),
    });
    const button = (label: string, sign: string, click: () => void) => {
      const made = element("button", { type: "button", "aria-label": label, title: label }, sign);
      made.addEventListener("click", click);
      return made;
    };
    const zooms = element(
      "span",
      { class: "zooms", role: "group", "aria-label": "Graph" },
      button("Smaller", "−", () => this.zoom.to(this.zoom.scale() / 1.25)),
      button("Larger", "+", () => this.zoom.to(this.zoom.scale() * 1.25)),
      button("Fit width and height", "Fit", () => this.zoom.to("all")),
      button("Fold to the first levels", "Fold", () => this.unfold(null)),
      button("Unfold all modules", "Unfold all", () => this.unfold("*")),
    );
    this.bar = new Toolbar([{ node: zooms }, outputSwitch(app, true)]);
    this.zoom = new Zoom(this.picture, () => this.layout, app.signal);
    this.marks = new Marks(app.data.tape, this.groups, this.replay, this.picture.svg);
    this.node = element(
      "section",
      { class: "view" },
      this.bar.node,
      this.player.node,
      element(
        "div",
        { class: "tape" },
        element("div", { class: "graph" }, this.picture.node, key()),
        this.inspector.node,
      ),
    );
  }

  update() {
    const { app } = this;
    if (app.state.output !== this.replay.output) this.play(app.state.output);
    this.bar.update();
    this.player.update();
    const { subject } = app.state;
    this.applyOpenPaths(app.state.open);
    this.follow();
    if (subject && JSON.stringify(subject) !== JSON.stringify(this.revealed)) {
      const item = this.itemOf(subject);
      if (item && this.groups.shown(item) !== item) {
        this.groups.reveal(item);
        this.layout = null;
      }
    }
    this.revealed = subject;
    const first = !this.picture.svg.hasChildNodes();
    if (!this.layout || first) this.picture.redraw();
    const { plot } = this.picture;
    if (first || this.centers) plot.scrollLeft = this.center() * this.zoom.scale() - plot.clientWidth / 2;
    this.centers = false;
    this.mark();
    const current = app.state.step === null ? null : this.replay.at(app.state.step);
    this.inspector.show(subject ?? (current ? { node: current.node.id } : null), app.state.step);
  }

  // Switches to another output: its replay, and its gradients in the boxes.
  private play(output: number) {
    this.player.stop();
    this.replay = new Replay(this.app.data, output);
    for (const part of [this.inspector, this.player, this.marks]) part.setReplay(this.replay);
    this.layout = null;
  }

  onLeave() {
    this.player.stop();
  }

  private itemOf(subject: Subject): Item | undefined {
    return "node" in subject ? this.groups.nodes.get(subject.node) : this.groups.leaves[subject.leaf];
  }

  // Applies State.open if it changed.
  private applyOpenPaths(open: string | null) {
    if (open === this.open) return;
    this.open = open;
    if (open === null) this.groups.unfoldSome(32);
    else this.groups.setOpenPaths(open);
    this.followed.clear();
    this.layout = null;
  }

  // The x around which most of the boxes in the upper part of the plot are visible.
  private center(): number {
    const { boxes, width } = this.layout!;
    const { clientWidth, clientHeight } = this.picture.plot;
    const [wide, high] = [clientWidth / this.zoom.scale(), clientHeight / this.zoom.scale()];
    return (
      densestCenter(
        boxes.filter(({ y }) => y < 0.6 * high).map((box) => [box.x - box.width / 2, box.x + box.width / 2]),
        wide,
      ) ?? width / 2
    );
  }

  private unfold(open: string | null) {
    this.picture.plot.scrollTop = 0;
    this.centers = true;
    this.open = open === null ? "" : null; // forces it to be applied even if unchanged
    this.app.set({ open }, { replace: true });
  }

  // Unfolds the player's current module and folds those that it has left.
  private follow() {
    const { step } = this.app.state;
    const at = step !== null && this.follows ? this.replay.at(step) : undefined;
    const item = at && this.groups.nodes.get(at.node.id);
    const around = new Set<Group>();
    for (let group = item?.group ?? null; group; group = group.parent) around.add(group);
    const left = [...this.followed].filter((group) => !around.has(group));
    const entered = [...around].filter((group) => !this.groups.open.has(group));
    for (const group of left) {
      this.followed.delete(group);
      this.groups.open.delete(group);
    }
    for (const group of entered) {
      this.followed.add(group);
      this.groups.open.add(group);
    }
    if (left.length + entered.length > 0) this.layout = null;
  }

  private toggle(group: Group) {
    const { open } = this.groups;
    if (open.has(group)) open.delete(group);
    else open.add(group);
    this.followed.delete(group);
    this.at = group.key;
    this.layout = null;
    this.open = this.groups.openPaths();
    this.app.set({ open: this.open }, { replace: true });
  }

  private draw(area: SvgGroup): number {
    this.layout ??= arrange(this.groups, this.drawing.size);
    const { layout } = this;
    const { recorded, steps, output } = this.replay;
    const behind = steps.length - recorded;
    const name = shortened(this.app.data.outputs[output]!.name, 40);
    this.picture.setTitle(`Tape: ${behind} of ${recorded} operations lead to ${name}`);
    this.picture.setHint("click an operation or a module; ↑ ↓ ← → Enter, . and , step");
    arrowheads(area);
    for (const frame of layout.frames) this.drawing.frame(area, frame, (group) => this.toggle(group));
    const wires = area.append("g").attr("fill", "none");
    this.paths.clear();
    for (const wire of layout.wires) this.paths.set(wire, drawWire(wires, wire));
    for (const box of layout.boxes) this.drawing.box(area, box, (of) => this.choose(of));
    this.zoom.apply();
    this.zoom.map.draw(layout);
    return layout.height;
  }

  private choose(of: Item | Group) {
    this.at = of.key;
    if (!isItem(of)) {
      this.toggle(of);
      return;
    }
    const { tape } = this.app.data;
    const subject = of.kind === "node" ? { node: tape.nodes[of.index]!.id } : { leaf: of.index };
    const same = JSON.stringify(subject) === JSON.stringify(this.app.state.subject);
    this.app.set({ subject: same ? null : subject });
  }

  private mark() {
    const { subject, step } = this.app.state;
    const chosen = (subject && this.itemOf(subject)?.key) ?? null;
    const current = this.marks.show(step, chosen, this.at, this.paths);
    this.zoom.map.mark([chosen, current]);
    const seen = current ?? chosen;
    if (seen) this.scrollTo(seen);
  }

  private scrollTo(key: string) {
    const { plot, svg } = this.picture;
    const box = svg.querySelector<SVGGElement>(`[data-key="${CSS.escape(key)}"]`);
    if (!box) return;
    const [place, view] = [box.getBoundingClientRect(), plot.getBoundingClientRect()];
    const need = (low: number, high: number, from: number, to: number) =>
      low < from + 20 ? low - from - 60 : high > to - 20 ? Math.min(low - from - 60, high - to + 120) : 0;
    plot.scrollBy(
      need(place.left, place.right, view.left, view.right),
      need(place.top, place.bottom, view.top, view.bottom),
    );
  }

  // Frames and boxes from top to bottom, the order of the arrow keys.
  private order(): Box[] {
    const { frames, boxes } = this.layout!;
    const top = ({ y, height }: Box) => y - height / 2;
    return [...frames, ...boxes].sort((a, b) => top(a) - top(b) || a.x - b.x);
  }

  private key(event: KeyboardEvent): boolean {
    if (event.key === ".") return this.step(1);
    if (event.key === ",") return this.step(-1);
    const order = this.order();
    const index = order.findIndex(({ key: name }) => name === this.at);
    const here = order[index];
    const group = here && !isItem(here.of) ? here.of : null;
    const move = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (move) {
      this.at = order[Math.max(0, Math.min(order.length - 1, index + move))]?.key ?? null;
      this.mark();
      if (this.at) this.scrollTo(this.at);
      const box = order.find(({ key: name }) => name === this.at);
      if (box) this.picture.showReadout(this.drawing.words(box.of).join("  "));
      return true;
    }
    if (event.key === "ArrowRight" && group && !this.groups.open.has(group)) return (this.toggle(group), true);
    if (event.key === "ArrowLeft" && here) {
      const fold = group && this.groups.open.has(group) ? group : isItem(here.of) ? here.of.group : here.of.parent;
      if (fold && fold !== this.groups.root) this.toggle(fold);
      return true;
    }
    if ((event.key === "Enter" || event.key === " ") && here) return (this.choose(here.of), true);
    return false;
  }

  private step(by: number): boolean {
    const last = this.replay.steps.length - 1;
    const { step } = this.app.state;
    const next = step === null ? (by > 0 ? 0 : last) : Math.max(0, Math.min(last, step + by));
    this.app.set({ step: next }, { replace: true });
    return true;
  }
}

function key(): HTMLElement {
  const entry = (kind: string, words: string) => element("span", { class: `key ${kind}` }, words);
  return element(
    "p",
    { class: "graph-key muted" },
    entry("node", "operation"),
    entry("leaf", "leaf"),
    entry("folded", "folded module"),
    entry("now", "this step"),
    entry("arrived", "gradient arrived"),
    entry("guilty", "✗ wrong backward"),
  );
}
