#pragma once

#include <cstdint>

namespace tape::kernels {

// LAPACK's results in its formats, without what a call of it costs: column-major matrices of at most kSmallMatrix rows
// and columns, by plain loops. T is float or double.

inline constexpr int64_t kSmallMatrix = 16;

/// a [m, n] = Q R: R in the upper triangle of a, and Q [m, columns], columns >= min(m, n) (geqrf, orgqr).
template <class T>
void small_qr(int64_t m, int64_t n, int64_t columns, T* a, T* q);

}  // namespace tape::kernels
