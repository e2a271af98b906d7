// Lays out the visible part of the tape with dagre. Each unfolded group is laid out separately and then treated as one
// box of its parent. Wires enter a group at the top and leave at the bottom, through gates: nodes of the group's own layout.
import { Graph, layout } from "@dagrejs/dagre";
import { max, min } from "d3-array";
import type { Group, Groups, Item, Link } from "./groups";

export interface Box {
  key: string;
  of: Item | Group;
  x: number; // center
  y: number;
  width: number;
  height: number;
}

interface Point {
  x: number;
  y: number;
}

export interface Wire {
  from: string;
  to: string;
  points: Point[];
  links: Link[];
}

export interface Layout {
  width: number;
  height: number;
  frames: Box[]; // unfolded groups, outer before inner
  boxes: Box[];
  wires: Wire[];
}

// A group's layout in its own coordinates; edges are keyed by "from to".
interface GroupLayout {
  width: number;
  height: number;
  places: Map<string, { x: number; y: number; width: number; height: number }>;
  edges: Map<string, Point[]>;
  x: number; // top left corner in the whole layout
  y: number;
}

const padding = 12;
const title = 12; // extra room at the top of a frame

type Size = (of: Item | Group) => { width: number; height: number };
const groupOf = (thing: Item | Group) => ("kind" in thing ? thing.group : thing.parent);

// A segment of a wire: an edge in one group's layout.
interface Segment {
  group: Group;
  from: string;
  to: string;
}

// A wire's segments: out of the groups around its start, across the innermost common group, into those around its end.
function route(from: Item | Group, to: Item | Group, groups: Groups): Segment[] {
  const above = new Set<Group>();
  for (let group = groupOf(to); group; group = group.parent) above.add(group);
  const out: Segment[] = [];
  let begin = from.key;
  let common = groupOf(from) ?? groups.root;
  for (; !above.has(common); common = common.parent!) {
    out.push({ group: common, from: begin, to: `out ${from.key}` });
    begin = common.key;
  }
  const into: Segment[] = [];
  let end = to.key;
  for (let group = groupOf(to)!; group !== common; group = group.parent!) {
    into.unshift({ group, from: `in ${from.key}`, to: end });
    end = group.key;
  }
  return [...out, { group: common, from: begin, to: end }, ...into];
}

function layOutGroup(group: Group, stretches: Segment[], sheets: Map<Group, GroupLayout>, size: Size): GroupLayout {
  const graph = new Graph();
  // dagre's default averages four alignments, which leaves chains of operations far apart.
  graph.setGraph({ rankdir: "TB", nodesep: 18, ranksep: 25, edgesep: 12, align: "UR" });
  graph.setDefaultNodeLabel(() => ({ width: 4, height: 1 }));
  graph.setDefaultEdgeLabel(() => ({}));
  for (const inner of group.groups) {
    const open = sheets.get(inner);
    graph.setNode(inner.key, open ? { width: open.width, height: open.height } : { ...size(inner) });
  }
  for (const item of group.items) graph.setNode(item.key, { ...size(item) });
  const gates = new Set(["all in", "all out"]); // these two tie the other gates together and are not drawn
  for (const { from, to } of stretches) {
    for (const gate of [from, to]) {
      if (graph.hasNode(gate)) continue;
      graph.setNode(gate);
      gates.add(gate);
      // The heavy edge keeps all gates of a side in one rank.
      if (gate.startsWith("in ")) graph.setEdge("all in", gate, { weight: 40 });
      else graph.setEdge(gate, "all out", { weight: 40 });
    }
    graph.setEdge(from, to, {});
  }
  layout(graph);
  return trim(graph, gates, stretches);
}

// Moves the layout's corner to 0, 0 with padding around it; gates end up on the frame if nothing extends past them.
function trim(graph: Graph, gates: Set<string>, stretches: Segment[]): GroupLayout {
  const places: GroupLayout["places"] = new Map();
  for (const name of graph.nodes()) {
    const { x, y, width, height } = graph.node(name) as Required<Point & { width: number; height: number }>;
    if (!gates.has(name)) places.set(name, { x, y, width, height });
  }
  const edges: GroupLayout["edges"] = new Map();
  for (const { from, to } of stretches)
    edges.set(`${from} ${to}`, (graph.edge(from, to) as { points: Point[] }).points);
  const all = [...places.values()];
  const bends = [...edges.values()].flat();
  const left = (min([...all.map(({ x, width }) => x - width / 2), ...bends.map(({ x }) => x)]) ?? 0) - padding;
  const right = (max([...all.map(({ x, width }) => x + width / 2), ...bends.map(({ x }) => x)]) ?? 0) + padding;
  const highest = (min(all, ({ y, height }) => y - height / 2) ?? 0) - padding - title;
  const lowest = (max(all, ({ y, height }) => y + height / 2) ?? 0) + padding;
  const top = min([highest, ...bends.map(({ y }) => y)])!;
  const bottom = max([lowest, ...bends.map(({ y }) => y)])!;
  const moved = <P extends Point>(point: P): P => ({ ...point, x: point.x - left, y: point.y - top });
  return {
    width: right - left,
    height: bottom - top,
    places: new Map([...places].map(([name, place]) => [name, moved(place)])),
    edges: new Map([...edges].map(([name, points]) => [name, points.map(moved)])),
    x: 0,
    y: 0,
  };
}

// Concatenates the segments. At the frame of an unfolded group, the wire continues at the gate inside.
function joinSegments(stretches: Segment[], sheets: Map<Group, GroupLayout>, open: Set<string>): Point[] {
  return stretches.flatMap(({ group, from, to }) => {
    const { x, y, edges } = sheets.get(group)!;
    const points = edges.get(`${from} ${to}`)!;
    const kept = points.slice(open.has(from) ? 1 : 0, open.has(to) ? -1 : undefined);
    return kept.map((point) => ({ x: point.x + x, y: point.y + y }));
  });
}

export function arrange(groups: Groups, size: Size): Layout {
  const wires = new Map<string, Wire & { stretches: Segment[] }>();
  const within = new Map<Group, Segment[]>();
  for (const link of groups.links) {
    const [from, to] = [groups.shown(link.from), groups.shown(link.to)];
    if (from === to) continue;
    const known = wires.get(`${from.key} ${to.key}`);
    if (known) {
      known.links.push(link);
      continue;
    }
    const stretches = route(from, to, groups);
    wires.set(`${from.key} ${to.key}`, { from: from.key, to: to.key, points: [], links: [link], stretches });
    for (const stretch of stretches) within.set(stretch.group, [...(within.get(stretch.group) ?? []), stretch]);
  }
  const seen = groups.visible();
  const sheets = new Map<Group, GroupLayout>();
  for (const group of [groups.root, ...seen.groups].reverse())
    sheets.set(group, layOutGroup(group, within.get(group) ?? [], sheets, size));
  const found: Layout = { width: 0, height: 0, frames: [], boxes: [], wires: [] };
  const place = (of: Item | Group): Box => {
    const outer = sheets.get(groupOf(of)!)!;
    const { x, y, width, height } = outer.places.get(of.key)!;
    return { key: of.key, of, x: x + outer.x, y: y + outer.y, width, height };
  };
  for (const group of seen.groups) {
    const frame = place(group);
    Object.assign(sheets.get(group)!, { x: frame.x - frame.width / 2, y: frame.y - frame.height / 2 });
    found.frames.push(frame);
  }
  found.boxes = [...seen.folded, ...seen.items].map(place);
  const open = new Set(seen.groups.map(({ key }) => key));
  for (const wire of wires.values()) {
    wire.points = joinSegments(wire.stretches, sheets, open);
    found.wires.push(wire);
  }
  const { width, height } = sheets.get(groups.root)!;
  return { ...found, width, height };
}

// The middle of the intervals that a window of this width shows in full if it shows as many as possible; null without any.
export function densestCenter(intervals: [number, number][], width: number): number | null {
  let best: [number, number][] = [];
  for (const [start] of intervals) {
    const inside = intervals.filter(([from, to]) => from >= start && to <= start + width);
    if (inside.length > best.length) best = inside;
  }
  if (best.length === 0) return null;
  return (Math.min(...best.map(([from]) => from)) + Math.max(...best.map(([, to]) => to))) / 2;
}
