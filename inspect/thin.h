#pragma once

#include <span>
#include <vector>

namespace tape::inspect {

/// Which of the points 0..n-1 to draw so that curves look as with all of them: the first and the last, and for each of
/// `buckets` stretches of equal length and each column the smallest and the largest value, NaN aside. All of them,
/// while that is not more. In ascending order.
///
/// columns: the curves, all of the same length n.
std::vector<size_t> thin(const std::vector<std::vector<double>>& columns, size_t buckets);

/// Up to `most` of the points 0..n-1, evenly spread, the first and the last among them.
std::vector<size_t> spread(size_t n, size_t most);

/// The mean of each value and its neighbours on both sides, weighted by 2^(-distance / half_life). NaN stays NaN and
/// counts for nothing.
std::vector<double> smoothed(std::span<const double> values, double half_life);

}  // namespace tape::inspect
