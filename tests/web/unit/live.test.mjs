// The engine in the page without a browser: WASI, the worker's engine, the client, the session, and predictions.
import assert from "node:assert/strict";
import { test } from "node:test";
import { constantEngine, explored, FakeEngine, liveData, packed, recordedText } from "../fake_engine.mjs";
import { load } from "./load.mjs";

const {
  Wasi,
  Errno,
  Exit,
  Engine,
  fromHalves,
  Client,
  Refused,
  Ended,
  Session,
  addressOf,
  linkedBy,
  keyOf,
  unshared,
  elementAt,
  elementOf,
  predicted,
} = await load(
  "explorer/live/wasi.ts",
  "explorer/live/engine.ts",
  "explorer/live/client.ts",
  "explorer/live/session.ts",
  "explorer/live/address.ts",
  "explorer/live/element.ts",
  "explorer/live/prediction.ts",
);

// The functions of a shim with two files, its memory, and helpers.
function shim() {
  const memory = new WebAssembly.Memory({ initial: 1 });
  const printed = [];
  const files = new Map([
    ["model/config.json", Buffer.from("{}")],
    ["model/model.safetensors", Buffer.from("abcdefgh")],
  ]);
  const wasi = new Wasi(files, (text) => printed.push(text));
  wasi.attach(memory);
  const view = new DataView(memory.buffer);
  const put = (text, at = 1000) => [at, new Uint8Array(memory.buffer).set(Buffer.from(text), at) ?? text.length];
  const get = (at, length) => Buffer.from(memory.buffer, at, length).toString();
  const { functions } = wasi;
  const open = (path, flags = 0) => {
    const code = functions.path_open(3, 0, ...put(path), flags, 0n, 0n, 0, 0);
    return { code, fd: view.getUint32(0, true) };
  };
  const vector = (at, length, where = 64) => {
    view.setUint32(where, at, true);
    view.setUint32(where + 4, length, true);
    return [where, 1];
  };
  return { functions, view, put, get, open, vector, printed };
}

test("WASI opens, reads and seeks files, relative to /", () => {
  const { functions, view, get, open, vector } = shim();
  assert.equal(functions.fd_prestat_get(3, 0), Errno.success);
  assert.equal(functions.fd_prestat_get(4, 0), Errno.badf);
  const { code, fd } = open("model/model.safetensors");
  assert.equal(code, Errno.success);
  assert.equal(functions.fd_read(fd, ...vector(200, 3), 8), Errno.success);
  assert.equal(view.getUint32(8, true), 3);
  assert.equal(get(200, 3), "abc");
  assert.equal(functions.fd_pread(fd, ...vector(200, 9), 6n, 8), Errno.success);
  assert.equal(view.getUint32(8, true), 2);
  assert.equal(functions.fd_seek(fd, -1n, 2, 8), Errno.success);
  assert.equal(view.getBigUint64(8, true), 7n);
  assert.equal(functions.fd_tell(fd, 8), Errno.success);
  assert.equal(functions.fd_seek(fd, -9n, 2, 8), Errno.inval);
  assert.equal(functions.fd_seek(fd, 0n, 5, 8), Errno.inval);
  assert.equal(functions.fd_seek(1, 0n, 0, 8), Errno.spipe);
  assert.equal(functions.fd_filestat_get(fd, 128), Errno.success);
  assert.equal(view.getBigUint64(128 + 32, true), 8n);
  assert.equal(functions.fd_close(fd), Errno.success);
  assert.equal(functions.fd_close(fd), Errno.badf);
  assert.equal(functions.fd_read(fd, ...vector(200, 3), 8), Errno.badf);
});

test("WASI names why a path cannot be opened, and refuses to write", () => {
  const { functions, view, put, get, open, vector, printed } = shim();
  assert.equal(open("model/none.json").code, Errno.noent);
  assert.equal(open("model/config.json", 0b1).code, Errno.rofs);
  assert.equal(open("model/config.json", 0b10).code, Errno.notdir);
  const { code, fd } = open("./model/");
  assert.equal(code, Errno.success);
  assert.equal(functions.fd_read(fd, ...vector(200, 3), 8), Errno.isdir);
  assert.equal(functions.path_filestat_get(3, 0, ...put("model"), 128), Errno.success);
  assert.equal(view.getUint8(128 + 16), 3);
  assert.equal(functions.fd_readdir(fd, 300, 400, 0n, 8), Errno.success);
  assert.equal(view.getUint32(8, true), 2 * 24 + "config.json".length + "model.safetensors".length);
  assert.equal(get(300 + 24, 11), "config.json");
  assert.equal(functions.fd_readdir(fd, 300, 400, 2n, 8), Errno.success);
  assert.equal(view.getUint32(8, true), 0);
  put("stop", 500);
  assert.equal(functions.fd_write(2, ...vector(500, 4), 8), Errno.success);
  assert.deepEqual(printed, ["stop"]);
  assert.equal(functions.fd_write(fd, ...vector(500, 4), 8), Errno.rofs);
  assert.equal(functions.fd_write(99, ...vector(500, 4), 8), Errno.badf);
  assert.throws(() => functions.proc_exit(3), new Exit("it ended itself with code 3"));
});

test("the engine is unpacked, started and asked; a trap is thrown", async () => {
  const answer = JSON.stringify({ ok: { class: "Ä" } });
  const engine = await Engine.start({ engine: packed(constantEngine(answer, 40)), files: {} }, () => undefined);
  assert.equal(new TextDecoder().decode(engine.call("{}")), answer);
  assert.throws(() => engine.call(" ".repeat(41)), WebAssembly.RuntimeError);
  const empty = packed(Buffer.from([0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0]));
  await assert.rejects(
    Engine.start({ engine: empty, files: {} }, () => undefined),
    /has no function _initialize/,
  );
});

// A worker that answers with a fake engine, and a client of it.
globalThis.Worker ??= Object; // only whether there is one
function fake() {
  const engine = new FakeEngine();
  const ports = [];
  const make = () => {
    const port = {
      onmessage: null,
      onerror: null,
      ended: false,
      terminate: () => (port.ended = true),
      postMessage({ id, request }) {
        const send = (message) => setImmediate(() => !port.ended && port.onmessage({ data: { id, ...message } }));
        if (!request) return send({ answer: Buffer.from("{}") });
        try {
          send({ answer: Buffer.from(engine.answer(request)) });
        } catch (error) {
          send({ ended: error.message });
        }
      },
    };
    ports.push(port);
    return port;
  };
  return { engine, ports, client: new Client(liveData(), make) };
}

test("the client answers, refuses with the engine's message, and restarts after a crash", async () => {
  const { client, ports } = fake();
  assert.equal((await client.start()).trains, "number_words");
  await assert.rejects(client.call("explore", { text: " " }), (error) => {
    assert.ok(error instanceof Refused);
    assert.equal(error.message, "explore: text: there are no tokens");
    return true;
  });
  const both = [client.call("explore", { text: "trap" }), client.call("restore", {})];
  for (const one of await Promise.allSettled(both)) assert.ok(one.reason instanceof Ended, one.reason);
  assert.equal((await Promise.allSettled(both))[0].reason.message, "unreachable");
  assert.ok(ports[0].ended);
  await assert.rejects(client.call("restore", {}), Ended);
  await client.start();
  assert.deepEqual(await client.call("restore", {}), {});
});

const everyEdit = [
  { kind: "parameter", name: "output.bias", index: [7], value: -0.25 },
  { kind: "parameter", name: "odd: name; 100%", index: [0, 1], value: 1e-7 },
  { kind: "value", recorded: 20, index: [0, 2, 5], value: 0 },
  { kind: "score", module: "a.b", head: 0, query: 1, key: 2, value: 17.5 },
  { kind: "weight", module: "a.b", head: 3, query: 0, key: 0, value: 0.5 },
  { kind: "mask", module: "a.b", query: 1, key: 2 },
  { kind: "mask", module: "a.b", head: 1, query: 1, key: 2 },
  { kind: "temperature", module: "a.b", value: 0.3 },
  { kind: "temperature", module: "a.b", head: 2, value: 2 },
  { kind: "position", text: 1, token: 0, position: 6 },
  { kind: "ablate", module: "a.b", head: 1 },
];

test("an address names a text and edits of every kind, and is read back", () => {
  const recorded = { text: "drei", targetText: "", edits: [] };
  assert.deepEqual(addressOf(recorded, recorded), []);
  const words = addressOf({ text: "vier & fünf; #6", targetText: "four", edits: everyEdit }, recorded);
  const linked = linkedBy(`#view=head&${new URLSearchParams(words)}`);
  assert.deepEqual(linked, { text: "vier & fünf; #6", targetText: "four", edits: everyEdit });
  assert.deepEqual(addressOf({ ...recorded, edits: everyEdit.slice(-1) }, recorded), [
    ["text", "drei"],
    ["edits", "ablate:a.b:1"],
  ]);
  assert.equal(linkedBy("#view=head"), null);
  for (const wrong of [
    "fly:1",
    "ablate:a.b",
    "ablate:a.b:1:2",
    "ablate:a.b:-1",
    "ablate:a.b:all",
    "ablate:%:1",
    "temperature:a.b:0:x",
    "temperature:a.b:0:",
    "value:1:2,x:0",
    "toString:1",
  ]) {
    const edits = `${encodeURIComponent(wrong)};ablate:a:0`;
    assert.deepEqual(linkedBy(`#text=x&edits=${edits}`).edits, [{ kind: "ablate", module: "a", head: 0 }], wrong);
  }
});

function session(value = {}) {
  const { engine, client } = fake();
  const shown = [];
  const recorded = { model: {}, tape: { nodes: [{ outputs: [{ value }] }] } };
  const made = new Session(recorded, liveData(), client, (data) => shown.push(data));
  const idle = async () => {
    do await new Promise((done) => setImmediate(done));
    while (made.busy || made.engine === "starting");
  };
  return { engine, made, shown, recorded, idle };
}

const weight = { kind: "weight", module: "encoder.layers.0.self_attention", head: 2, query: 1, key: 3, value: 0.5 };

test("the session computes a text, then edits of it with the same target, and compares with the forward without", async () => {
  const { engine, made, shown, recorded, idle } = session();
  await made.start();
  assert.equal(made.isRecorded, true);
  made.setText("eins zwei drei", "");
  await idle();
  assert.equal(shown.at(-1).texts[0].tokens.join(" "), "eins zwei drei");
  const before = shown.at(-1);
  made.addEdit(weight);
  await idle();
  assert.deepEqual(engine.requests.at(-1), {
    call: "explore",
    text: "eins zwei drei",
    target: [3, 10],
    edits: [weight],
  });
  assert.equal(made.base.data, before);
  assert.notEqual(shown.at(-1).outputs[0].value, before.outputs[0].value);
  // Another value replaces it; a change of the text removes it.
  made.addEdit({ ...weight, value: 0.1 });
  await idle();
  assert.deepEqual(made.edits, [{ ...weight, value: 0.1 }]);
  const ablate = { kind: "ablate", module: weight.module, head: 1 };
  made.addEdit(ablate);
  made.setText("eins zwei", "");
  await idle();
  assert.deepEqual(made.edits, [ablate]);
  made.back();
  assert.equal(shown.at(-1), recorded);
  assert.deepEqual([made.text, made.edits, made.isRecorded], [recordedText, [], true]);
});

test("recorded data of which the page stores only a part are computed when the engine is ready", async () => {
  const { made, shown, idle } = session({ cut: [2] });
  await made.start();
  await idle();
  assert.equal(shown.at(-1).texts[0].tokens.join(" "), recordedText);
  assert.equal(made.isRecorded, true);
});

test("the newest wish replaces those that wait", async () => {
  const { engine, made, shown, idle } = session();
  await made.start();
  for (const text of ["a", "a b", "a b c", "a b c d"]) made.setText(text, "");
  await idle();
  assert.deepEqual(
    engine.requests.slice(1).map(({ text }) => text),
    ["a", "a b c d"],
  );
  assert.equal(shown.at(-1).texts[0].tokens.length, 4);
});

test("a refused edit is undone, a refused text keeps what is shown, a crash ends the engine until it is restarted", async () => {
  const { engine, made, shown, idle } = session();
  await made.start();
  made.setText("eins zwei", "");
  await idle();
  engine.explore = () => {
    throw new Error("explore: edits[0]: query 1 would have no key left");
  };
  made.addEdit(weight);
  await idle();
  assert.match(made.error, /no key left/);
  assert.deepEqual(made.edits, []);
  delete engine.explore;
  engine.explore = FakeEngine.prototype.explore;
  made.setText(" ", "");
  await idle();
  assert.match(made.error, /no tokens/);
  assert.equal(made.text, "eins zwei");
  assert.equal(shown.length, 1);
  made.setText("trap", "");
  await idle();
  assert.deepEqual(made.engine, { failed: "unreachable" });
  await made.restart();
  await idle();
  assert.equal(made.engine, "ready");
  made.setText("eins", "");
  await idle();
  assert.equal(shown.at(-1).texts[0].tokens.length, 1);
});

test("an engine that refuses the model's files does not run", async () => {
  const { engine, made } = session();
  engine.open = () => {
    throw new Error("/model/config.json: not a model");
  };
  await made.start();
  assert.deepEqual(made.engine, { failed: "/model/config.json: not a model" });
});

test("edits of one element have one key", () => {
  assert.equal(keyOf(weight), keyOf({ ...weight, value: 1 }));
  assert.notEqual(keyOf(weight), keyOf({ ...weight, key: 2 }));
  const move = { kind: "position", text: 0, token: 1, position: 4 };
  assert.equal(keyOf(move), keyOf({ ...move, position: 2 }));
});

test("shared data are put back in place", () => {
  const data = { shared: ["AAAA", "BBBB"], attention: [{ values: { query: { shape: [1], data: 1 } } }] };
  assert.equal(unshared(data).attention[0].values.query.data, "BBBB");
});

test("an element of a view becomes the edit of a weight, a score, a parameter or an operation's value", () => {
  // Wide enough that the tape stores less than the norms.
  const data = explored("eins zwei drei", [], { layers: 1, width: 32, inner: 32 });
  const block = data.attention[0];
  const place = { module: block.module, head: 2, query: 1, key: 0 };
  assert.deepEqual(elementOf(data, block.values.probabilities, [2, 1, 0]).edit(0.5), {
    kind: "weight",
    ...place,
    value: 0.5,
  });
  assert.deepEqual(elementOf(data, block.values.scores, [2, 1, 0]).edit(2), { kind: "score", ...place, value: 2 });
  const softmax = data.tape.nodes.find(({ operation }) => operation === "softmax");
  assert.equal(elementOf(data, softmax.outputs[0].value, [0, 2, 1, 0]).edit(1).kind, "weight");
  const norm = data.layer_norms[0];
  const weights = elementOf(data, norm.weight, [3]).edit(1);
  assert.deepEqual(weights, { kind: "parameter", name: `${norm.module}.weight`, index: [3], value: 1 });
  const input = elementOf(data, norm.input, [2, 30]).edit(1);
  assert.deepEqual([data.tape.nodes[input.recorded].operation, input.index], ["add", [0, 2, 30]]);
  const query = elementOf(data, block.values.query, [2, 1, 4]).edit(1);
  assert.equal(data.tape.nodes[query.recorded].operation, "transpose");
  assert.deepEqual(query.index, [0, 2, 1, 4]);
  assert.equal(elementOf(data, block.gradients[0].query, [2, 1, 4]), null);
  // The elements that a cut tensor stores, by their index in the full one.
  const cut = { shape: [9], cut: [2], columns: [4, 7], data: data.layer_norms[0].weight.data.slice(0, 12) };
  assert.equal(elementAt(cut, [3]), null);
  assert.ok(Number.isFinite(elementAt(cut, [7])));
});

test("predictions meet the actual change of a small edit", () => {
  const text = "eins zwei drei";
  const data = explored(text);
  const [block] = data.attention;
  const { module } = block;
  const p = elementAt(block.values.probabilities, [2, 1, 0]);
  const s = elementAt(block.values.scores, [2, 1, 0]);
  const q = elementOf(data, block.values.query, [2, 1, 3]);
  const place = { module, head: 2, query: 1, key: 0 };
  for (const [edit, tolerance] of [
    [{ kind: "weight", ...place, value: p + 0.001 }, 0.02],
    [{ kind: "score", ...place, value: s + 0.001 }, 0.02],
    [q.edit(q.value + 0.001), 0.02],
    [{ kind: "temperature", module, head: 2, value: 1.001 }, 0.05],
  ]) {
    const actual = explored(text, [edit]).outputs[0].value - data.outputs[0].value;
    const { effect } = predicted(edit, data, 0);
    assert.ok(actual !== 0, edit.kind);
    assert.ok(Math.abs(effect - actual) <= tolerance * Math.abs(actual), `${edit.kind}: ${effect} for ${actual}`);
  }
  // Large edits: in the direction of the change of their weights.
  const row = (query) => [0, 1, 2].map((key) => elementAt(block.values.probabilities, [2, query, key]));
  const masked = row(1).map((weight, key) => [1, key, key === 0 ? 0 : weight / (1 - row(1)[0])]);
  const ablated = [0, 1, 2].flatMap((query) => [0, 1, 2].map((key) => [query, key, 0]));
  for (const [edit, weights] of [
    [{ kind: "mask", ...place }, masked],
    [{ kind: "ablate", module, head: 2 }, ablated],
  ]) {
    const step = 1e-4;
    const edits = weights.map(([query, key, to]) => {
      const from = row(query)[key];
      return { kind: "weight", module, head: 2, query, key, value: from + step * (to - from) };
    });
    const slope = (explored(text, edits).outputs[0].value - data.outputs[0].value) / step;
    const { effect } = predicted(edit, data, 0);
    assert.ok(Math.abs(effect - slope) <= 0.03 * Math.abs(slope), `${edit.kind}: ${effect} for ${slope}`);
  }
  assert.equal(predicted({ kind: "position", text: 0, token: 1, position: 0 }, data, 0), null);
});

test("bytes in halves are put back in order", () => {
  for (const text of ["", "a", "abcdefg", "abcdefgh"]) {
    const bytes = Buffer.from(text);
    const halves = Buffer.concat([bytes.filter((_, i) => i % 2 === 0), bytes.filter((_, i) => i % 2 === 1)]);
    assert.deepEqual(Buffer.from(fromHalves(halves)), bytes);
  }
});
