#include "tools/bench/bench_profile.h"

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

template <class Run>
double seconds_of(const Run& run) {
  const double start = train::steady_seconds();
  run();
  synchronize(default_device());
  return train::steady_seconds() - start;
}

/// Time of the fastest of several runs, in seconds.
template <class Run>
double least_seconds(const Run& run) {
  constexpr int kRounds = 6;
  double least = std::numeric_limits<double>::infinity();
  for (int round = 0; round < kRounds; ++round) least = std::min(least, seconds_of(run));
  return least;
}

/// y = y + x on arrays of this number of values, in GB/s.
double memory_rate(int64_t values) {
  const Tensor x = ones({values});
  Tensor y = ones({values});
  const double least = least_seconds([&] { y.add_(x); });
  return 3 * static_cast<double>(values) * sizeof(float) / least / 1e9;
}

}  // namespace

double product_rate(int64_t m, int64_t n, int64_t k, MatmulPrecision precision) {
  const NoGrad no_grad;
  const MatmulPrecisionScope scope(precision);
  // Activations of a GPU are bf16 then, and need no conversion.
  const bool is_bf16 = precision == MatmulPrecision::medium && default_device().is_cuda();
  const Tensor x = ones({m, k}, is_bf16 ? bf16 : f32), w = ones({n, k});
  const double flops = 2 * static_cast<double>(m * n * k);
  // As many as take a while, unless one does.
  const bool is_long = seconds_of([&] { linear(x, w); }) > 0.05;
  const int64_t repeats = is_long ? 1 : static_cast<int64_t>(3e9 / flops) + 1;
  const double least = least_seconds([&] {
    for (int64_t i = 0; i < repeats; ++i) linear(x, w);
  });
  return flops * static_cast<double>(repeats) / least / 1e9;
}

Peaks measure_peaks(MatmulPrecision precision) {
  if (default_device().is_cpu())
    return {.gflops = product_rate(2048, 512, 2048, precision), .gbytes = memory_rate(16 << 20)};
  // A GPU gets more to do until launching it takes a small part of the time.
  constexpr double kNanoseconds = 5e5;
  Peaks peaks;
  int64_t n = 256, values = 1 << 20;
  while (n <= 8192) {
    peaks.gflops = product_rate(n, n, n, precision);
    if (2 * static_cast<double>(n * n * n) >= kNanoseconds * peaks.gflops) break;
    n *= 2;
  }
  while (values <= 256 << 20) {
    peaks.gbytes = memory_rate(values);
    if (3 * sizeof(float) * static_cast<double>(values) >= kNanoseconds * peaks.gbytes) break;
    values *= 2;
  }
  return peaks;
}

void print_profile(std::ostream& out, Device device, const Profile::Costs& costs, int64_t steps, const Peaks& peaks) {
  using Row = std::pair<Profile::Costs::key_type, Profile::Cost>;
  std::vector<Row> rows(costs.begin(), costs.end());
  std::sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a.second.seconds > b.second.seconds; });
  double total = 0, of_host = 0;
  for (const auto& [key, cost] : rows) total += cost.seconds, of_host += cost.host_seconds;
  const bool gpu = device.is_cuda();
  const double each = 1 / static_cast<double>(steps), unit = gpu ? 1e12 : 1e9;
  const char* const unit_name = gpu ? "TFLOP/s" : "GFLOP/s";
  const auto milliseconds = [each](double seconds) { return fmt::format("{:.3f}", seconds * each * 1e3); };
  using enum TextTable::Align;
  TextTable table({{left, 42},
                   {right, gpu ? 13 : 9},
                   {right, 8},
                   {right, 8},
                   {right, 10},
                   {right, 8},
                   {right, 9},
                   {right, gpu ? 14 : 0}},
                  "");
  table.add({"operation", gpu ? "GPU ms/step" : "ms/step", "share", "calls", unit_name, "GB/s", "of peak",
             gpu ? "host ms/step" : ""});
  for (const auto& [key, cost] : rows) {
    const char* pass = key.first == Profile::Pass::backward ? " backward" : "";
    const auto rate = [seconds = cost.seconds](double amount) {
      return amount > 0 && seconds > 0 ? fmt::format("{:.1f}", amount / seconds) : "-";
    };
    const double of_peak = cost.flops > 0 ? cost.flops / peaks.gflops : cost.bytes / peaks.gbytes;
    const std::string part =
        of_peak > 0 && cost.seconds > 0 ? fmt::format("{:.0f}%", 100 * of_peak / cost.seconds / 1e9) : "-";
    table.add({key.second + pass, milliseconds(cost.seconds), fmt::format("{:.1f}%", 100 * cost.seconds / total),
               fmt::format("{:.0f}", static_cast<double>(cost.calls) * each), rate(cost.flops / unit),
               // A GPU's products are not bound by memory, and may read copies in bf16.
               rate(gpu && cost.flops > 0 ? 0 : cost.bytes / 1e9), part, gpu ? milliseconds(cost.host_seconds) : ""});
  }
  table.add({"all", milliseconds(total), "", "", "", "", "", gpu ? milliseconds(of_host) : ""});
  out << table.text()
      << fmt::format("peaks measured here: {:.0f} {} in products, {:.1f} GB/s of memory\n", peaks.gflops * 1e9 / unit,
                     unit_name, peaks.gbytes);
}

}  // namespace tape::tools
