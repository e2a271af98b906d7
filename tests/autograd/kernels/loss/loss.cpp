#include "autograd/kernels/loss/loss.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/autograd/kernels/levels.h"

namespace tape::kernels::testing {
namespace {

class Loss : public EveryLevel {};

/// Loss of one row in long double, by the formula in the header.
template <class T>
long double exact_loss(int64_t V, const T* x, int64_t t, const T* w, long double s, long double& lse) {
  long double sum = 0, smooth = 0;
  for (int64_t v = 0; v < V; ++v) sum += std::exp(static_cast<long double>(x[v]));
  lse = std::log(sum);
  for (int64_t v = 0; v < V; ++v)
    smooth += (w ? static_cast<long double>(w[v]) : 1) * (lse - static_cast<long double>(x[v]));
  return (1 - s) * (w ? static_cast<long double>(w[t]) : 1) * (lse - static_cast<long double>(x[t])) +
         s / static_cast<long double>(V) * smooth;
}

template <class T>
void check_cross_entropy() {
  for (const int64_t V : {1, 2, 7, 16, 33, 1000, 8001})
    for (const double s : {0.0, 0.1})
      for (const bool weighted : {false, true}) {
        const int64_t rows = V == 33 ? 2000 : 9, ignored = V > 1 ? 1 : -100;
        const size_t n = static_cast<size_t>(rows), size = static_cast<size_t>(rows * V);
        const std::vector<T> x = random_values<T>(rows * V, 1, -6, 6), dloss = random_values<T>(rows, 2);
        const std::vector<T> weights = random_values<T>(V, 3, 0.2, 2);
        const T* w = weighted ? weights.data() : nullptr;
        std::vector<int64_t> target = random_indices(rows, 4, V);
        target[0] = ignored;
        std::vector<T> loss_got(n), lse(n), dx(size);
        loss<T>().cross_entropy(rows, V, x.data(), target.data(), w, ignored, s, loss_got.data(), lse.data());
        loss<T>().cross_entropy_backward(rows, V, x.data(), target.data(), w, ignored, s, lse.data(), dloss.data(),
                                         dx.data());
        std::vector<long double> wanted(n), wanted_lse(n), wanted_dx(size);
        long double all = 0;
        for (const T value : weights) all += weighted ? static_cast<long double>(value) : 1;
        for (size_t r = 0; r < n; ++r) {
          const T* row = &x[r * static_cast<size_t>(V)];
          const int64_t t = target[r];
          const bool skip = t == ignored;
          wanted[r] = exact_loss(V, row, skip ? 0 : t, w, s, wanted_lse[r]);
          if (skip) wanted[r] = 0;
          for (int64_t v = 0; v < V && !skip; ++v) {
            const long double p = std::exp(static_cast<long double>(row[v]) - wanted_lse[r]);
            const long double wv = w ? static_cast<long double>(w[v]) : 1, wt = w ? static_cast<long double>(w[t]) : 1;
            const long double sl = s, share = sl / static_cast<long double>(V);
            wanted_dx[r * static_cast<size_t>(V) + static_cast<size_t>(v)] =
                static_cast<long double>(dloss[r]) * ((1 - sl) * wt * (p - (v == t)) + share * (all * p - wv));
          }
        }
        const std::string what = " for V = " + std::to_string(V);
        expect_close(loss_got, wanted, tolerance<T>(1e-6, 1e-14), "loss" + what);
        expect_close(lse, wanted_lse, tolerance<T>(1e-6, 1e-14), "lse" + what);
        expect_close(dx, wanted_dx, tolerance<T>(1e-6, 1e-14), "dlogits" + what);
        std::vector<T> in_place = x;
        loss<T>().cross_entropy_backward(rows, V, in_place.data(), target.data(), w, ignored, s, lse.data(),
                                         dloss.data(), in_place.data());
        EXPECT_EQ(in_place, dx);
      }
}
TEST_P(Loss, CrossEntropyMatchesItsFormula) {
  check_cross_entropy<float>();
  check_cross_entropy<double>();
}

template <class T>
void check_pairs(int64_t n) {
  const std::vector<T> x = random_values<T>(n, 1, -9, 9), t = random_values<T>(n, 2, -1, 1),
                       dy = random_values<T>(n, 3);
  std::vector<T> y(x.size()), dx(y), dt(y);
  std::vector<long double> wanted, wanted_dx, wanted_dt;
  loss<T>().huber(n, 1.5, 0.25, x.data(), t.data(), y.data());
  loss<T>().huber_backward(n, 1.5, 0.25, x.data(), t.data(), dy.data(), dx.data(), dt.data());
  for (size_t i = 0; i < x.size(); ++i) {
    const long double d = static_cast<long double>(x[i]) - static_cast<long double>(t[i]), size = std::abs(d);
    wanted.push_back(0.25L * (size < 1.5L ? size * size / 2 : 1.5L * (size - 0.75L)));
    wanted_dx.push_back(static_cast<long double>(dy[i]) * 0.25L * std::clamp(d, -1.5L, 1.5L));
    wanted_dt.push_back(-wanted_dx.back());
  }
  expect_close(y, wanted, tolerance<T>(1e-6, 1e-15), "huber");
  expect_close(dx, wanted_dx, tolerance<T>(1e-6, 1e-15), "huber_backward");
  expect_close(dt, wanted_dt, tolerance<T>(1e-6, 1e-15), "huber_backward, target");
  std::vector<T> alone(y.size());
  loss<T>().huber_backward(n, 1.5, 0.25, x.data(), t.data(), dy.data(), nullptr, alone.data());
  EXPECT_EQ(alone, dt);
  loss<T>().bce_with_logits(n, x.data(), t.data(), y.data());
  loss<T>().bce_with_logits_backward(n, x.data(), t.data(), dy.data(), dx.data(), dt.data());
  for (size_t i = 0; i < x.size(); ++i) {
    const long double v = x[i], p = 1 / (1 + std::exp(-v)), truth = t[i];
    wanted[i] = -truth * std::log(p) - (1 - truth) * std::log1p(-p);
    wanted_dx[i] = static_cast<long double>(dy[i]) * (p - truth);
    wanted_dt[i] = -static_cast<long double>(dy[i]) * v;
  }
  expect_close(y, wanted, tolerance<T>(2e-6, 1e-14), "bce_with_logits");
  expect_close(dx, wanted_dx, tolerance<T>(1e-6, 1e-15), "bce_with_logits_backward");
  expect_close(dt, wanted_dt, tolerance<T>(1e-6, 1e-15), "bce_with_logits_backward, target");
  loss<T>().bce_with_logits_backward(n, x.data(), t.data(), dy.data(), nullptr, alone.data());
  EXPECT_EQ(alone, dt);
}
TEST_P(Loss, PairwiseLossesMatchTheirFormulas) {
  for (const int64_t n : {0, 1, 2, 7, 8, 15, 16, 33, 70'001}) {
    check_pairs<float>(n);
    check_pairs<double>(n);
  }
}

TEST_P(Loss, PairwiseLossesPropagateNaNAndInfinity) {
  const float never = std::nanf(""), far = std::numeric_limits<float>::infinity();
  const std::vector<float> x{never, 0, 800, -800, far}, t{0, never, 1, 0, 0}, dy(5, 1.0F);
  std::vector<float> y(5), dx(5);
  loss<float>().huber(5, 1, 1, x.data(), t.data(), y.data());
  loss<float>().huber_backward(5, 1, 1, x.data(), t.data(), dy.data(), dx.data(), nullptr);
  expect_close(y, std::vector<double>{never, never, 798.5, 799.5, far}, 1e-6);
  expect_close(dx, std::vector<double>{never, never, 1, -1, 1}, 1e-6);
  loss<float>().bce_with_logits(4, x.data(), t.data(), y.data());
  loss<float>().bce_with_logits_backward(4, x.data(), t.data(), dy.data(), dx.data(), nullptr);
  expect_close(std::vector<float>(y.begin(), y.end() - 1), std::vector<double>{never, never, 0, 0}, 1e-6);
  expect_close(std::vector<float>(dx.begin(), dx.end() - 1), std::vector<double>{never, never, 0, 0}, 1e-6);
}

TEST_P(Loss, LargeLogitsDoNotOverflowAndNaNPropagates) {
  std::vector<float> x(20, 1e4F);
  x[3] = 1e4F + 1;
  const int64_t target = 3;
  float value, lse;
  loss<float>().cross_entropy(1, 20, x.data(), &target, nullptr, -1, 0, &value, &lse);
  EXPECT_NEAR(value, std::log(19 * std::exp(-1.0) + 1), 1e-3);
  x[7] = std::nanf("");
  loss<float>().cross_entropy(1, 20, x.data(), &target, nullptr, -1, 0, &value, &lse);
  EXPECT_TRUE(std::isnan(value));
}

TEST_P(Loss, IsBitwiseEqualForAnyThreadCount) {
  const std::vector<float> x = random_values<float>(300 * 501, 5, -6, 6);
  const std::vector<int64_t> target = random_indices(300, 6, 501);
  expect_same_bits([&] {
    std::vector<float> value(300), lse(300);
    loss<float>().cross_entropy(300, 501, x.data(), target.data(), nullptr, -1, 0.1, value.data(), lse.data());
    return value;
  });
}

TAPE_EVERY_LEVEL(Loss);

}  // namespace
}  // namespace tape::kernels::testing
