#pragma once

#include <cstdint>

#include "isa.h"

namespace tape::kernels {

/// Where the [B, H, T, D] elements of an operand lie: element (b, h, t, d) at b*batch + h*head + t*row + d.
/// [B, H, T, D] in memory and [B, T, H*D] in memory are both of this form, so heads need no transposed copy.
struct HeadLayout {
  int64_t batch = 0, head = 0, row = 0;
};

/// softmax(scale * q k^T + additive, hidden where not kept) with dropout, times v (Vaswani et al. 2017, 3.2.1), for
/// each of B*H pairs, in blocks of queries so that no [B, H, Tq, Tk] tensor is stored.
struct AttentionShape {
  int64_t B = 0, H = 0, Tq = 0, Tk = 0, D = 0, Dv = 0;
  HeadLayout q, k, v, out;  // gradients have the layout of their values
  double scale = 1;
  /// Query i sees keys j <= i + causal_offset; a huge offset hides nothing.
  int64_t causal_offset = INT64_MAX / 2;
  /// keep [B, H, Tq, Tk] by strides in elements (0 where repeated); null keep hides nothing.
  int64_t keep_strides[4] = {};
  /// additive scores [B, H, Tq, Tk], by strides likewise.
  int64_t additive_strides[4] = {};
  double dropout = 0;
  uint64_t seed = 0, counter = 0;  // the element (b, h, i, j) draws at counter + its row-major index
};

template <class T>
struct AttentionKernels {
  /// lse [B, H, Tq]: log-sum-exp of each row's visible scores (-inf for a fully hidden row, whose output is zero).
  /// probabilities [B, H, Tq, Tk] is written (before dropout) where it is not null.
  void (*forward)(const AttentionShape& shape, const T* q, const T* k, const T* v, const bool* keep, const T* additive,
                  T* out, T* lse, T* probabilities);
  /// Gradients from dout (layout of out) and, where not null, dprobabilities [B, H, Tq, Tk] contiguous.
  /// dq, dk, dv are overwritten. dadditive, where not null, is [B, H, Tq, Tk] contiguous (the caller reduces it).
  void (*backward)(const AttentionShape& shape, const T* q, const T* k, const T* v, const bool* keep, const T* additive,
                   const T* lse, const T* dout, const T* dprobabilities, T* dq, T* dk, T* dv, T* dadditive);
};
TAPE_KERNEL_TABLE(AttentionKernels, attention)
}  // namespace tape::kernels
