// The head that the head view opens with.
import type { Attention, Text } from "./data";
import { tensor, type Numbers, type Plane } from "./tensor";

const largest = (row: Numbers) => Array.from(row).reduce((best, weight, key) => (weight > row[best]! ? key : best), 0);

// Entropy of a row of weights, relative to that of equal weights on the same keys: 0 if all weight is on one key, 1 if it
// is spread evenly. NaN for a query that sees a single key, as the first one under a causal mask.
export function relativeEntropy(row: Numbers): number {
  const seen = Array.from(row).filter((weight) => weight > 0);
  if (seen.length < 2) return NaN;
  return -seen.reduce((sum, weight) => sum + weight * Math.log(weight), 0) / Math.log(seen.length);
}

interface Clear {
  head: number;
  row: number; // the query with the lowest entropy, except the first
  mean: number; // entropy over all queries
  toSink: boolean; // whether most queries attend to a sink
}

// sink: whether a key is one that models attend to by default.
function clarity(plane: Plane, head: number, sink: (key: number) => boolean): Clear {
  const known = Array.from({ length: plane.rows }, (_, row) => {
    const weights = Array.from({ length: plane.columns }, (_, key) => plane.at(row, key));
    return { row, entropy: relativeEntropy(weights), toSink: sink(largest(weights)) };
  }).filter(({ entropy }) => Number.isFinite(entropy));
  const later = known.filter(({ row }) => row > 0).sort((a, b) => a.entropy - b.entropy);
  const best = later.find(({ toSink }) => !toSink) ?? later[0];
  const mean = known.reduce((sum, { entropy }) => sum + entropy, 0) / known.length;
  return { head, row: best?.row ?? 0, mean, toSink: 2 * known.filter(({ toSink }) => toSink).length > known.length };
}

const special = /^(<[^<>]*>|\[[A-Z]+\])$/; // </s>, [SEP]

// The clearest head of the last cross-attention, or of all layers if there is none: the one with the lowest mean entropy.
// Heads that mostly attend to a special token, or within a text to the first one, come last: it is often their default.
export function clearestHead(
  attention: Attention[],
  texts: Text[],
): { block: Attention; head: number; row: number } | null {
  const cross = attention.findLast(({ kind }) => kind === "cross");
  const all = (cross ? [cross] : attention).flatMap((block) => {
    const weights = tensor(block.values.probabilities);
    if (!weights) return [];
    const tokens = texts[block.columns]?.tokens ?? [];
    const sink = (key: number) => (key === 0 && block !== cross) || special.test(tokens[key] ?? "");
    return Array.from({ length: block.heads }, (_, head) => ({ block, ...clarity(weights.plane(head), head, sink) }));
  });
  const rank = ({ mean, toSink }: Clear) => (Number.isNaN(mean) ? 4 : mean + (toSink ? 2 : 0));
  return all.reduce<(typeof all)[0] | null>((best, one) => (best && rank(best) <= rank(one) ? best : one), null);
}
