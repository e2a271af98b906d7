#include "autograd/kernels/linalg/common/small_matrices.h"

#include <algorithm>
#include <cmath>

namespace tape::kernels {
namespace {

/// The length of x, also where squares would be too large or too small.
template <class T>
T length(int64_t n, const T* x) {
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  if (sum > 1e-280 && sum < 1e280) return static_cast<T>(std::sqrt(sum));
  double largest = 0;
  for (int64_t i = 0; i < n; ++i) largest = std::max(largest, static_cast<double>(std::abs(x[i])));
  if (largest == 0) return 0;
  sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += static_cast<double>(x[i]) / largest * (static_cast<double>(x[i]) / largest);
  return static_cast<T>(largest * std::sqrt(sum));
}

/// x = (I - tau v vᵀ) x, v = [1, tail].
template <class T>
void reflect(int64_t n, const T* tail, T tau, T* x) {
  T sum = x[0];
  for (int64_t i = 1; i < n; ++i) sum += tail[i - 1] * x[i];
  sum *= tau;
  x[0] -= sum;
  for (int64_t i = 1; i < n; ++i) x[i] -= sum * tail[i - 1];
}

/// Turns x into [beta, tail of v] with (I - tau v vᵀ) x = [beta, 0, ...] and gives tau (larfg).
template <class T>
T reflector(int64_t n, T* x) {
  const T rest = length(n - 1, x + 1);
  if (rest == 0) return 0;
  const T beta = -std::copysign(std::hypot(x[0], rest), x[0]), tau = (beta - x[0]) / beta, head = x[0] - beta;
  for (int64_t i = 1; i < n; ++i) x[i] /= head;
  x[0] = beta;
  return tau;
}
}  // namespace

template <class T>
void small_qr(int64_t m, int64_t n, int64_t columns, T* a, T* q) {
  const int64_t k = std::min(m, n);
  T tau[kSmallMatrix];
  for (int64_t i = 0; i < k; ++i) {
    T* const own = a + i * m + i;
    tau[i] = reflector(m - i, own);
    for (int64_t j = i + 1; j < n; ++j) reflect(m - i, own + 1, tau[i], a + j * m + i);
  }
  std::fill(q, q + m * columns, T(0));
  for (int64_t j = 0; j < columns; ++j) q[j * m + j] = 1;
  for (int64_t i = k - 1; i >= 0; --i)
    for (int64_t j = i; j < columns; ++j) reflect(m - i, a + i * m + i + 1, tau[i], q + j * m + i);
}

template void small_qr(int64_t, int64_t, int64_t, float*, float*);
template void small_qr(int64_t, int64_t, int64_t, double*, double*);

}  // namespace tape::kernels
