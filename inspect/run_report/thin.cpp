#include "inspect/run_report/thin.h"

#include <algorithm>
#include <cmath>

namespace tape::inspect {

std::vector<size_t> thin(const std::vector<std::vector<double>>& columns, size_t buckets) {
  const size_t n = columns.empty() ? 0 : columns.front().size();
  std::vector<size_t> kept;
  if (n <= 2 * buckets * columns.size() + 2) {
    for (size_t i = 0; i < n; ++i) kept.push_back(i);
    return kept;
  }
  kept = {0, n - 1};
  for (size_t bucket = 0; bucket < buckets; ++bucket) {
    const size_t begin = n * bucket / buckets, end = n * (bucket + 1) / buckets;
    for (const std::vector<double>& column : columns) {
      size_t low = end, high = end;
      for (size_t i = begin; i < end; ++i) {
        if (std::isnan(column[i])) continue;
        if (low == end || column[i] < column[low]) low = i;
        if (high == end || column[i] > column[high]) high = i;
      }
      if (low != end) kept.insert(kept.end(), {low, high});
    }
  }
  std::ranges::sort(kept);
  kept.erase(std::unique(kept.begin(), kept.end()), kept.end());
  return kept;
}

std::vector<size_t> evenly_spaced(size_t n, size_t most) {
  std::vector<size_t> kept;
  const size_t count = std::min(n, most);
  for (size_t i = 0; i < count; ++i) kept.push_back(count == 1 ? n - 1 : i * (n - 1) / (count - 1));
  return kept;
}

std::vector<double> smoothed(std::span<const double> values, double half_life) {
  const double keep = std::exp2(-1 / half_life);
  // Weighted sums over earlier and later values; each value itself is added at the end.
  std::vector<double> sums(values.size()), weights(values.size());
  const auto gather = [&](size_t i, double& sum, double& weight) {
    sums[i] += sum;
    weights[i] += weight;
    const bool counts = !std::isnan(values[i]);
    sum = keep * (sum + (counts ? values[i] : 0));
    weight = keep * (weight + (counts ? 1 : 0));
  };
  double sum = 0, weight = 0;
  for (size_t i = 0; i < values.size(); ++i) gather(i, sum, weight);
  sum = weight = 0;
  for (size_t i = values.size(); i-- > 0;) gather(i, sum, weight);
  std::vector<double> means;
  for (size_t i = 0; i < values.size(); ++i) means.push_back((sums[i] + values[i]) / (weights[i] + 1));
  return means;
}

}  // namespace tape::inspect
