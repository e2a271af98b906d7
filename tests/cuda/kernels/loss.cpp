#include "autograd/kernels/loss/loss.h"

#include <fmt/format.h>

#include "tests/cuda/kernels/beside_cpu.h"

namespace tape::kernels {
namespace {
using namespace beside_cpu;

template <class T>
class CudaLoss : public KernelTest<T> {
 protected:
  /// Compares call(kernels, pointer of each input..., output) for an output of n values.
  template <class Call, class... Inputs>
  void check(const char* what, int64_t n, const Call& call, const std::vector<Inputs>&... inputs) {
    Array<T> expected(static_cast<size_t>(n));
    call(loss<T>(), inputs.data()..., expected.data());
    const auto actual = this->on_device([&] {
      const DeviceArray<T> to(Array<T>(static_cast<size_t>(n)));
      [&](const auto&... from) {
        call(loss<T>(kOnDevice), from.constant()..., to.get());
      }(DeviceArray<Inputs>(inputs)...);
      return to.values();
    });
    expect_close(actual, expected, what, 4);
  }
  void check_cross_entropy(int64_t rows, int64_t V, const Array<T>& x, bool has_weight, double smoothing) {
    SCOPED_TRACE(fmt::format("[{}, {}], weight {}, smoothing {}", rows, V, has_weight, smoothing));
    using Kernels = const LossKernels<T>&;
    Array<T> weight = random_values<T>(V, 3), values(static_cast<size_t>(rows)), lse(values);
    for (T& w : weight) w = w * w;
    std::vector<int64_t> target(static_cast<size_t>(rows));
    for (int64_t r = 0; r < rows; ++r) target[static_cast<size_t>(r)] = r % 3 == 1 ? -100 : r * 7 % V;
    check(
        "cross_entropy", 2 * rows,
        [&](Kernels k, const T* logits, const int64_t* t, const T* w, T* to) {
          k.cross_entropy(rows, V, logits, t, has_weight ? w : nullptr, -100, smoothing, to, to + rows);
        },
        x, target, weight);
    loss<T>().cross_entropy(rows, V, x.data(), target.data(), nullptr, -100, 0, values.data(), lse.data());
    check(
        "cross_entropy_backward", rows * V,
        [&](Kernels k, const T* logits, const int64_t* t, const T* w, const T* log_sum, const T* dloss, T* to) {
          k.cross_entropy_backward(rows, V, logits, t, has_weight ? w : nullptr, -100, smoothing, log_sum, dloss, to);
        },
        x, target, weight, lse, random_values<T>(rows, 4));
  }
};
TYPED_TEST_SUITE(CudaLoss, BothTypes);

TYPED_TEST(CudaLoss, CrossEntropyIsThatOfTheCpu) {
  using T = TypeParam;
  const std::vector<std::pair<int64_t, int64_t>> shapes = {{0, 5}, {4, 1}, {9, 8}, {5, 31}, {4, 1000}, {4, 1100}};
  for (const auto& [rows, V] : shapes)
    for (const bool has_weight : {false, true})
      for (const double smoothing : {0.0, 0.1})
        this->check_cross_entropy(rows, V, random_values<T>(rows * V, 1), has_weight, smoothing);
  for (const auto& [rows, V] : shapes)
    this->check_cross_entropy(rows, V, with_specials<T>(rows * V, 2, {-kInf, 90, kNan, -kInf, kInf}, 41), false, 0);
  this->check_cross_entropy(2, 9, Array<T>(18, static_cast<T>(-kInf)), false, 0);
  // Threads without values must not overflow, however small those of others are.
  for (const int64_t V : {5, 31, 1100}) {
    Array<T> small = random_values<T>(3 * V, 1);
    for (T& x : small) x -= 500;
    this->check_cross_entropy(3, V, small, false, 0);
  }
}

TYPED_TEST(CudaLoss, MeanScaleCountsTargets) {
  using T = TypeParam;
  for (const int64_t n : {0, 1, 31, 1024, 3001}) {
    std::vector<int64_t> target(static_cast<size_t>(n));
    for (int64_t i = 0; i < n; ++i) target[static_cast<size_t>(i)] = i % 3 == 0 ? -1 : i;
    this->check(
        "mean_scale", 1, [&](const LossKernels<T>& k, const int64_t* t, T* to) { k.mean_scale(n, t, -1, to); }, target);
  }
}

TYPED_TEST(CudaLoss, CrossEntropyGradientsReplaceTheLogits) {
  using T = TypeParam;
  const int64_t rows = 5, V = 40;
  const Array<T> x = random_values<T>(rows * V, 1), dloss = random_values<T>(rows, 2);
  const std::vector<int64_t> target = {3, 39, -100, 0, 7};
  Array<T> expected = x, values(rows), lse(rows);
  loss<T>().cross_entropy(rows, V, x.data(), target.data(), nullptr, -100, 0.1, values.data(), lse.data());
  loss<T>().cross_entropy_backward(rows, V, x.data(), target.data(), nullptr, -100, 0.1, lse.data(), dloss.data(),
                                   expected.data());
  const auto actual = this->on_device([&] {
    const DeviceArray<T> logits(x), log_sum(lse), dy(dloss);
    const DeviceArray<int64_t> t(target);
    loss<T>(kOnDevice).cross_entropy_backward(rows, V, logits.get(), t.get(), nullptr, -100, 0.1, log_sum.get(),
                                              dy.get(), logits.get());
    return logits.values();
  });
  expect_close(actual, expected, "gradient");
}

TYPED_TEST(CudaLoss, ElementwiseLossesAreThoseOfTheCpu) {
  using T = TypeParam;
  using Kernels = const LossKernels<T>&;
  for (const int64_t n : {0, 1, 31, 33, 1000})
    for (const bool special : {false, true}) {
      const Array<T> x =
          special ? with_specials<T>(n, 1, {kInf, -kInf, kNan, 0, 1, -100, 100}, 3) : random_values<T>(n, 1);
      const Array<T> t = special ? with_specials<T>(n, 2, {0, 1, kInf, kNan, 1}, 4) : random_values<T>(n, 2);
      const Array<T> dy = random_values<T>(n, 3);
      this->check(
          "huber", n, [&](Kernels k, const T* from, const T* to, T* y) { k.huber(n, 0.7, 1.3, from, to, y); }, x, t);
      this->check(
          "bce_with_logits", n, [&](Kernels k, const T* from, const T* to, T* y) { k.bce_with_logits(n, from, to, y); },
          x, t);
      for (const int wanted : {1, 2, 3}) {  // dx, dt or both
        const auto first = [&](T* y) { return wanted & 1 ? y : nullptr; };
        const auto second = [&](T* y) { return wanted & 2 ? y + n : nullptr; };
        this->check(
            "huber_backward", 2 * n,
            [&](Kernels k, const T* from, const T* to, const T* g, T* y) {
              k.huber_backward(n, 0.7, 1.3, from, to, g, first(y), second(y));
            },
            x, t, dy);
        this->check(
            "bce_with_logits_backward", 2 * n,
            [&](Kernels k, const T* from, const T* to, const T* g, T* y) {
              k.bce_with_logits_backward(n, from, to, g, first(y), second(y));
            },
            x, t, dy);
      }
    }
}

}  // namespace
}  // namespace tape::kernels
