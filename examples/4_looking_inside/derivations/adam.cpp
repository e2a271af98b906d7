// Computes the values in docs/derivations/adam.md.
#include <tapeformer/optim/adam.h>
#include <tapeformer/optim/adamw.h>

#include <memory>

#include <fmt/format.h>

#include "page.h"

enum class Decay { none, coupled, decoupled };

/// Algorithm 1 of Kingma and Ba 2015 as printed, with m-hat and v-hat.
struct ByHand {
  Matrix p, m, v, m_hat, v_hat;
  double lr, beta1, beta2, eps, weight_decay;
  Decay decay;
  int t = 0;

  void step(const Matrix& gradient) {
    ++t;
    const double c1 = 1 - std::pow(beta1, t), c2 = 1 - std::pow(beta2, t);
    for (size_t i = 0; i < p.values.size(); ++i) {
      double g = gradient.values[i];
      double& x = p.values[i];
      if (decay == Decay::coupled) g += weight_decay * x;
      if (decay == Decay::decoupled) x -= lr * weight_decay * x;
      m.values[i] = beta1 * m.values[i] + (1 - beta1) * g;
      v.values[i] = beta2 * v.values[i] + (1 - beta2) * g * g;
      m_hat.values[i] = m.values[i] / c1;
      v_hat.values[i] = v.values[i] / c2;
      x -= lr * m_hat.values[i] / (std::sqrt(v_hat.values[i]) + eps);
    }
  }
};

ByHand by_hand(const Tensor& p, Decay decay) {
  const Matrix zero(2, 3);
  return {Matrix(p), zero, zero, zero, zero, 0.1, 0.9, 0.999, 1e-8, 0.5, decay};
}

Tensor start() { return leaf({{1, 2, -1}, {0.5, -3, 4}}); }

/// A quadratic that is steep along the first column of p and flat along the last.
Tensor loss(const Tensor& p) { return sum(tensor({50, 5, 0.5}, f64) * square(p)); }

/// Takes steps with both, compares them after each step and then calls `shown`.
template <class Shown>
void run(Page& page, std::string_view name, Tensor& p, optim::Optimizer& optimizer, ByHand& hand, int steps,
         const Shown& shown) {
  for (int t = 1; t <= steps; ++t) {
    optimizer.zero_grad();
    loss(p).backward();
    const Matrix gradient(p.grad());
    optimizer.step();
    hand.step(gradient);
    page.same(name, hand.p, p);
    const auto state = optimizer.state_dict();
    page.same("m", hand.m, state.at("0.m"));
    page.same("v", hand.v, state.at("0.v"));
    shown(t, gradient);
  }
}

int main() {
  Page page;
  const auto nothing = [](int, const Matrix&) {};
  Tensor p = start();
  ByHand hand = by_hand(p, Decay::none);
  optim::Adam adam({p}, {.lr = 0.1});
  run(page, "p", p, adam, hand, 2, [&](int t, const Matrix& gradient) {
    page.block(t == 1 ? "first step" : "second step");
    page.show("g", gradient);
    page.show("m", hand.m);
    page.show("v", hand.v);
    page.show("m-hat", hand.m_hat);
    page.show("v-hat", hand.v_hat);
    page.show("p", hand.p);
  });

  page.block("correction");
  page.line("     t   1 - beta1^t   1 - beta2^t   step without correction, in lr");
  for (const int t : {1, 2, 5, 10, 100, 1000, 10000}) {
    const double c1 = 1 - std::pow(0.9, t), c2 = 1 - std::pow(0.999, t);
    page.line(fmt::format("{:>6}{:>14}{:>14}{:>17}", t, number(c1), number(c2), number(c1 / std::sqrt(c2))));
  }

  Tensor with_l2 = start(), decoupled = start();
  ByHand hand_l2 = by_hand(with_l2, Decay::coupled), hand_w = by_hand(decoupled, Decay::decoupled);
  optim::Adam adam_l2({with_l2}, {.lr = 0.1, .weight_decay = 0.5});
  optim::AdamW adamw({decoupled}, {.lr = 0.1, .weight_decay = 0.5});
  run(page, "p of Adam with L2", with_l2, adam_l2, hand_l2, 1, nothing);
  run(page, "p of AdamW", decoupled, adamw, hand_w, 1, nothing);
  page.block("decay");
  page.show("Adam, L2 0.5", with_l2);
  page.show("AdamW, 0.5", decoupled);

  // Another hundred steps, until the corrections no longer matter.
  run(page, "p", p, adam, hand, 100, nothing);
  run(page, "p of Adam with L2", with_l2, adam_l2, hand_l2, 100, nothing);
  run(page, "p of AdamW", decoupled, adamw, hand_w, 100, nothing);
  return page.status();
}
