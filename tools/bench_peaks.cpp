#include "tools/bench_peaks.h"

#include <algorithm>
#include <limits>

#include "autograd/create.h"
#include "autograd/kernels/elementwise/elementwise.h"
#include "autograd/kernels/product/common/gemm.h"
#include "train/runs/progress.h"

namespace tape::tools {
namespace {

constexpr int kRounds = 6;

/// The fastest of several runs, in seconds.
template <class Run>
double least_seconds(const Run& run) {
  double least = std::numeric_limits<double>::infinity();
  for (int round = 0; round < kRounds; ++round) {
    const double start = train::steady_seconds();
    run();
    least = std::min(least, train::steady_seconds() - start);
  }
  return least;
}

/// y = y + x of arrays far larger than any cache.
double memory_rate() {
  constexpr int64_t kValues = 16 << 20;
  const Tensor x = ones({kValues});
  Tensor y = ones({kValues});
  const double least = least_seconds(
      [&] { kernels::elementwise<float>().accumulate(kValues, x.data<float>(), 1, y.mutable_data<float>()); });
  return 3 * static_cast<double>(kValues) * sizeof(float) / least / 1e9;
}

}  // namespace

double product_rate(int64_t m, int64_t n, int64_t k, MatmulPrecision precision) {
  const Tensor x = ones({m, k}), w = ones({n, k});
  Tensor y = empty({m, n});
  const kernels::Gemm gemm{
      .transpose_b = true, .m = m, .n = n, .k = k, .lda = k, .ldb = k, .ldc = n, .precision = precision};
  const double flops = 2 * static_cast<double>(m * n * k);
  const int64_t repeats = static_cast<int64_t>(3e9 / flops) + 1;
  const double least = least_seconds([&] {
    for (int64_t i = 0; i < repeats; ++i)
      kernels::gemm(gemm, x.data<float>(), w.data<float>(), y.mutable_data<float>());
  });
  return flops * static_cast<double>(repeats) / least / 1e9;
}

Peaks measure_peaks(MatmulPrecision precision) {
  return {.gflops = product_rate(2048, 512, 2048, precision), .gbytes = memory_rate()};
}

}  // namespace tape::tools
