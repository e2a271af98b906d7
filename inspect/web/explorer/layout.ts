// Places for what of the tape is seen, by dagre.
import { Graph, layout } from "@dagrejs/dagre";
import type { Group, Groups, Item, Link } from "./groups";

export interface Box {
  key: string;
  of: Item | Group;
  x: number; // of its middle
  y: number;
  width: number;
  height: number;
}

export interface Wire {
  from: string;
  to: string;
  points: { x: number; y: number }[];
  links: Link[];
}

export interface Layout {
  width: number;
  height: number;
  frames: Box[]; // unfolded groups, outer before inner
  boxes: Box[];
  wires: Wire[];
}

export function arranged(groups: Groups, size: (of: Item | Group) => { width: number; height: number }): Layout {
  const graph = new Graph({ compound: true });
  graph.setGraph({ rankdir: "TB", nodesep: 18, ranksep: 22, edgesep: 10, marginx: 12, marginy: 12 });
  graph.setDefaultEdgeLabel(() => ({}));
  const seen = groups.visible();
  const things = new Map<string, Item | Group>();
  for (const group of seen.groups) graph.setNode(group.key, {});
  for (const thing of [...seen.folded, ...seen.items]) {
    graph.setNode(thing.key, { ...size(thing) });
    things.set(thing.key, thing);
  }
  const parent = (thing: Item | Group) => ("kind" in thing ? thing.group : thing.parent);
  for (const thing of [...seen.groups, ...things.values()]) {
    const outer = parent(thing);
    if (outer && outer !== groups.root) graph.setParent(thing.key, outer.key);
  }
  const wires = new Map<string, Wire>();
  for (const link of groups.links) {
    const [from, to] = [groups.shown(link.from).key, groups.shown(link.to).key];
    if (from === to) continue;
    const known = wires.get(`${from} ${to}`);
    if (known) known.links.push(link);
    else wires.set(`${from} ${to}`, { from, to, points: [], links: [link] });
  }
  for (const { from, to } of wires.values()) graph.setEdge(from, to);
  layout(graph);
  const place = (key: string, of: Item | Group): Box => {
    const { x, y, width, height } = graph.node(key) as Required<Pick<Box, "x" | "y" | "width" | "height">>;
    return { key, of, x, y, width, height };
  };
  for (const wire of wires.values()) wire.points = (graph.edge(wire.from, wire.to) as { points: Wire["points"] }).points;
  const { width = 0, height = 0 } = graph.graph() as { width?: number; height?: number };
  return {
    width,
    height,
    frames: seen.groups.map((group) => place(group.key, group)),
    boxes: [...things].map(([key, of]) => place(key, of)),
    wires: [...wires.values()],
  };
}
