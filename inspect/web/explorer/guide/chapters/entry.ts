// The parameter that the chapters follow: one number of the matrix that made the queries, or else of any other matrix or
// vector whose gradient the page stores.
import type { PackedTensor, TapeNode } from "../../data";
import { tensor } from "../../tensor";
import { visible } from "../../../shared/dom";
import { cellOf } from "./anatomy";
import { agrees, sumOf } from "./step";
import type { Story } from "./story";

export interface Entry {
  leaf: number;
  name: string; // of the parameter
  of: string; // what it makes
  place: [number, number];
  packed: PackedTensor; // its gradient
  value: number;
  gradient: number;
  pairs: [number, number][]; // the products whose sum is the gradient
}

const known = new WeakMap<Story, Entry | null>();

export function followedEntry(story: Story): Entry | null {
  let found = known.get(story);
  if (found === undefined) known.set(story, (found = find(story)));
  return found;
}

function find(story: Story): Entry | null {
  const { app, anatomy, followed } = story;
  const queries = followed && anatomy.product(followed.block, "query");
  const made = queries && entryOf(story, queries.node, "queries", followed.head);
  if (made) return made;
  // The last matrix product with a parameter.
  for (const node of [...app.data.tape.nodes].reverse()) {
    const matrix = node.inputs[1];
    if (node.operation !== "matmul" || !matrix || !("leaf" in matrix)) continue;
    const entry = entryOf(story, node, "output of this layer", null);
    if (entry) return entry;
  }
  return null;
}

// The entry with the largest gradient among those stored, if possible in the rows of a head.
function entryOf({ app, anatomy, followed }: Story, node: TapeNode, of: string, head: number | null): Entry | null {
  const matrix = node.inputs[1];
  if (!matrix || !("leaf" in matrix)) return null;
  const leaf = app.data.tape.leaves[matrix.leaf]!;
  const packed = leaf.gradients[0];
  const [x, g] = [tensor(anatomy.input(node, 0)?.outputs[0]?.value), tensor(node.outputs[0]?.gradients[0])];
  if (leaf.kind !== "parameter" || !packed || !leaf.value || !x || !g || leaf.shape.length !== 2) return null;
  if (x.truncated || g.truncated || x.shape.length > 3) return null;
  const { rows, columns } = tensor(packed).plane();
  const transposed = node.attributes.transpose_b === true || leaf.shape[0] === g.shape.at(-1);
  const depth = tensor(followed?.block.values.query)?.storedShape.at(-1) ?? 0;
  const own = (row: number, column: number) => {
    const output = transposed ? row : column;
    return head === null || Math.floor(output / depth) === head;
  };
  let best: [number, number] = [0, 0];
  let size = -1;
  for (let row = 0; row < rows; ++row)
    for (let column = 0; column < columns; ++column) {
      const here = Math.abs(cellOf(packed, row, column)) * (own(row, column) ? 1 : 1e-6);
      if (here > size) [best, size] = [[row, column], here];
    }
  const [output, input] = transposed ? best : [best[1], best[0]];
  const tokens = x.shape.at(-2) ?? 1;
  const pairs = Array.from({ length: tokens }, (_, t): [number, number] => [g.row(t)[output]!, x.row(t)[input]!]);
  const gradient = cellOf(packed, ...best);
  const value = cellOf(leaf.value, ...best);
  if (gradient === 0 || !Number.isFinite(value) || !agrees(sumOf(pairs), gradient)) return null;
  return { leaf: matrix.leaf, name: visible(leaf.name), of, place: best, packed, value, gradient, pairs };
}
