// Stands in for the engine in the page: the made-up model of make_explorer_data.mjs, which follows edits, and training
// whose loss falls by a formula. And the smallest WebAssembly module with the engine's functions.
import { gzipSync } from "node:zlib";
import { explorerData } from "./make_explorer_data.mjs";

export const recordedText = "[CLS] ein ##und zwanzig [SEP] tausend [SEP]";
export const packed = (contents) => gzipSync(contents).toString("base64");

// The `live` member of a page's data.
export const liveData = (engine = packed("")) => ({
  engine,
  files: { "config.json": packed("{}") },
  tasks: { train: "number_words" },
  text: recordedText,
  target_text: null,
});

const flat = (shape, index) => shape.reduce((place, size, axis) => place * size + index[axis], 0);

// What an edit does to an operation's output, if it is of this operation.
function apply(edit, node, recorded, data) {
  const { kind, module, head, query, key, value } = edit;
  const [, , rows, columns] = node.shape;
  const inHead = (at) => head === undefined || Math.floor(at / (rows * columns)) === head;
  if (kind === "value" && edit.recorded === recorded) data[flat(node.shape, edit.index)] = value;
  if (node.module !== module) return;
  const at = (h) => flat(node.shape, [0, h, query, key]);
  const scores = node.operation === "mul";
  if (kind === "score" && scores) data[at(head)] = value;
  if (kind === "weight" && node.operation === "softmax") data[at(head)] = value;
  if (kind === "mask" && scores)
    for (let h = 0; h < node.shape[1]; ++h) if (head === undefined || h === head) data[at(h)] = -Infinity;
  if (kind === "temperature" && scores) data.forEach((score, place) => inHead(place) && (data[place] = score / value));
  if (kind === "ablate" && node.operation === "matmul" && node.inputs[0]?.operation === "softmax")
    data.forEach((_, place) => inHead(place) && (data[place] = 0));
}

// The data of a text with edits. Backward uses the values before the edits, as the engine's does.
export function explored(text, edits = [], size = { layers: 1, width: 16, inner: 32, side: 64 }) {
  const source = text.split(/\s+/).filter(Boolean);
  const edit = (node, recorded) => {
    const data = Float64Array.from(node.data);
    for (const one of edits) apply(one, node, recorded, data);
    node.data = data;
  };
  const segments = source.map(() => 0);
  const data = explorerData("small", { ...size, source, segments, edit, title: `Transformer: ${text}` });
  data.tape.nodes.forEach((node, recorded) => (node.recorded = recorded));
  return { ...data, runs: null, patching: null, gradcheck: null };
}

export class FakeEngine {
  step = 0;
  part = null;
  requests = [];

  // A request in JSON, and its answer in JSON. Throws where the engine would trap.
  answer(text) {
    const request = JSON.parse(text);
    this.requests.push(request);
    if (request.text?.includes("trap")) throw new Error("unreachable");
    try {
      return JSON.stringify({ ok: this[request.call](request) });
    } catch (error) {
      return JSON.stringify({ error: error.message });
    }
  }

  fixedPositions = null;

  open = () => ({
    class: "Transformer",
    kind: "encoder-decoder",
    parameters: 1,
    trains: "number_words",
    fixed_positions: this.fixedPositions,
  });

  explore({ text, target = [3, 10], edits }) {
    if (text.trim() === "") throw new Error("explore: text: there are no tokens");
    const refused = (edits ?? []).findIndex(({ head }) => head > 7);
    if (refused >= 0) throw new Error(`edits[${refused}].head: there are 8`);
    const words = text.split(/\s+/).filter(Boolean);
    return { data: explored(text, edits), target, unknown: words.filter((word) => word.includes("?")) };
  }

  heads({ text }) {
    const tokens = text.split(/\s+/).filter(Boolean);
    const row = (query) => tokens.map((_, key) => (key === (query + this.step) % tokens.length ? 1 : 0));
    const weights = [0, 1].map(() => tokens.map((_, query) => row(query)));
    const module = "encoder.layers.0.self_attention";
    return { attention: [{ module, heads: 2, queries: tokens, keys: tokens, weights }], loss: 1 };
  }

  loss = () => 4 * Math.exp(-this.step / 60) + 0.02;

  train_new() {
    this.step = 0;
    return { parameters: 1 };
  }

  train({ steps }) {
    const losses = Array.from({ length: steps }, () => (++this.step, this.loss()));
    return { step: this.step, steps, losses, lr: 0.001, grad_norm: 1, ms: 40 };
  }

  train_part({ part }) {
    const order = { forward: null, backward: "forward", update: "backward" };
    if (part !== "forward" && this.part !== order[part]) throw new Error(`train_part: ${part} after ${this.part}`);
    this.part = part;
    const parameters = ["encoder.layers.0.norm1.weight", "encoder.layers.0.norm1.bias", "generator.weight"].map(
      (name, index) => ({ name, norm: 3 + index }),
    );
    if (part === "forward")
      return { step: this.step + 1, batch: [{ source: "drei", target: "three" }], loss: this.loss() };
    if (part === "backward") return { grad_norm: 2, parameters };
    ++this.step;
    return { step: this.step, lr: 0.001, parameters: parameters.map((one) => ({ ...one, change: one.norm / 100 })) };
  }

  test({ count }) {
    const samples = [
      { source: "drei", expected: "three", output: "three" },
      { source: "vier", expected: "four", output: "for" },
    ];
    return { right: count - 7, count, samples };
  }

  restore() {
    this.step = 0;
    return {};
  }
}

// A module whose every answer is the same text. Requests of more bytes than `longest` trap.
export function constantEngine(answer, longest = 1e6) {
  const number = (value) => {
    const bytes = [];
    for (let rest = value; ; rest >>= 7) {
      const last = rest === (rest & 0x3f);
      bytes.push(last ? rest : (rest & 0x7f) | 0x80);
      if (last) return bytes;
    }
  };
  const size = (value) => {
    const bytes = [];
    do bytes.push((value & 0x7f) | (value > 0x7f ? 0x80 : 0));
    while ((value >>= 7) > 0);
    return bytes;
  };
  const section = (id, content) => [id, ...size(content.length), ...content];
  const list = (items) => [...size(items.length), ...items.flat()];
  const name = (text) => list([...Buffer.from(text)].map((byte) => [byte]));
  const i32 = 0x7f;
  const types = [
    [0x60, 0, 0],
    [0x60, 1, i32, 1, i32],
    [0x60, 2, i32, i32, 0],
    [0x60, 0, 1, i32],
  ];
  const data = Buffer.from(answer);
  const room = 16 + data.length;
  const pages = Math.ceil((room + 4e6) / 65536);
  const constant = (value) => [0x41, ...number(value)];
  const trapIfLong = [0x20, 1, ...constant(longest), 0x4b, 0x04, 0x40, 0x00, 0x0b];
  const bodies = [[], constant(room), trapIfLong, constant(16), constant(data.length)];
  const code = bodies.map((body) => [...size(body.length + 2), 0, ...body, 0x0b]);
  const names = ["_initialize", "live_room", "live_call", "live_answer", "live_answer_size"];
  const exported = [[...name("memory"), 2, 0], ...names.map((one, index) => [...name(one), 0, index])];
  const head = [
    ...[0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
    ...section(1, list(types)),
    ...section(3, list([[0], [1], [2], [3], [3]])),
    ...section(5, list([[0, ...size(pages)]])),
    ...section(7, list(exported)),
    ...section(10, list(code)),
  ];
  const segment = [1, 0, ...constant(16), 0x0b, ...size(data.length)];
  return Buffer.concat([Buffer.from([...head, 11, ...size(segment.length + data.length), ...segment]), data]);
}
