// A small tape for the unit tests. Output 0 is #14, output 1 is #15:
//
//   leaf 0 enc.w ─> #10 mul (enc) ─> #11 exp (enc.layers.0.act) ─> #13 add (dec) ─> #14 sum
//   leaf 1 x     ──────┘     └─────> #12 neg (dec) ──────────────────┘
//                                      └──> #15 pick            leaf 2, a constant, is an input of #12
export function packed(...values) {
  const bytes = Buffer.alloc(4 * values.length);
  values.forEach((value, i) => bytes.writeFloatLE(value, 4 * i));
  return { shape: [values.length], data: bytes.toString("base64") };
}

const node = (id, operation, module, inputs, gradients, contributions) => ({
  id,
  operation,
  module,
  inputs,
  outputs: [{ shape: [2], gradients }],
  contributions,
});
const from = (id) => ({ node: id, output: 0 });
const none = [null, null];

const mul = [[packed(8, 8), packed(2, 2)], none];
const neg = [[packed(3, 4), packed(-1, -1)], none];
const add = [
  [packed(1, 1), null],
  [packed(1, 1), null],
];
export const tape = {
  nodes: [
    node(10, "mul", "enc", [{ leaf: 0 }, { leaf: 1 }], [packed(4, 6), packed(-1, -1)], mul),
    node(11, "exp", "enc.layers.0.act", [from(10)], [packed(1, 1), null], [[packed(1, 2), null]]),
    node(12, "neg", "dec", [from(10), { leaf: 2 }], [packed(1, 1), packed(1, 1)], neg),
    node(13, "add", "dec", [from(11), from(12)], [packed(1, 1), null], add),
    node(14, "sum", "", [from(13), null], [packed(1), null], [[packed(1, 1), null], none]),
    node(15, "pick", "", [from(12)], [null, packed(1)], [[null, packed(1, 1)]]),
  ],
  leaves: [
    { name: "enc.w", kind: "parameter" },
    { name: "x", kind: "input" },
    { name: "scale", kind: "constant" },
  ],
  roots: [14, 15],
};
