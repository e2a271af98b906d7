// The sentence about what the head view shows.
import { shortened } from "../widgets/switches";
import { brief } from "../../shared/numbers";
import type { Plane } from "../tensor";

// "99%"; a weight that is not exactly 1 is never shown as 100%.
export function percentage(weight: number): string {
  if (weight < 1 && weight >= 0.995) return "more than 99%";
  return weight > 0 && weight < 0.005 ? "less than 1%" : `${Math.round(100 * weight)}%`;
}

// The largest weight of a query, or of all if none is selected; of gradients, the largest where the weight is not 0.
export function finding(
  planes: Map<number, Plane>,
  weights: (head: number) => Plane,
  query: number | null,
  [queries, keys]: [string[], string[]],
  output: string | null, // name of the output whose gradients are shown
): string {
  let best = { size: 0, value: 0, head: 0, row: 0, key: 0 };
  for (const [head, plane] of planes)
    for (let row = query ?? 0; row < (query === null ? plane.rows : query + 1); ++row)
      for (let key = 0; key < plane.columns; ++key) {
        const value = plane.at(row, key);
        const size = weights(head).at(row, key) > 0 ? Math.abs(value) : 0;
        if (size > best.size) best = { size, value, head, row, key };
      }
  if (best.size === 0) return "";
  const [from, to] = [queries[best.row]!, keys[best.key]!].map((token) => `“${shortened(token, 20)}”`);
  const head = planes.size > 1 ? ` in head ${best.head}` : "";
  if (output === null)
    return query === null
      ? `The largest weight${head}: the query ${from} puts ${percentage(best.value)} of its weight on ${to}.`
      : `The query ${from} puts ${percentage(best.value)} of its weight on ${to}${head}.`;
  const change = best.value < 0 ? "lower" : "raise";
  return `The largest gradient${head}, ${brief(best.value)}: a little more weight of ${from} on ${to} would ${change} the ${output}.`;
}
