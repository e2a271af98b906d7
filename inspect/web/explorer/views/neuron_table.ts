// Values of one query and all keys: forward to the probabilities, and backward from their gradients.
import type { Attention, AttentionTensors } from "../data";
import { brief } from "../../shared/numbers";
import { tableRow } from "./relative";
import { tensor, type Numbers } from "../tensor";

export interface Strip {
  name: string; // column heading
  text: string; // name of a cell
  values: Numbers[]; // per key
  top: Numbers | null; // the query's vector
  topText: string;
}

export interface NumberColumn {
  name: string;
  title: string;
  values: number[];
  bar?: boolean;
}

export interface Table {
  strips: [Strip, Strip];
  figures: NumberColumn[];
  sum: { name: string; values: number[]; recorded: Numbers } | null; // sum of the second strip's rows
}

function vectors(parts: AttentionTensors, part: "query" | "key", head: number, count: number): Numbers[] | null {
  const all = tensor(parts[part]);
  return all && Array.from({ length: count }, (_, index) => all.row(index, head));
}

// One query forward.
export function forward(block: Attention, head: number, row: number, keys: number): Table | null {
  const { query, scores, mask, probabilities } = block.values;
  const q = tensor(query)?.row(row, head);
  const k = vectors(block.values, "key", head, keys);
  const [s, p] = [tensor(scores)?.row(row, head), tensor(probabilities)?.row(row, head)];
  if (!q || !k || !s || !p) return null;
  const products = k.map((vector) => Array.from(q, (value, d) => value * vector[d]!));
  const hidden = tensor(mask)?.row(row, head);
  const dots = products.map((product) => product.reduce((a, b) => a + b, 0));
  const figures: NumberColumn[] = [
    { name: "q·k", title: "dot product: the sum of the products", values: dots },
    { name: `× ${brief(block.scale)}`, title: "scaled score, as recorded", values: Array.from(s) },
    ...(hidden
      ? [
          {
            name: block.relative ? "+ a, mask" : "+ mask",
            title: "mask, as added to the score",
            values: Array.from(hidden),
          },
        ]
      : []),
    { name: "softmax", title: "probability, as recorded", values: Array.from(p), bar: true },
  ];
  return {
    strips: [
      { name: "query q, keys k", text: "k", values: k, top: q, topText: "q" },
      { name: "q ⊙ k, elementwise", text: "q·k", values: products, top: null, topText: "" },
    ],
    figures,
    sum: null,
  };
}

// One query backward: the contribution of each score's gradient to dq, and their sum.
export function backward(block: Attention, output: number, head: number, row: number, keys: number): Table | null {
  const gradients = block.gradients[output];
  const k = vectors(block.values, "key", head, keys);
  if (!gradients || !k) return null;
  const table = tensor(block.relative?.keys);
  // The vectors that the query was multiplied with: the keys, plus their relative position rows if any.
  const met = k.map((vector, key) => {
    const added = table?.row(tableRow(block.relative!.keys, row, key));
    return added ? Array.from(vector, (value, d) => value + added[d]!) : vector;
  });
  const dq = tensor(gradients.query)?.row(row, head);
  const dk = vectors(gradients, "key", head, keys);
  const [ds, dp] = [tensor(gradients.scores)?.row(row, head), tensor(gradients.probabilities)?.row(row, head)];
  if (!dq || !dk || !ds || !dp) return null;
  const sent = met.map((vector, key) => Array.from(vector, (value) => ds[key]! * block.scale * value));
  const sum = Array.from(dq, (_, d) => sent.reduce((total, part) => total + part[d]!, 0));
  return {
    strips: [
      { name: "dk, from all queries", text: "dk", values: dk, top: null, topText: "" },
      {
        name: `contribution to dq: ds × ${brief(block.scale)} × ${table ? "(k + a)" : "k"}`,
        text: `ds·scale·${table ? "(k + a)" : "k"}`,
        values: sent,
        top: dq,
        topText: "dq",
      },
    ],
    figures: [
      { name: "dp", title: "gradient of the probability", values: Array.from(dp) },
      { name: "ds", title: "gradient of the score", values: Array.from(ds) },
    ],
    sum: { name: "sum = dq", values: sum, recorded: dq },
  };
}
