// A normalizing flow: a learned density that can be sampled. The data's density is known here, so the lowest possible
// negative log-likelihood is known too.
#include <tapeformer.h>

#include <cmath>
#include <iostream>
#include <numbers>

using namespace tape;

// z = (x - shift) W, then z2 = z2 e^s(z1) + t(z1), with log |dz/dx| = log |det W| + s (Dinh et al. 2017; W: Kingma and
// Dhariwal 2018). Returns [z, log |dz/dx|].
struct FlowStep : nn::Layer<FlowStep> {
  nn::Parameter weight{this, "weight", eye(2)}, shift{this, "shift", zeros({2})};
  nn::Child<nn::Linear> up, down;
  explicit FlowStep(int64_t width) : up(this, "up", 1, width), down(this, "down", width, 2) {
    nn::init::zeros_(down->weight);  // the step starts as the identity
  }

  Tensor forward(const Tensor& x) {                             // [B, 2]
    const Tensors z = chunk(matmul(x - shift, weight), 2, -1);  // two tensors [B, 1]
    const Tensors scale_and_shift = chunk(down(tanh(up(z[0]))), 2, -1);
    const Tensor s = tanh(scale_and_shift[0]);                              // in (-1, 1) for stability
    const Tensor log_slope = linalg::slogdet(weight).logabsdet + s;         // [B, 1]
    return cat({z[0], z[1] * exp(s) + scale_and_shift[1], log_slope}, -1);  // [B, 3]
  }
};

struct Flow : nn::Layer<Flow> {
  nn::Children<FlowStep> steps{this, "steps", 4, 16};

  // -log p(x) of each row. The steps map p to a standard normal density.
  Tensor forward(const Tensor& x) {  // [B, 2] -> [B]
    Tensor z = x, log_slope = zeros({x.size(0), 1}, x.dtype());
    for (int64_t i = 0; i < steps.size(); ++i) {
      const Tensors parts = split(steps[i](z), {2, 1}, -1);
      z = flip(parts[0], -1);  // the next step transforms the other half
      log_slope = log_slope + parts[1];
    }
    return sum(square(z), -1) / 2 + std::log(2 * std::numbers::pi) - squeeze(log_slope, -1);
  }
};

// A banana-shaped density: u is normal, v = u^2 / 2 plus normal noise. `cost` is -log p(u, v), the sum of both
// normals'.
constexpr double noise = 0.3;
struct Batch {
  Tensor x, cost;
};
Batch make_batch(int64_t rows, Generator& draws) {
  const Tensors e = chunk(randn({rows, 2}, f32, draws), 2, -1);
  const Tensor x = cat({e[0], 0.5 * square(e[0]) + noise * e[1]}, -1);
  return {x, squeeze(square(e[0]) + square(e[1]), -1) / 2 + std::log(2 * std::numbers::pi * noise)};
}

int main() {
  manual_seed(1);
  FlowStep small(3);
  nn::init::xavier_normal_(small.weight);
  nn::init::xavier_normal_(small.down->weight);
  const Tensor sample = randn({4, 2}, f64);
  const GradcheckReport report = gradcheck(small, {sample}), second = gradgradcheck(small, {sample});
  std::cout << report << "\nsecond derivatives " << (second.ok() ? "agree" : "differ") << "\n";

  Flow model;
  constexpr int64_t steps = 3000;
  optim::Adam adam(model.parameters(), {.lr = 1e-2});
  optim::CosineSchedule schedule(adam, {.warmup = 10, .total = steps});
  Generator draws(2);
  for (int64_t step = 0; step < steps; ++step) {
    adam.zero_grad();
    mean(model(make_batch(256, draws).x)).backward();
    adam.step();
    schedule.step();
  }

  const NoGrad no_grad;
  const Batch held_out = make_batch(10'000, draws);
  const double excess = mean(model(held_out.x) - held_out.cost).item();
  std::cout << "nats above the entropy of the data: " << (excess < 0.01 ? "below 0.01" : "0.01 or more") << "\n";
  return report.ok() && second.ok() && excess < 0.01 ? 0 : 1;
}
