#include "autograd/kernels/norm/norm.h"

#include <fmt/format.h>

#include "tests/cuda/kernels/beside_cpu.h"

namespace tape::kernels {
namespace {
using namespace beside_cpu;

template <class T>
class CudaNorm : public KernelTest<T> {
 protected:
  /// Compares call(kernels, pointer of each input..., outputs) for an output of n values that hold 1 before.
  template <class Call, class... Inputs>
  void check(const char* what, int64_t n, double size, const Call& call, const Inputs&... inputs) {
    Array<T> expected(static_cast<size_t>(n), T(1));
    call(norm<T>(), inputs.data()..., expected.data());
    const auto actual = this->on_device([&] {
      const DeviceArray<T> to(Array<T>(static_cast<size_t>(n), T(1)));
      [&](const auto&... from) { call(norm<T>(kOnDevice), from.constant()..., to.get()); }(DeviceArray<T>(inputs)...);
      return to.values();
    });
    expect_close(actual, expected, what, size);
  }
  /// Outputs are consecutive parts of one array: y [rows, cols], mean and rstd [rows]; dx, dweight and dbias.
  void check_all(int64_t rows, int64_t cols, const Array<T>& x, bool has_weight, bool has_bias) {
    SCOPED_TRACE(fmt::format("[{}, {}], weight {}, bias {}", rows, cols, has_weight, has_bias));
    using Kernels = const NormKernels<T>&;
    const Array<T> weight = random_values<T>(cols, 5), bias = random_values<T>(cols, 6);
    const Array<T> dy = random_values<T>(rows * cols, 7);
    const int64_t n = rows * cols;
    check(
        "layer_norm", n + 2 * rows, 1,
        [&](Kernels k, const T* from, const T* w, const T* b, T* to) {
          k.layer_norm(rows, cols, from, has_weight ? w : nullptr, has_bias ? b : nullptr, 1e-5, to, to + n,
                       to + n + rows);
        },
        x, weight, bias);
    check(
        "rms_norm", n + rows, 1,
        [&](Kernels k, const T* from, const T* w, T* to) {
          k.rms_norm(rows, cols, from, has_weight ? w : nullptr, 1e-5, to, to + n);
        },
        x, weight);
    Array<T> y(x.size()), mean(static_cast<size_t>(rows)), rstd(mean), rms(mean);
    norm<T>().layer_norm(rows, cols, x.data(), nullptr, nullptr, 1e-5, y.data(), mean.data(), rstd.data());
    norm<T>().rms_norm(rows, cols, x.data(), nullptr, 1e-5, y.data(), rms.data());
    // Rounding errors of dx are multiplied by rstd, which is large for constant rows.
    double size = std::sqrt(static_cast<double>(std::max(rows, cols)));
    for (const T inverse : rstd)
      if (inverse > size) size = static_cast<double>(inverse);
    for (const bool adds : {false, true})
      check(
          adds ? "layer_norm_backward, added" : "layer_norm_backward", n + 2 * cols, size,
          [&](Kernels k, const T* from, const T* w, const T* mu, const T* inverse, const T* g, T* to) {
            k.layer_norm_backward(rows, cols, from, has_weight ? w : nullptr, mu, inverse, g, adds ? to : nullptr, to,
                                  has_weight ? to + n : nullptr, has_bias ? to + n + cols : nullptr);
          },
          x, weight, mean, rstd, dy);
    check(
        "layer_norm_backward of the weight alone", cols, size,
        [&](Kernels k, const T* from, const T* mu, const T* inverse, const T* g, T* to) {
          k.layer_norm_backward(rows, cols, from, nullptr, mu, inverse, g, nullptr, nullptr, to, nullptr);
        },
        x, mean, rstd, dy);
    for (const bool adds : {false, true})
      check(
          adds ? "rms_norm_backward, added" : "rms_norm_backward", n + cols, size,
          [&](Kernels k, const T* from, const T* w, const T* inverse, const T* g, T* to) {
            k.rms_norm_backward(rows, cols, from, has_weight ? w : nullptr, inverse, g, adds ? to : nullptr, to,
                                has_weight ? to + n : nullptr);
          },
          x, weight, rms, dy);
  }
};
TYPED_TEST_SUITE(CudaNorm, BothTypes);

TYPED_TEST(CudaNorm, IsThatOfTheCpu) {
  using T = TypeParam;
  const std::vector<std::pair<int64_t, int64_t>> shapes = {
      {0, 5},
      {3, 0},
      {3, 1},
      {5, 8},
      {9, 31},
      {2, 1000},
      {2, 1100},
      {400, 33},
      {2, 8201},
      // Rows in registers: of a warp, which has several, of a block, and the widest.
      {37, 4},
      {2300, 20},
      {3, 1024},
      {5, 1028},
      {2, 8192}};
  for (const auto& [rows, cols] : shapes)
    for (const bool has_weight : {false, true})
      for (const bool has_bias : {false, true})
        this->check_all(rows, cols, random_values<T>(rows * cols, 1), has_weight, has_bias);
}

TYPED_TEST(CudaNorm, TreatsSpecialRowsAsTheCpu) {
  using T = TypeParam;
  for (const int64_t cols : {3, 33, 1100}) {
    Array<T> x = random_values<T>(4 * cols, 2);
    std::fill_n(x.begin(), cols, T(1));
    x[static_cast<size_t>(cols)] = static_cast<T>(kInf);
    x[static_cast<size_t>(2 * cols)] = static_cast<T>(kNan);
    this->check_all(4, cols, x, true, true);
  }
}

}  // namespace
}  // namespace tape::kernels
