import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./load.mjs";

const { chartOptions, differing, metricFormat, metricKeys, metricName, nearest, trainingOnly, View } = await load(
  "run_report/chart_options.ts",
  "run_report/samples.ts",
  "run_report/view.ts",
);

const some = { logged: 0, shown: [] };
const smooth = (...losses) => ({ half_life: 2, loss: losses, grad_norm: losses.map(() => null), speed: losses });
const steps = {
  step: [10, 20, 40],
  epoch: [0.5, null, 2],
  seconds: [1, 3, 7],
  loss: [5, null, 3],
  lr: [1e-3, 2e-3, 1e-3],
  grad_norm: [null, null, null],
  speed: [100, 110, 120],
  smooth: [smooth(5, 4.5, 4), smooth(4.9, 4.4, 3.9), smooth(4.8, 4.3, 3.8)],
  logged: 3,
};
const evaluation = (step, loss, metrics, weights = "") => ({ step, seconds: step, loss, metrics, weights });
const run = (folder, more = {}) => ({ folder, start: {}, steps, evals: [], end: null, ...more });
const report = (more = {}) => ({
  ...run("mine", more),
  samples: some,
  confusions: some,
  marks: some,
  others: [],
  ...more,
});
const chart = (of, id) => chartOptions(of).find((one) => one.id === id);
const drawn = ({ points }) => points.map(({ step, y }) => [step, y]);

test("metrics have their usual names", () => {
  assert.deepEqual(["bleu", "macro_f1", "recall_at_1"].map(metricName), ["BLEU", "Macro-F1", "Recall at 1"]);
});

test("a share is a percentage unless a value is outside of 0 to 1", () => {
  assert.equal(metricFormat("accuracy", [0, null, 1])(0.125), "12.5%");
  assert.equal(metricFormat("accuracy", [0.5, 1.01])(0.125), "0.1250");
  assert.equal(metricFormat("accuracy", [0.5, -0.01])(0.125), "0.1250");
  assert.equal(metricFormat("distance", [0.5])(0.125), "0.1250");
  assert.equal(metricFormat("bleu", [0.5])(4.1267), "4.13");
});

test("metric keys are listed once, in order of appearance", () => {
  const evals = [evaluation(1, 1, { b: 1 }), evaluation(2, 1, { a: 1, b: 2 })];
  assert.deepEqual(metricKeys({ evals }), ["b", "a"]);
});

test("regularization of the training loss is listed", () => {
  assert.deepEqual(trainingOnly({ options: { label_smoothing: 0.1, dropout: 0.2 } }), [
    "label smoothing 0.1",
    "dropout 0.2",
  ]);
  for (const start of [{}, { options: { label_smoothing: 0, dropout: "0.1" } }])
    assert.deepEqual(trainingOnly(start), []);
});

test("the loss chart has the raw, the smoothed, the validation and the smallest possible loss", () => {
  const evals = [evaluation(20, 3.5, {}), evaluation(40, 3.2, {}, "average"), evaluation(40, 3.3, {})];
  const start = { loss_floor: 1.25, options: { dropout: 0.1 } };
  const { curves, followsLogLoss } = chart(report({ evals, start }), "loss");
  assert.deepEqual(
    curves.map(({ label, look }) => [label, look]),
    [
      ["training (dropout 0.1)", "raw"],
      ["smoothed", "train"],
      ["validation", "validation"],
      ["smallest possible training loss", "floor"],
    ],
  );
  assert.deepEqual(curves.map(drawn), [
    [
      [10, 5],
      [20, null],
      [40, 3],
    ],
    [
      [10, 4.9],
      [20, 4.4],
      [40, 3.9],
    ],
    [
      [20, 3.5],
      [40, 3.3],
    ],
    [
      [10, 1.25],
      [40, 1.25],
    ],
  ]);
  assert.deepEqual(
    curves[1].smoothed.map((points) => points[2].y),
    [4, 3.9, 3.8],
  );
  assert.equal(followsLogLoss, true);
});

test("charts and curves without values are omitted", () => {
  assert.deepEqual(
    chartOptions(report()).map(({ id }) => id),
    ["loss", "lr", "speed"],
  );
  const empty = { ...steps, step: [], loss: [], lr: [], speed: [], smooth: [] };
  assert.deepEqual(chartOptions(report({ steps: empty, start: { loss_floor: 1 } })), []);
});

test("every metric has a chart, with ticks that fit its format", () => {
  const of = report({ evals: [evaluation(20, 1, { accuracy: 0.5, "a b/c": 1234 })] });
  const { title, tick, format } = chart(of, "metric-accuracy");
  assert.deepEqual([title, tick(0.123), format(0.5)], ["Accuracy (validation)", "12.3%", "50.0%"]);
  assert.equal(chart(of, "metric-a-b-c").tick(12500), "12.5k");
});

test("small learning rates are written in powers of ten on the axis", () => {
  const { tick, format } = chart(report(), "lr");
  assert.deepEqual([tick(0), tick(0.005), tick(5e-4), format(5e-4)], ["0", "0.005", "5e-4", "5.000e-4"]);
});

test("the axes of rates and norms start at 0, those of the loss and of metrics do not", () => {
  const of = report({ steps: { ...steps, grad_norm: [1, 2, 3] }, evals: [evaluation(20, 1, { bleu: 0.5 })] });
  const axes = chartOptions(of).map(({ id, fromZero = false, wide = false }) => [id, fromZero, wide]);
  assert.deepEqual(axes, [
    ["loss", false, true],
    ["metric-bleu", false, false],
    ["lr", true, false],
    ["grad-norm", true, false],
    ["speed", true, false],
  ]);
});

test("other runs are drawn under their names, with their own steps", () => {
  const other = run("theirs", { steps: { ...steps, step: [1, 2, 3] }, evals: [evaluation(2, 9, {})] });
  const of = report({ others: [other], evals: [evaluation(20, 3.5, {})] });
  const { curves } = chart(of, "loss");
  assert.deepEqual(
    curves.map(({ label }) => label),
    ["training", "smoothed", "theirs", "validation", "theirs, validation"],
  );
  assert.deepEqual([drawn(curves[2])[2], drawn(curves[4])], [[3, 3.9], [[2, 9]]]);
  assert.deepEqual([curves[2].other.place, curves[2].other.steps, curves[1].other], [0, other.steps, undefined]);
  assert.deepEqual(
    chart(of, "lr").curves.map(({ label }) => label),
    ["mine", "theirs"],
  );
});

test("epochs and seconds are interpolated between logged steps", () => {
  const view = new View(steps, [10, 40]);
  assert.equal(view.place(25), 25);
  assert.deepEqual(
    [5, 10, 15, 30, 40, 99].map((step) => view.place(step, "time")),
    [1, 1, 2, 5, 7, 7],
  );
  assert.deepEqual(
    [10, 15, 20, 30].map((step) => view.place(step, "epoch")),
    [0.5, 0.5, null, 2],
  );
  assert.deepEqual(view.units(), ["step", "epoch", "time"]);
  const none = new View({ ...steps, step: [], epoch: [], seconds: [null] }, [0, 1]);
  assert.deepEqual([none.place(3, "time"), none.units()], [null, ["step"]]);
});

test("the nearest point is found, the earlier one in a tie", () => {
  const points = [10, 20, 40].map((step) => ({ step, y: 0 }));
  assert.deepEqual(
    [0, 14, 15, 16, 20, 31, 50].map((step) => nearest(points, step).step),
    [10, 10, 10, 20, 20, 40, 40],
  );
  assert.equal(nearest([], 1), undefined);
});

test("words outside the common subsequence with the reference are marked", () => {
  const marked = (text, reference) => differing(text.split(" "), reference.split(" ")).map(Number).join("");
  assert.equal(marked("a man in red", "a man in a red hat"), "0000");
  assert.equal(marked("red a man", "a man red"), "100");
  assert.equal(marked("two play soccer", "two play football"), "001");
});
