// Paths of lines and curves. The package d3-shape would add all of its shapes to the page, which uses three.
export interface Point {
  x: number;
  y: number;
}

// Straight segments through the points, interrupted where one is not finite.
export function straight(points: Point[]): string {
  let path = "";
  points.forEach(({ x, y }, index) => {
    const before = points[index - 1];
    const finite = (point: Point | undefined) => point && Number.isFinite(point.x + point.y);
    if (finite({ x, y })) path += `${finite(before) ? "L" : "M"}${x},${y}`;
  });
  return path;
}

// A curve that leaves and arrives horizontally.
export function horizontal(from: Point, to: Point): string {
  const middle = (from.x + to.x) / 2;
  return `M${from.x},${from.y}C${middle},${from.y},${middle},${to.y},${to.x},${to.y}`;
}

// A cubic B-spline that starts at the first point and ends at the last.
export function spline(points: Point[]): string {
  const at = (index: number) => points[Math.min(index, points.length - 1)]!;
  const mix = (index: number, ...shares: number[]) => {
    const sum = (axis: "x" | "y") => shares.reduce((total, share, i) => total + share * at(index + i)[axis], 0);
    return `${sum("x")},${sum("y")}`;
  };
  if (points.length < 3) return straight(points);
  let path = `M${mix(0, 1)}L${mix(0, 5 / 6, 1 / 6)}`;
  for (let i = 0; i + 1 < points.length; ++i)
    path += `C${mix(i, 2 / 3, 1 / 3)},${mix(i, 1 / 3, 2 / 3)},${mix(i, 1 / 6, 4 / 6, 1 / 6)}`;
  return `${path}L${mix(points.length - 1, 1)}`;
}
