#pragma once

#include <cstdint>

#include "../runtime/common/isa.h"

namespace tape::kernels {

/// Scans of x [outer, size, inner] along its middle axis, from its first position or, `reverse`, from its last one.
/// What is carried along is kept in double.
template <class T>
struct ScanKernels {
  /// y[t] = x[0] + ... + x[t]
  void (*cumsum)(int64_t outer, int64_t size, int64_t inner, const T* x, T* y, bool reverse);
  /// y[t] = x[0] ... x[t]
  void (*cumprod)(int64_t outer, int64_t size, int64_t inner, const T* x, T* y);
  /// dx of cumprod, right also where values are zero: dx[t] = y[t - 1] g[t], g[t] = dy[t] + x[t + 1] g[t + 1].
  void (*cumprod_backward)(int64_t outer, int64_t size, int64_t inner, const T* x, const T* y, const T* dy, T* dx);
  /// y[t] = a[t] y[t - 1] + b[t]; a and b are [outer, size, inner].
  void (*linear)(int64_t outer, int64_t size, int64_t inner, const T* a, const T* b, T* y, bool reverse);
  /// y[t] = log(exp(x[0]) + ... + exp(x[t]))
  void (*logcumsumexp)(int64_t outer, int64_t size, int64_t inner, const T* x, T* y);
  /// dx[t] = exp(x[t] - y[t]) g[t], g[t] = dy[t] + exp(y[t] - y[t + 1]) g[t + 1]: no exponential is above 1.
  void (*logcumsumexp_backward)(int64_t outer, int64_t size, int64_t inner, const T* x, const T* y, const T* dy, T* dx);
  /// The largest (or least) so far and where it stands, of equal ones the last; a NaN stays.
  void (*cumulative_best)(int64_t outer, int64_t size, int64_t inner, const T* x, bool largest, T* values,
                          int64_t* index);
};
TAPE_KERNEL_TABLE(ScanKernels, scan)

}  // namespace tape::kernels
