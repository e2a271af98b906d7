// Made-up attention with relative positions, and made-up runs side by side, for the explorer page.

// Gradient by finite differences of a function of an array that is changed in place.
function differences(f, values) {
  return Array.from(values, (value, i) => {
    values[i] = value + 1e-5;
    const up = f();
    values[i] = value - 1e-5;
    const down = f();
    values[i] = value;
    return (up - down) / 2e-5;
  });
}

// Relative position attention (Shaw et al., 2018) over one text: 2 heads of 4 columns, distances up to 2.
export function relativeAttention({ source, random, pack }) {
  const [heads, count, width, most] = [2, source.length, 4, 2];
  const many = (size) => Float64Array.from({ length: size }, () => 2 * random() - 1);
  const [q, k, v, w] = [0, 1, 2, 3].map(() => many(heads * count * width));
  const [a, b] = [0, 1].map(() => many((2 * most + 1) * width));
  const scale = 1 / Math.sqrt(width);
  const at = (head, row) => (head * count + row) * width;
  const table = (row, key) => (Math.max(-most, Math.min(most, key - row)) + most) * width;
  const pairs = (of) => {
    const all = new Float64Array(heads * count * count);
    for (let head = 0; head < heads; ++head)
      for (let row = 0; row < count; ++row)
        for (let key = 0; key < count; ++key) all[(head * count + row) * count + key] = of(head, row, key);
    return all;
  };
  const dot = (x, from, y, to) =>
    Array.from({ length: width }, (_, d) => x[from + d] * y[to + d]).reduce((s, t) => s + t);
  const contents = () => pairs((head, row, key) => scale * dot(q, at(head, row), k, at(head, key)));
  const positions = () => pairs((head, row, key) => scale * dot(q, at(head, row), a, table(row, key)));
  const softmax = (scores) => {
    const all = scores.map(Math.exp);
    for (let row = 0; row < all.length; row += count) {
      const sum = all.subarray(row, row + count).reduce((s, t) => s + t);
      for (let key = 0; key < count; ++key) all[row + key] /= sum;
    }
    return all;
  };
  const context = (p) => {
    const z = new Float64Array(heads * count * width);
    pairs((head, row, key) => {
      const weight = p[(head * count + row) * count + key];
      for (let d = 0; d < width; ++d) z[at(head, row) + d] += weight * (v[at(head, key) + d] + b[table(row, key) + d]);
    });
    return z;
  };
  const loss = (z) => z.reduce((sum, value, i) => sum + w[i] * value, 0);
  const scores = contents();
  const added = positions();
  const all = scores.map((value, i) => value + added[i]);
  const p = softmax(all);
  const whole = () => {
    const biases = positions();
    return loss(context(softmax(contents().map((value, i) => value + biases[i]))));
  };
  const [rows, square] = [
    [heads, count, width],
    [heads, count, count],
  ];
  const tables = [2 * most + 1, width];
  const none = { query: null, key: null, value: null, scores: null, mask: null, probabilities: null, context: null };
  const ds = differences(() => loss(context(softmax(all))), all);
  return {
    module: "relative.attention",
    kind: "relative self",
    layer: 0,
    heads,
    rows: 0,
    columns: 0,
    scale,
    values: {
      query: pack(rows, q),
      key: pack(rows, k),
      value: pack(rows, v),
      scores: pack(square, scores),
      mask: pack(square, added),
      probabilities: pack(square, p),
      context: pack(rows, context(p)),
    },
    gradients: [
      {
        query: pack(rows, differences(whole, q)),
        key: pack(rows, differences(whole, k)),
        value: pack(rows, differences(whole, v)),
        scores: pack(square, ds),
        mask: pack(square, ds),
        probabilities: pack(
          square,
          differences(() => loss(context(p)), p),
        ),
        context: pack(rows, w),
      },
      none,
    ],
    relative: {
      keys: pack(tables, a),
      values: pack(tables, b),
      gradients: [
        { keys: pack(tables, differences(whole, a)), values: pack(tables, differences(whole, b)) },
        { keys: null, values: null },
      ],
    },
  };
}

// Three runs; the second lacks one of the attentions of the page's model.
export function runs({ blocks, targets, vocabulary, names, random, pack }) {
  const count = 12;
  const tokens = targets.flatMap((target) => {
    const others = Array.from({ length: vocabulary }, (_, id) => id).filter((id) => id !== target);
    others.sort(() => random() - 0.5);
    return [target, ...others.slice(0, count - 1)];
  });
  const frames = ["runs/before", "runs/between", "runs/after"].map((name, run) => {
    const sharp = 1 + 2 * run;
    const logs = targets.map((target) => {
      const logits = Array.from({ length: vocabulary }, (_, id) => sharp * random() + (id === target ? run : 0));
      const sum = Math.log(logits.reduce((total, logit) => total + Math.exp(logit), 0));
      return logits.map((logit) => logit - sum);
    });
    const attention = blocks
      .filter((_, index) => run !== 1 || index !== 0)
      .map(({ module, shape }) => {
        const [heads, rows, columns] = shape;
        const weights = [];
        for (let row = 0; row < heads * rows; ++row) {
          const line = Array.from({ length: columns }, () => Math.exp(sharp * random()));
          const sum = line.reduce((s, t) => s + t);
          weights.push(...line.map((value) => value / sum));
        }
        return { module, weights: pack(shape, weights) };
      });
    const loss = logs.reduce((sum, log, row) => sum - log[targets[row]], 0) / targets.length;
    const log_p = tokens.map((token, i) => logs[Math.floor(i / count)][token]);
    return { name, values: [loss, run - 0.5], attention, log_p: [pack([targets.length, count], log_p), null] };
  });
  const named = Object.fromEntries(tokens.map((token) => [token, names[token] ?? `word${token}`]));
  return { of: 9, modules: blocks.length, modules_of: blocks.length, tokens: [tokens, null], names: named, frames };
}

// Made-up activation patching for a corrupted fourth source token: random shares, 1 for all of the last layer.
export function patching({ source, target, layers, heads, clean, random, pack }) {
  const corrupted = clean.map((value, output) => value + 1.5 - 4 * output);
  const texts = [source.map((token, at) => (at === 3 ? "dreißig" : token)), target];
  const grid = (name, text, of) => {
    const columns = of || texts[text].length + 1;
    const values = [];
    for (let row = 0; row < layers; ++row)
      for (let column = 0; column < columns; ++column) {
        const whole = !of && row === layers - 1 && column === columns - 1 && name.endsWith("*");
        clean.forEach((value, output) => {
          const share = whole ? 1 : random() - 0.2;
          values.push(corrupted[output] + share * (value - corrupted[output]));
        });
      }
    const modules = Array.from({ length: layers }, (_, layer) => name.replace("*", layer));
    return { name, modules, text, heads: of, values: pack([layers, columns, clean.length], values) };
  };
  const grids = [
    grid("encoder.layers.*", 0, 0),
    grid("decoder.layers.*", 1, 0),
    grid("decoder.layers.*.cross_attention", 1, 0),
    grid("decoder.layers.*.cross_attention", 1, heads),
  ];
  return { clean, corrupted, texts, grids };
}
