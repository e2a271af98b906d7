// Marks in the drawn tape: the selection, the keyboard cursor and the player's progress.
import { select, type Selection } from "d3-selection";
import type { Data, TapeNode } from "../data";
import type { Groups } from "./groups";
import type { Wire } from "./layout";
import { brief } from "../../shared/numbers";
import type { Replay } from "./replay";
import { norm } from "../tensor";

export class Marks {
  constructor(
    private readonly tape: Data["tape"],
    private readonly groups: Groups,
    private replay: Replay,
    private readonly svg: SVGSVGElement,
  ) {}

  // Switches to the replay of another output.
  setReplay(replay: Replay) {
    this.replay = replay;
  }

  // Returns the key of the box that the player is at. at: key of the keyboard cursor.
  show(step: number | null, chosen: string | null, at: string | null, paths: Map<Wire, SVGPathElement>): string | null {
    const { steps } = this.replay;
    const here = step === null ? null : Math.min(step, steps.length - 1);
    const now = here === null ? null : steps[here]!;
    const current = now && this.groups.shown(this.groups.nodes.get(now.node.id)!).key;
    const done = this.progress(here);
    const graph = select(this.svg);
    graph.classed("playing", here !== null).classed("backward", Boolean(now?.backward));
    graph.selectAll<SVGGElement, unknown>(".box, .frame").each(function () {
      const key = this.dataset.key!;
      const box = select(this);
      box.classed("chosen", key === chosen).classed("now", key === current);
      box.classed("recorded", done.forward.has(key)).classed("arrived", done.backward.has(key));
    });
    graph
      .selectAll<SVGGElement, unknown>(".box, .frame")
      .classed("cursor", (_, index, all) => all[index]!.dataset.key === at);
    this.svg.querySelectorAll(".flow").forEach((label) => label.remove());
    for (const [wire, drawn] of paths) this.markWire(select(drawn), wire, here);
    if (now?.backward) this.labelFlow(now.node, paths);
    return current;
  }

  // Keys of the boxes that have been recorded, and of those that a gradient has reached.
  private progress(here: number | null): { forward: Set<string>; backward: Set<string> } {
    const [forward, backward] = [new Set<string>(), new Set<string>()];
    const { nodes } = this.tape;
    if (here === null) return { forward, backward };
    for (const { node, backward: replayed } of this.replay.steps.slice(0, here + 1)) {
      const shown = this.groups.shown(this.groups.nodes.get(node.id)!).key;
      if (!replayed) forward.add(shown);
      else {
        backward.add(shown);
        node.inputs.forEach((source, input) => {
          const item =
            source && ("node" in source ? this.groups.nodes.get(source.node) : this.groups.leaves[source.leaf]);
          if (item && this.replay.sentTo(node, input)) backward.add(this.groups.shown(item).key);
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
    const { nodes } = this.tape;
    const { recorded } = this.replay;
    const turn = (link: Wire["links"][number]) => this.replay.backwardStep(nodes[link.to.index]!.id) ?? Infinity;
    const sent =
      here !== null &&
      wire.links.some((link) => turn(link) <= here && this.replay.sentTo(nodes[link.to.index]!, link.input));
    const now =
      here !== null && wire.links.some((link) => (here < recorded ? link.to.index === here : turn(link) === here));
    const flown = here !== null && wire.links.some((link) => link.to.index <= here);
    const back = here !== null && here >= recorded && (sent || now); // gradients flow against the wire
    const arrow = `url(#arrow${now ? "-now" : back ? "-back" : ""})`;
    drawn
      .classed("recorded", flown)
      .classed("sent", sent)
      .classed("now", now)
      .attr("marker-end", back ? null : arrow)
      .attr("marker-start", back ? arrow : null);
  }

  // Labels the wires with the norms of the gradients that a step sends along them.
  private labelFlow(node: TapeNode, paths: Map<Wire, SVGPathElement>) {
    const place = this.tape.nodes.indexOf(node);
    for (const [wire, drawn] of paths) {
      const inputs = wire.links.filter(({ to, input }) => to.index === place && this.replay.sentTo(node, input));
      if (inputs.length === 0) continue;
      const norms = inputs.map(({ input }) => brief(norm(this.replay.sentTo(node, input)!)));
      const { x, y } = drawn.getPointAtLength(drawn.getTotalLength() / 2);
      const label = select(this.svg).select("g").append("text").attr("class", "flow");
      label
        .attr("x", x)
        .attr("y", y + 4)
        .text(`‖${norms.join("‖ ‖")}‖`);
    }
  }
}
