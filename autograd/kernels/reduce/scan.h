#pragma once

#include <cstdint>

#include "../runtime/common/isa.h"

namespace tape::kernels {

/// Scans of x [outer, size, inner] along its middle axis, from the first position or, with `reverse`, from the last
/// one. The running state is kept in double.
template <class T>
struct ScanKernels {
  /// y[t] = x[0] + ... + x[t]
  void (*cumsum)(int64_t outer, int64_t size, int64_t inner, const T* x, T* y, bool reverse);
  /// y[t] = x[0] ... x[t]
  void (*cumprod)(int64_t outer, int64_t size, int64_t inner, const T* x, T* y);
  /// dx of cumprod, also correct for zeros: dx[t] = y[t - 1] g[t], g[t] = dy[t] + x[t + 1] g[t + 1].
  void (*cumprod_backward)(int64_t outer, int64_t size, int64_t inner, const T* x, const T* y, const T* dy, T* dx);
  /// y[t] = a[t] y[t - 1] + b[t]; a and b are [outer, size, inner].
  void (*linear)(int64_t outer, int64_t size, int64_t inner, const T* a, const T* b, T* y, bool reverse);
  /// y[t] = log(exp(x[0]) + ... + exp(x[t]))
  void (*logcumsumexp)(int64_t outer, int64_t size, int64_t inner, const T* x, T* y);
  /// dx[t] = exp(x[t] - y[t]) g[t], g[t] = dy[t] + exp(y[t] - y[t + 1]) g[t + 1]: no exponential exceeds 1.
  void (*logcumsumexp_backward)(int64_t outer, int64_t size, int64_t inner, const T* x, const T* y, const T* dy, T* dx);
  /// The maximum (or minimum) so far and its index, the last of equal ones; a NaN persists.
  void (*cumulative_extremum)(int64_t outer, int64_t size, int64_t inner, const T* x, bool largest, T* values,
                              int64_t* index);
};
TAPE_KERNEL_TABLE(ScanKernels, scan)

}  // namespace tape::kernels
