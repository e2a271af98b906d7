#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

// Shapes for tests of reductions and scans over the middle axis of [outer, size, inner].
namespace tape::kernels::testing {

struct Shape {
  int64_t outer, size, inner;
  int64_t count() const { return outer * size * inner; }
};
inline const Shape kShapes[] = {{1, 1, 1},    {1, 7, 1}, {3, 16, 1}, {5, 33, 1},   {2, 513, 1},    {1, 70001, 1},
                                {700, 65, 1}, {1, 5, 4}, {3, 7, 17}, {2, 100, 33}, {1, 3001, 257}, {1, 20000, 3},
                                {9, 3, 1000}, {0, 3, 2}, {2, 3, 0},  {4, 40000, 1}};
/// Magnitude that partial sums of random terms reach, even if the total is near zero.
inline double spread(const Shape& s) { return 1 + std::sqrt(static_cast<double>(s.size)); }
inline size_t at(const Shape& s, int64_t o, int64_t i, int64_t n) {
  return static_cast<size_t>((o * s.size + i) * s.inner + n);
}

}  // namespace tape::kernels::testing
