// The recorded tape as a graph of modules that fold, a player, and all there is to know of the operation that is chosen.
import { select, type Selection } from "d3-selection";
import { element } from "../shared/dom";
import type { App, Subject } from "./app";
import { Bar, outputSwitch } from "./bar";
import type { Area } from "./colours";
import { norm, type TapeNode } from "./data";
import { arrowheads, Drawing, drawWire } from "./drawing";
import { Groups, isItem, type Group, type Item } from "./groups";
import { Inspector } from "./inspector";
import { arranged, type Box, type Layout, type Wire } from "./layout";
import { brief } from "./numbers";
import { Picture } from "./picture";
import { Player } from "./player";
import { Replay } from "./replay";
import { Zoom } from "./zoom";

export class TapeView {
  readonly node: HTMLElement;
  private readonly groups: Groups;
  private readonly drawing: Drawing;
  private readonly replay: Replay;
  private readonly inspector: Inspector;
  private readonly player: Player;
  private readonly bar: Bar;
  private readonly picture: Picture;
  private layout: Layout | null = null;
  private readonly paths = new Map<Wire, SVGPathElement>();
  private readonly zoom: Zoom;
  private open: string | null = null; // what of the address is unfolded
  private follows = true; // whether the modules that the player is in unfold
  private readonly followed = new Set<Group>(); // what unfolded for the player
  private at: string | null = null; // key of the thing that the arrow keys are at
  private revealed: Subject | null = null;

  constructor(private readonly app: App) {
    this.groups = new Groups(app.data);
    this.drawing = new Drawing(app.data, this.groups);
    this.replay = new Replay(app.data);
    this.inspector = new Inspector(app, this.replay);
    this.player = new Player(app, this.replay, (follows) => {
      this.follows = follows;
      this.update();
    });
    this.picture = new Picture({
      id: "tape-picture",
      label:
        "The tape. Arrow up and down go through it, right unfolds a module, left folds it, Enter chooses; period and comma step the player.",
      natural: true,
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
    this.bar = new Bar([{ node: zooms, update: () => {} }, outputSwitch(app, true)]);
    this.zoom = new Zoom(this.picture, () => this.layout);
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
    this.bar.update();
    this.player.update();
    const { subject } = app.state;
    this.takeUp(app.state.open);
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
    if (first) plot.scrollLeft = (plot.scrollWidth - plot.clientWidth) / 2;
    this.mark();
    const current = app.state.step === null ? null : this.replay.steps[app.state.step];
    this.inspector.show(subject ?? (current ? { node: current.node.id } : null), app.state.step);
  }

  left() {
    this.player.stop();
  }

  private itemOf(subject: Subject): Item | undefined {
    return "node" in subject ? this.groups.nodes.get(subject.node) : this.groups.leaves[subject.leaf];
  }

  // Unfolds what the address says, where that changed.
  private takeUp(open: string | null) {
    if (open === this.open) return;
    this.open = open;
    if (open === null) this.groups.unfoldSome(32);
    else this.groups.openThese(open);
    this.followed.clear();
    this.layout = null;
  }

  private unfold(open: string | null) {
    this.open = open === null ? "" : null; // so that it is taken up even where it was so before
    this.app.set({ open }, { replace: true });
  }

  // Unfolds the module that the player is in, and folds those again that it has left.
  private follow() {
    const { step } = this.app.state;
    const at = step !== null && this.follows ? this.replay.steps[step] : undefined;
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

  private draw(area: Area): number {
    this.layout ??= arranged(this.groups, this.drawing.size);
    const { layout } = this;
    this.picture.entitle(`Tape of ${this.app.data.outputs[0]!.name}: ${this.app.data.tape.nodes.length} operations`);
    this.picture.suggest("click an operation or a module; ↑ ↓ ← → Enter, . and , step");
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
    if (!isItem(of)) return this.toggle(of);
    const { tape } = this.app.data;
    const subject = of.kind === "node" ? { node: tape.nodes[of.index]!.id } : { leaf: of.index };
    const same = JSON.stringify(subject) === JSON.stringify(this.app.state.subject);
    this.app.set({ subject: same ? null : subject });
  }

  // What is chosen, where the keys are, and how far the player has come.
  private mark() {
    const { subject, step } = this.app.state;
    const chosen = subject && this.itemOf(subject)?.key;
    const { steps } = this.replay;
    const here = step === null ? null : Math.min(step, steps.length - 1);
    const now = here === null ? null : steps[here]!;
    const current = now && this.groups.shown(this.groups.nodes.get(now.node.id)!).key;
    const done = this.progress(here);
    const graph = select(this.picture.svg);
    graph.classed("playing", here !== null).classed("backward", Boolean(now?.backward));
    graph.selectAll<SVGGElement, unknown>(".box, .frame").each(function () {
      const key = this.dataset.key!;
      const box = select(this);
      box.classed("chosen", key === chosen).classed("now", key === current);
      box.classed("recorded", done.forward.has(key)).classed("arrived", done.backward.has(key));
    });
    graph
      .selectAll<SVGGElement, unknown>(".box, .frame")
      .classed("cursor", (_, index, all) => all[index]!.dataset.key === this.at);
    this.picture.svg.querySelectorAll(".flow").forEach((label) => label.remove());
    for (const [wire, drawn] of this.paths) this.markWire(select(drawn), wire, here);
    if (now?.backward) this.labelFlow(now.node);
    this.zoom.map.mark([chosen, current]);
    if (current) this.scrollTo(current);
    else if (chosen) this.scrollTo(chosen);
  }

  // Which things have been recorded, and at which a gradient has arrived.
  private progress(here: number | null): { forward: Set<string>; backward: Set<string> } {
    const [forward, backward] = [new Set<string>(), new Set<string>()];
    const { nodes } = this.app.data.tape;
    if (here === null) return { forward, backward };
    for (const { node, backward: replayed } of this.replay.steps.slice(0, here + 1)) {
      const shown = this.groups.shown(this.groups.nodes.get(node.id)!).key;
      if (!replayed) forward.add(shown);
      else {
        backward.add(shown);
        node.inputs.forEach((source, input) => {
          const item =
            source && ("node" in source ? this.groups.nodes.get(source.node) : this.groups.leaves[source.leaf]);
          if (item && node.contributions[input]) backward.add(this.groups.shown(item).key);
        });
      }
    }
    for (const leaf of this.groups.leaves) forward.add(this.groups.shown(leaf).key);
    for (const folded of this.groups.visible().folded) {
      const first = nodes.findIndex((node) => this.groups.shown(this.groups.nodes.get(node.id)!) === folded);
      if (first > here) forward.delete(folded.key);
    }
    return { forward, backward };
  }

  private markWire(drawn: Selection<SVGPathElement, unknown, null, undefined>, wire: Wire, here: number | null) {
    const { nodes } = this.app.data.tape;
    const { recorded } = this.replay;
    const turn = (link: Wire["links"][number]) => this.replay.backwardStep(nodes[link.to.index]!.id) ?? Infinity;
    const sent =
      here !== null && wire.links.some((link) => turn(link) <= here && nodes[link.to.index]!.contributions[link.input]);
    const now =
      here !== null && wire.links.some((link) => (here < recorded ? link.to.index === here : turn(link) === here));
    const flown = here !== null && wire.links.some((link) => link.to.index <= here);
    const back = here !== null && here >= recorded && (sent || now); // a gradient goes against the wire
    const arrow = `url(#arrow${now ? "-now" : back ? "-back" : ""})`;
    drawn
      .classed("recorded", flown)
      .classed("sent", sent)
      .classed("now", now)
      .attr("marker-end", back ? null : arrow)
      .attr("marker-start", back ? arrow : null);
  }

  // How large the gradients are that a step sends along the wires, on them.
  private labelFlow(node: TapeNode) {
    const place = this.app.data.tape.nodes.indexOf(node);
    for (const [wire, drawn] of this.paths) {
      const inputs = wire.links.filter(({ to, input }) => to.index === place && node.contributions[input]);
      if (inputs.length === 0) continue;
      const norms = inputs.map(({ input }) => brief(norm(node.contributions[input]!)));
      const { x, y } = drawn.getPointAtLength(drawn.getTotalLength() / 2);
      const label = select(this.picture.svg).select("g").append("text").attr("class", "flow");
      label
        .attr("x", x)
        .attr("y", y + 4)
        .text(`‖${norms.join("‖ ‖")}‖`);
    }
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

  // Things in the order of the picture, from top to bottom, so that the keys go through them.
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
      if (box) this.picture.read(this.drawing.words(box.of).join("  "));
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
