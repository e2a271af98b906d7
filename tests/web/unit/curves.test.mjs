// The paths of curves.ts are those of d3-shape.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { load, web } from "./load.mjs";

const { straight, horizontal, spline } = await load("explorer/curves.ts");
const require = createRequire(join(web, "package.json"));
const shape = await import(pathToFileURL(require.resolve("d3-shape")).href);

// The letters and the numbers of a path.
const parsed = (path) => [path.match(/[A-Z]/g)?.join(""), path.match(/-?\d+(\.\d+)?(e-?\d+)?/g)?.map(Number)];
function same(path, expected) {
  const [[letters, values], [right, rightValues]] = [parsed(path), parsed(expected ?? "")];
  assert.equal(letters, right);
  assert.equal(values?.length, rightValues?.length);
  values?.forEach((value, i) => assert.ok(Math.abs(value - rightValues[i]) < 1e-2, `${path} and ${expected}`));
}
const points = [
  [3, 4],
  [10, -2],
  [30, 7.5],
  [31, 80],
  [12, 60],
].map(([x, y]) => ({ x, y }));
const line = shape
  .line()
  .x(({ x }) => x)
  .y(({ y }) => y);

test("straight lines and splines have the points of d3-shape's", () => {
  for (let count = 2; count <= points.length; ++count) {
    const some = points.slice(0, count);
    same(straight(some), line(some));
    same(spline(some), line.curve(shape.curveBasis)(some));
    line.curve(shape.curveLinear);
  }
});

test("a line is interrupted where a value is not finite", () => {
  const broken = points.map((point, i) => (i === 2 ? { ...point, y: NaN } : point));
  same(straight(broken), line.defined(({ y }) => Number.isFinite(y))(broken));
  assert.equal(spline([]), "");
});

test("a horizontal link has the points of d3-shape's", () => {
  const link = shape
    .linkHorizontal()
    .x(({ x }) => x)
    .y(({ y }) => y);
  same(horizontal(points[0], points[3]), link({ source: points[0], target: points[3] }));
});
