#include "tools/bench_profile.h"

#include <algorithm>
#include <ostream>
#include <vector>

#include <fmt/format.h>

#include "base/table.h"

namespace tape::tools {

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
