// A selective state space model as in Mamba (Gu and Dao 2023): a recurrence whose factors depend on the input, computed
// by a parallel scan. The task: which letter came last, no matter how much noise followed it?
#include <tapeformer.h>

#include <iostream>

using namespace tape;

// h_t = exp(d_t A) h_{t-1} + d_t B_t x_t,  y_t = C_t . h_t + D x_t;  d = softplus(W x), B and C are linear in x.
struct SelectiveScan : nn::Layer<SelectiveScan> {
  nn::Child<nn::Linear> delta, b, c;
  nn::Parameter log_a, skip;
  SelectiveScan(int64_t width, int64_t states)
      : delta(this, "delta", width, width),
        b(this, "b", width, states),
        c(this, "c", width, states),
        log_a(this, "log_a", log(expand(arange(states, f32) + 1, {width, states}))),  // A = -1, -2, ...
        skip(this, "skip", ones({width})) {}

  Tensor forward(const Tensor& x) {                                                       // [B, T, C]
    const Tensor d = unsqueeze(softplus(delta(x)), -1);                                   // [B, T, C, 1]
    const Tensor factors = exp(d * -exp(log_a));                                          // [B, T, C, N]
    const Tensor h = linear_scan(factors, d * unsqueeze(b(x), 2) * unsqueeze(x, -1), 1);  // [B, T, C, N]
    return squeeze(matmul(h, unsqueeze(c(x), -1)), -1) + skip * x;                        // [B, T, C]
  }
};

constexpr int64_t letters = 4, noise = 12, width = 16, length = 40;  // ids: first noise, then letters

struct Listener : nn::Layer<Listener> {
  nn::Child<nn::Embedding> embedding{this, "embedding", noise + letters, width};
  nn::Child<SelectiveScan> scan{this, "scan", width, 4};
  nn::Child<nn::Linear> output{this, "output", width, letters};
  Tensor forward(const Tensor& ids) { return output(scan(embedding(ids))); }  // [B, T] -> [B, T, letters]
};

struct Batch {
  Tensor ids, last;
};
Batch make_batch(int64_t rows, Generator& draws) {
  Tensor ids = randint(0, noise, {rows, length}, draws);
  const Tensor has_letter = bernoulli(full({rows, length}, 0.1), draws),
               letter = randint(noise, noise + letters, {rows, length}, draws);
  ids = where(ne(has_letter, 0), letter, ids);
  // Position of the last letter so far: a running maximum over the positions that contain letters, -1 for none yet.
  const Tensor positions = where(ge(ids, noise), arange(length, f32), full({}, -1));
  const Tensor position = cummax(positions, 1).values.to(i64);
  const Tensor last = gather(ids, 1, maximum(position, zeros({}, i64))) - noise;
  return {ids, where(lt(position, 0), full({}, -100, i64), last)};  // cross_entropy ignores -100
}

// y_t = a_t y_{t-1} + b_t for positive values, computed in logarithms by two cumulative sums (Heinsen 2023).
Tensor scan_of_logs(const Tensor& a, const Tensor& b) {
  const Tensor sums = cumsum(log(a), 1);
  return exp(sums + logcumsumexp(log(b) - sums, 1));
}

int main() {
  manual_seed(1);
  SelectiveScan small(3, 2);
  const Tensor sample = randn({2, 5, 3}, f64);
  const GradcheckReport report = gradcheck(small, {sample}), second = gradgradcheck(small, {sample});
  std::cout << report << "\nsecond derivatives " << (second.ok() ? "agree" : "differ") << "\n";
  const Tensor a = rand({2, 6}, f64), b = rand({2, 6}, f64);
  std::cout << "equal to the scan in logarithms: "
            << (allclose(linear_scan(a, b, 1), scan_of_logs(a, b)) ? "yes" : "no") << "\n";

  Listener model;
  constexpr int64_t steps = 300;
  optim::Adam adam(model.parameters(), {.lr = 1e-2});
  optim::CosineSchedule schedule(adam, {.warmup = 10, .total = steps});
  Generator draws(2);
  for (int64_t step = 0; step < steps; ++step) {
    const Batch batch = make_batch(32, draws);
    adam.zero_grad();
    cross_entropy(model(batch.ids), batch.last).backward();
    adam.step();
    schedule.step();
  }

  const NoGrad no_grad;
  const Batch held_out = make_batch(200, draws);
  const Tensor valid = ge(held_out.last, 0), correct = eq(argmax(model(held_out.ids), -1), held_out.last);
  const double share = sum(valid & correct).item() / sum(valid).item();
  std::cout << "accuracy on the last letter: " << (share > 0.99 ? "over 99%" : "99% or fewer") << "\n";
  return report.ok() && second.ok() && share > 0.99 ? 0 : 1;
}
