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
  /// Compares run(a, b, to) on the device with cpu(to), for n values of outputs.
  template <class Cpu, class Cuda>
  void check_of_sum(const char* what, int64_t n, double size, const Cpu& cpu, const Cuda& cuda, const Array<T>& a,
                    const Array<T>& b) {
    Array<T> expected(static_cast<size_t>(n), T(1));
    cpu(expected.data());
    const auto actual = this->on_device([&] {
      const DeviceArray<T> to(Array<T>(static_cast<size_t>(n), T(1))), a_there(a), b_there(b);
      cuda(a_there.constant(), b_there.constant(), to.get());
      return to.values();
    });
    expect_close(actual, expected, what, size);
  }
  /// Norms of a + dropout(b), beside the CPU's dropout, addition and norm; outputs as above, after the sum, and with
  /// the gradient of b after dx.
  void check_sums(int64_t rows, int64_t cols, uint64_t counter) {
    SCOPED_TRACE(fmt::format("[{}, {}], draws from {}", rows, cols, counter));
    const int64_t n = rows * cols;
    const Array<T> a = random_values<T>(n, 1), b = random_values<T>(n, 2), dy = random_values<T>(n, 3);
    const Array<T> weight = random_values<T>(cols, 5), bias = random_values<T>(cols, 6);
    const DeviceArray<T> weight_there(weight), bias_there(bias), dy_there(dy);
    const Dropout dropout{11, counter, 0.3};
    Array<T> z(a.size()), y(a.size()), mean(static_cast<size_t>(rows)), rstd(mean), rms(mean);
    random<T>().dropout(n, dropout.seed, dropout.counter, dropout.p, b.data(), z.data());
    for (size_t i = 0; i < z.size(); ++i) z[i] += a[i];
    check_of_sum(
        "layer_norm_of_sum", 2 * n + 2 * rows, 1,
        [&](T* to) {
          std::copy(z.begin(), z.end(), to);
          norm<T>().layer_norm(rows, cols, z.data(), weight.data(), bias.data(), 1e-5, to + n, to + 2 * n,
                               to + 2 * n + rows);
        },
        [&](const T* first, const T* second, T* to) {
          norm<T>(kOnDevice).layer_norm_of_sum(rows, cols, {first, second, dropout, to}, weight_there.constant(),
                                               bias_there.constant(), 1e-5, to + n, to + 2 * n, to + 2 * n + rows);
        },
        a, b);
    check_of_sum(
        "rms_norm_of_sum", 2 * n + rows, 1,
        [&](T* to) {
          std::copy(z.begin(), z.end(), to);
          norm<T>().rms_norm(rows, cols, z.data(), nullptr, 1e-5, to + n, to + 2 * n);
        },
        [&](const T* first, const T* second, T* to) {
          norm<T>(kOnDevice).rms_norm_of_sum(rows, cols, {first, second, dropout, to}, nullptr, 1e-5, to + n,
                                             to + 2 * n);
        },
        a, b);
    norm<T>().layer_norm(rows, cols, z.data(), nullptr, nullptr, 1e-5, y.data(), mean.data(), rstd.data());
    norm<T>().rms_norm(rows, cols, z.data(), nullptr, 1e-5, y.data(), rms.data());
    const DeviceArray<T> mean_there(mean), rstd_there(rstd), rms_there(rms);
    const double size = std::sqrt(static_cast<double>(std::max(rows, cols)));
    for (const bool adds : {false, true}) {
      check_of_sum(
          "layer_norm_backward_in_parts", 2 * n + 2 * cols, size,
          [&](T* to) {
            norm<T>().layer_norm_backward(rows, cols, z.data(), weight.data(), mean.data(), rstd.data(), dy.data(),
                                          adds ? to : nullptr, to, to + 2 * n, to + 2 * n + cols);
            random<T>().dropout(n, dropout.seed, dropout.counter, dropout.p, to, to + n);
          },
          [&](const T* of, const T*, T* to) {
            const NormKernels<T>& k = norm<T>(kOnDevice);
            const DeviceArray<T> sums(static_cast<size_t>(2 * k.parts(rows, cols) * cols));
            k.layer_norm_backward_in_parts(rows, cols, of, weight_there.constant(), mean_there.constant(),
                                           rstd_there.constant(), dy_there.constant(), adds ? to : nullptr, to,
                                           {.dropout = dropout, .dropped = to + n, .sums = sums.get()});
            // As of two norms.
            const NormTotals<T> totals[] = {{sums.get(), to + 2 * n, nullptr},
                                            {sums.get(), nullptr, to + 2 * n + cols}};
            k.totals(k.parts(rows, cols), cols, 2, totals);
          },
          z, b);
      check_of_sum(
          "rms_norm_backward_in_parts", 2 * n + cols, size,
          [&](T* to) {
            norm<T>().rms_norm_backward(rows, cols, z.data(), weight.data(), rms.data(), dy.data(), adds ? to : nullptr,
                                        to, to + 2 * n);
            random<T>().dropout(n, dropout.seed, dropout.counter, dropout.p, to, to + n);
          },
          [&](const T* of, const T*, T* to) {
            const NormKernels<T>& k = norm<T>(kOnDevice);
            const DeviceArray<T> sums(static_cast<size_t>(2 * k.parts(rows, cols) * cols));
            k.rms_norm_backward_in_parts(rows, cols, of, weight_there.constant(), rms_there.constant(),
                                         dy_there.constant(), adds ? to : nullptr, to,
                                         {.dropout = dropout, .dropped = to + n, .sums = sums.get()});
            const NormTotals<T> totals{sums.get(), to + 2 * n, nullptr};
            k.totals(k.parts(rows, cols), cols, 1, &totals);
          },
          z, b);
    }
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
      for (const bool has_bias : {false, true}) {
        if (rows >= 400 && has_weight != has_bias) continue;  // takes long
        this->check_all(rows, cols, random_values<T>(rows * cols, 1), has_weight, has_bias);
      }
}

TYPED_TEST(CudaNorm, IsThatOfTheCpuForASumWithDropout) {
  const std::vector<std::pair<int64_t, int64_t>> shapes = {{9, 31}, {37, 4}, {300, 20}, {3, 1024}, {5, 1028}};
  for (const auto& [rows, cols] : shapes)
    for (const uint64_t counter : {uint64_t{0}, uint64_t{8}, uint64_t{3}}) this->check_sums(rows, cols, counter);
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
