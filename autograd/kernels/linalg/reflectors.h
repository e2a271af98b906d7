#pragma once

#include <cstdint>

#include "../runtime/common/isa.h"

namespace tape::kernels {

/// Householder's reflections H = I - tau vᵀ v, v a row [0, ..., 0, 1, tail], on the thread that calls.
template <class T>
struct ReflectorKernels {
  /// Rows i of x [count, length], `stride` apart, times H_0 ... H_i, from which what is right of the diagonal is gone;
  /// in its place stands v's tail. tau [count] is 0 where nothing was there (LAPACK's gelqf on row-major x, its geqrf
  /// on column-major).
  void (*factor)(int64_t count, int64_t length, T* x, int64_t stride, T* tau);
  /// Each row c of x [rows, length], `stride` apart, becomes H_0 ... H_(count - 1) c: by loops for a few short ones,
  /// whose tails stand in rows of v, `v_stride` apart.
  void (*apply)(int64_t count, int64_t length, const T* v, int64_t v_stride, const T* tau, int64_t rows, T* x,
                int64_t stride);
};
TAPE_KERNEL_TABLE(ReflectorKernels, reflectors)

}  // namespace tape::kernels
