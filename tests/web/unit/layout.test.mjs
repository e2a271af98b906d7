import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./load.mjs";
import { tape } from "./tape.mjs";

const { arrange, densestCenter, Groups, moduleParts } = await load(
  "explorer/tape/layout.ts",
  "explorer/tape/groups.ts",
);

const size = () => ({ width: 60, height: 30 });
const unfolded = (paths) => {
  const groups = new Groups({ tape });
  groups.setOpenPaths(paths);
  return groups;
};
const keys = (boxes) => boxes.map(({ key }) => key).sort();
const edges = ({ x, y, width, height }) => ({
  left: x - width / 2,
  right: x + width / 2,
  top: y - height / 2,
  bottom: y + height / 2,
});
const apart = (a, b) => a.right <= b.left || b.right <= a.left || a.bottom <= b.top || b.bottom <= a.top;
const within = (inner, outer) =>
  inner.left >= outer.left && inner.right <= outer.right && inner.top >= outer.top && inner.bottom <= outer.bottom;
const layouts = ["", "enc", "dec", "enc,dec", "*"].map((paths) => [paths, arrange(unfolded(paths), size)]);

test("a path is split into modules, and an index stays with its list", () => {
  assert.deepEqual(moduleParts("encoder.layers.0.self_attention"), ["encoder", "layers.0", "self_attention"]);
  assert.deepEqual(moduleParts("0.linear.1.2"), ["0", "linear.1.2"]);
  assert.deepEqual(moduleParts(""), []);
});

test("items are grouped by module: parameters by name, constants by their first use", () => {
  const groups = new Groups({ tape });
  const path = ({ group }) => group.path;
  assert.deepEqual(
    [10, 11, 12, 14].map((id) => path(groups.nodes.get(id))),
    ["enc", "enc.layers.0.act", "dec", ""],
  );
  assert.deepEqual(groups.leaves.map(path), ["enc", "", "dec"]);
  assert.equal(groups.links.length, 9);
  assert.deepEqual(new Set(groups.links.map(({ output }) => output)), new Set([0]));
  assert.deepEqual(
    groups.all().map((group) => [group.path, group.name, groups.count(group)]),
    [
      ["", "", 6],
      ["enc", "enc", 2],
      ["dec", "dec", 2],
      ["enc.layers.0", "layers.0", 1],
      ["enc.layers.0.act", "act", 1],
    ],
  );
});

test("groups unfold level by level while there is room", () => {
  const nodes = [...tape.nodes, { ...tape.nodes[1], id: 20 }];
  const groups = new Groups({ tape: { ...tape, nodes } });
  const open = () => [...groups.open].map(({ path }) => path).sort();
  groups.unfoldSome(8);
  assert.deepEqual(open(), [""]);
  groups.unfoldSome(9);
  assert.deepEqual(open(), ["", "dec", "enc", "enc.layers.0"]);
  groups.unfoldSome(10);
  assert.equal(groups.openPaths(), "*");
});

test("the unfolded groups are written and read as their innermost paths", () => {
  for (const paths of ["", "dec", "enc.layers.0", "*"]) assert.equal(unfolded(paths).openPaths(), paths);
  const groups = unfolded("");
  groups.reveal(groups.nodes.get(11));
  assert.equal(groups.openPaths(), "enc.layers.0.act");
  assert.equal(unfolded("no.such.group").openPaths(), "");
});

test("an item is shown as the outermost folded group around it", () => {
  const shown = (paths, id) => {
    const groups = unfolded(paths);
    return groups.shown(groups.nodes.get(id)).key;
  };
  assert.deepEqual(
    [shown("", 11), shown("enc", 11), shown("*", 11), shown("", 14)],
    ["genc", "genc.layers.0", "n11", "n14"],
  );
});

test("a folded group is one box, an unfolded one a frame around its contents", () => {
  const of = Object.fromEntries(layouts);
  assert.deepEqual(keys(of[""].boxes), ["gdec", "genc", "l1", "n14", "n15"]);
  assert.deepEqual(keys(of[""].frames), []);
  assert.deepEqual(keys(of["enc,dec"].boxes), ["genc.layers.0", "l0", "l1", "l2", "n10", "n12", "n13", "n14", "n15"]);
  assert.deepEqual(keys(of["enc,dec"].frames), ["gdec", "genc"]);
  assert.deepEqual(keys(of["*"].frames), ["gdec", "genc", "genc.layers.0", "genc.layers.0.act"]);
});

for (const [paths, { width, height, frames, boxes, wires }] of layouts) {
  test(`boxes keep their size, do not overlap and lie inside their frames: "${paths}"`, () => {
    for (const box of boxes) assert.deepEqual({ width: box.width, height: box.height }, size(), box.key);
    for (const [i, a] of boxes.entries())
      for (const b of boxes.slice(i + 1)) assert.ok(apart(edges(a), edges(b)), `${a.key} and ${b.key}`);
    const around = new Map(frames.map((frame) => [frame.of, edges(frame)]));
    const page = { left: 0, top: 0, right: width, bottom: height };
    for (const box of [...boxes, ...frames]) {
      const outer = around.get(box.of.group ?? box.of.parent) ?? page;
      assert.ok(within(edges(box), outer), `${box.key} in its frame`);
    }
    for (const frame of frames)
      for (const box of boxes) {
        const inside = (of) => of !== null && (of === frame.of || inside(of.group ?? of.parent));
        assert.equal(inside(box.of), !apart(edges(box), edges(frame)), `${box.key} and ${frame.key}`);
      }
  });

  test(`a frame has room for its title above its boxes: "${paths}"`, () => {
    for (const frame of frames)
      for (const box of [...boxes, ...frames].filter(({ of }) => (of.group ?? of.parent) === frame.of)) {
        assert.ok(edges(box).top - edges(frame).top >= 24 - 1e-6, box.key);
        for (const side of ["left", "right", "bottom"])
          assert.ok(Math.abs(edges(box)[side] - edges(frame)[side]) >= 12 - 1e-6, `${box.key}, ${side}`);
      }
  });

  test(`a wire leads down from its operand to its operation: "${paths}"`, () => {
    const known = new Map(boxes.map((box) => [box.key, edges(box)]));
    for (const { from, to, points } of wires) {
      const [start, end] = [points[0], points.at(-1)];
      const touches = ({ x, y }, { left, right, top, bottom }) =>
        x >= left - 1e-6 && x <= right + 1e-6 && y >= top - 1e-6 && y <= bottom + 1e-6;
      assert.ok(touches(start, known.get(from)), `${from} begins at ${start.x}, ${start.y}`);
      assert.ok(touches(end, known.get(to)), `${to} ends at ${end.x}, ${end.y}`);
      assert.ok(start.y < end.y, `${from} to ${to}`);
      for (const [i, { y }] of points.entries())
        assert.ok(i === 0 || y >= points[i - 1].y - 1e-6, `${from} to ${to} turns up`);
    }
  });
}

test("several tensors between the same two boxes share a wire", () => {
  const of = Object.fromEntries(layouts);
  const links = ({ wires }) =>
    Object.fromEntries(wires.map(({ from, to, links: all }) => [`${from} ${to}`, all.length]));
  assert.deepEqual(links(of[""]), { "l1 genc": 1, "genc gdec": 2, "gdec n14": 1, "gdec n15": 1 });
  assert.equal(Object.values(links(of["*"])).length, 9);
});

test("a window is placed where it shows most boxes", () => {
  const boxes = [
    [0, 50],
    [400, 450],
    [430, 480],
    [470, 520],
  ];
  assert.equal(densestCenter(boxes, 130), 460);
  assert.equal(densestCenter(boxes, 1000), 260);
  assert.equal(densestCenter([[0, 50]], 10), null);
});
