#pragma once

#include <span>
#include <vector>

namespace tape::inspect {

/// Returns, in ascending order, which of the points 0..n-1 to draw so that the curves look unchanged: the first and the
/// last, and for each of `buckets` equal intervals the minimum and the maximum of each column, ignoring NaN. Returns
/// all points if that is not more.
///
/// columns: the curves, all of the same length n.
std::vector<size_t> thin(const std::vector<std::vector<double>>& columns, size_t buckets);

/// Returns up to `most` of the points 0..n-1, evenly spaced, including the first and the last.
std::vector<size_t> evenly_spaced(size_t n, size_t most);

/// Returns the mean of each value and its neighbors on both sides, weighted by 2^(-distance / half_life). NaN stays NaN
/// and is ignored in the means of others.
std::vector<double> smoothed(std::span<const double> values, double half_life);

}  // namespace tape::inspect
