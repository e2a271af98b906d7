// Attention whose cost grows linearly with the sequence length (Katharopoulos et al. 2020). The task is associative
// recall: which value came with this key?
#include <tapeformer.h>

#include <iostream>

using namespace tape;

// y_t = phi(q_t) S_t / (phi(q_t) . z_t) with phi = elu + 1, S_t = sum of phi(k_s) v_s^T and z_t = sum of phi(k_s) over
// s <= t.
struct LinearAttention : nn::Layer<LinearAttention> {
  nn::Child<nn::Linear> query, key, value;
  explicit LinearAttention(int64_t width)
      : query(this, "query", width, width), key(this, "key", width, width), value(this, "value", width, width) {}

  Tensor forward(const Tensor& x) {  // [B, T, C]
    const Tensor q = elu(query(x)) + 1, k = elu(key(x)) + 1, v = value(x);
    const Tensor state = cumsum(unsqueeze(k, -1) * unsqueeze(v, -2), 1);  // S [B, T, C, C]
    const Tensor total = sum(q * cumsum(k, 1), -1, Dims::keep);           // phi(q) . z [B, T, 1]
    return squeeze(matmul(unsqueeze(q, -2), state), -2) / total;          // [B, T, C]
  }

  // The same in quadratic time, from the scores of all pairs of positions.
  Tensor pairwise(const Tensor& x) {
    const Tensor scores = tril(matmul(elu(query(x)) + 1, elu(key(x)) + 1, {.transpose_b = true}));  // [B, T, T]
    return matmul(scores / sum(scores, -1, Dims::keep), value(x));
  }
};

constexpr int64_t keys = 16, values = 10, pairs = 8, width = 32, nothing = values;

// Each position has a key and its value, except the last, which has only a key.
struct Recall : nn::Layer<Recall> {
  nn::Child<nn::Embedding> key{this, "key", keys, width}, value{this, "value", values + 1, width};
  nn::Child<LinearAttention> attention{this, "attention", width};
  nn::Child<nn::Linear> output{this, "output", width, values};
  Tensor forward(const Tensor& key_ids, const Tensor& value_ids) {             // [B, T], [B, T]
    return output(select(attention(key(key_ids) + value(value_ids)), 1, -1));  // [B, V]
  }
};

struct Batch {
  Tensor key_ids, value_ids, answer;
};
Batch make_batch(int64_t rows, Generator& draws) {
  const Tensor pair_keys = multinomial(ones({rows, keys}), pairs, {}, draws),
               pair_values = randint(0, values, {rows, pairs}, draws);
  const Tensor query = randint(0, pairs, {rows, 1}, draws);
  return {cat({pair_keys, gather(pair_keys, 1, query)}, 1), cat({pair_values, full({rows, 1}, nothing, i64)}, 1),
          squeeze(gather(pair_values, 1, query), 1)};
}

int main() {
  manual_seed(1);
  LinearAttention small(3);
  const Tensor x = randn({2, 5, 3}, f64);
  const GradcheckReport report = gradcheck(small, {x}), second = gradgradcheck(small, {x});
  std::cout << report << "\nsecond derivatives " << (second.ok() ? "agree" : "differ") << "\n";
  small.to(f64);
  std::cout << "both forms agree: " << (allclose(small(x), small.pairwise(x)) ? "yes" : "no") << "\n";

  Recall model;
  constexpr int64_t steps = 500;
  optim::Adam adam(model.parameters(), {.lr = 1e-2});
  optim::CosineSchedule schedule(adam, {.warmup = 10, .total = steps});
  Generator draws(2);
  for (int64_t step = 0; step < steps; ++step) {
    const Batch batch = make_batch(64, draws);
    adam.zero_grad();
    cross_entropy(model(batch.key_ids, batch.value_ids), batch.answer).backward();
    adam.step();
    schedule.step();
  }

  const NoGrad no_grad;
  const Batch held_out = make_batch(1000, draws);
  const Tensor predicted = argmax(model(held_out.key_ids, held_out.value_ids), -1);
  const double right = mean(eq(predicted, held_out.answer).to(f32)).item();
  std::cout << "values recalled, of " << pairs << " pairs: " << (right > 0.98 ? "over 98%" : "98% or fewer") << "\n";
  return report.ok() && second.ok() && right > 0.98 ? 0 : 1;
}
