#include "tools/bench_profile.h"

#include <algorithm>
#include <limits>
#include <ostream>
#include <vector>

#include <fmt/format.h>

#include "autograd/create.h"
#include "autograd/memory.h"
#include "autograd/ops/product/matmul.h"
#include "autograd/tape/scope.h"
#include "base/table.h"
#include "train/runs/progress.h"

namespace tape::tools {
namespace {

constexpr int kRounds = 6;

/// Time of the fastest of several runs, in seconds.
template <class Run>
double least_seconds(const Run& run) {
  double least = std::numeric_limits<double>::infinity();
  for (int round = 0; round < kRounds; ++round) {
    const double start = train::steady_seconds();
    run();
    synchronize(default_device());
    least = std::min(least, train::steady_seconds() - start);
  }
  return least;
}

/// y = y + x on arrays far larger than any cache.
double memory_rate() {
  constexpr int64_t kValues = 16 << 20;
  const Tensor x = ones({kValues});
  Tensor y = ones({kValues});
  const double least = least_seconds([&] { y.add_(x); });
  return 3 * static_cast<double>(kValues) * sizeof(float) / least / 1e9;
}

}  // namespace

double product_rate(int64_t m, int64_t n, int64_t k, MatmulPrecision precision) {
  const NoGrad no_grad;
  const MatmulPrecisionScope scope(precision);
  const Tensor x = ones({m, k}), w = ones({n, k});
  const double flops = 2 * static_cast<double>(m * n * k);
  const int64_t repeats = static_cast<int64_t>(3e9 / flops) + 1;
  const double least = least_seconds([&] {
    for (int64_t i = 0; i < repeats; ++i) linear(x, w);
  });
  return flops * static_cast<double>(repeats) / least / 1e9;
}

Peaks measure_peaks(MatmulPrecision precision) {
  return {.gflops = product_rate(2048, 512, 2048, precision), .gbytes = memory_rate()};
}

void print_profile(std::ostream& out, const Profile::Costs& costs, int64_t steps, const Peaks& peaks) {
  using Row = std::pair<Profile::Costs::key_type, Profile::Cost>;
  std::vector<Row> rows(costs.begin(), costs.end());
  std::sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a.second.seconds > b.second.seconds; });
  double total = 0;
  for (const auto& [key, cost] : rows) total += cost.seconds;
  const double each = 1 / static_cast<double>(steps);
  using enum TextTable::Align;
  TextTable table({{left, 42}, {right, 9}, {right, 8}, {right, 8}, {right, 10}, {right, 8}, {right, 9}}, "");
  table.add({"operation", "ms/step", "share", "calls", "GFLOP/s", "GB/s", "of peak"});
  for (const auto& [key, cost] : rows) {
    const char* pass = key.first == Profile::Pass::backward ? " backward" : "";
    const auto rate = [seconds = cost.seconds](double amount) {
      return amount > 0 ? fmt::format("{:.1f}", amount / seconds / 1e9) : "-";
    };
    const double of_peak = cost.flops > 0 ? cost.flops / peaks.gflops : cost.bytes / peaks.gbytes;
    const std::string part = of_peak > 0 ? fmt::format("{:.0f}%", 100 * of_peak / cost.seconds / 1e9) : "-";
    table.add({key.second + pass, fmt::format("{:.3f}", cost.seconds * each * 1e3),
               fmt::format("{:.1f}%", 100 * cost.seconds / total),
               fmt::format("{:.0f}", static_cast<double>(cost.calls) * each), rate(cost.flops), rate(cost.bytes),
               part});
  }
  table.add({"all", fmt::format("{:.3f}", total * each * 1e3)});
  out << table.text()
      << fmt::format("peaks measured here: {:.0f} GFLOP/s in products, {:.1f} GB/s of memory\n", peaks.gflops,
                     peaks.gbytes);
}

}  // namespace tape::tools
