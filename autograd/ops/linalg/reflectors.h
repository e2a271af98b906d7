#pragma once

#include "working.h"

namespace tape::linalg {

// Products of Householder's reflections as products of matrices, which are ours and shared among threads
// (kernels/product/common/gemm.h). A matrix has the same bits for any number of threads. T is float or double.

/// So many at once.
inline constexpr int64_t kReflectorBlock = 32;

/// H_0 ... H_(count - 1) = I - Vᵀ T V, H_i = I - tau_i v_iᵀ v_i, with rows v_i = [0, ..., 0, 1, tail]. T is never made
/// (Puglisi 1992, Modification of the Householder method based on the compact WY representation): T⁻¹ is diag(1 / tau)
/// and, above the diagonal, V Vᵀ. Where tau_i is 0, H_i is I.
template <class T>
class ReflectorBlock {
 public:
  /// Of what ReflectorKernels::factor() left in rows of x, `stride` apart; count is kReflectorBlock at most.
  ReflectorBlock(int64_t count, int64_t length, const T* x, int64_t stride, const T* tau);
  /// Each row c of x [rows, length], `stride` apart, becomes H_0 ... H_(count - 1) c, or H_(count - 1) ... H_0 c.
  void apply(bool reversed, int64_t rows, T* x, int64_t stride) const;

 private:
  int64_t count_, length_;
  Working<T> v_, negative_inverse_;
};

/// Column-major a [m, n] = Q R: R in its upper triangle, reflectors below it; q [m, columns], columns >= min(m, n), are
/// the first columns of Q.
template <class T>
void qr_in_blocks(int64_t m, int64_t n, int64_t columns, T* a, T* q);

/// Each row c of x [rows, n], `stride` apart, becomes Q c, Q the product of `count` reflectors whose tails stand in
/// rows of v, `v_stride` apart, each one place further right than the one above.
template <class T>
void apply_reflectors(int64_t count, int64_t n, const T* v, int64_t v_stride, const T* tau, int64_t rows, T* x,
                      int64_t stride);

}  // namespace tape::linalg
