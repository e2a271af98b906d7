#pragma once

#include <cstdint>

#include "../product/matmul_precision.h"
#include "../runtime/common/isa.h"

namespace tape::kernels {

/// Where the [B, H, T, D] elements of an operand lie: element (b, h, t, d) at b*batch + h*head + t*row + d.
/// [B, H, T, D] in memory and [B, T, H*D] in memory are both of this form, so heads need no transposed copy.
struct HeadLayout {
  int64_t batch = 0, head = 0, row = 0;
};

/// The causal offset of attention that is not causal: large enough to hide nothing; and, negative, the first offset of
/// attention without a window.
inline constexpr int64_t kNotCausal = INT64_MAX / 2;

/// softmax(scale * q k^T + additive, hidden where not kept) with dropout, times v (Vaswani et al. 2017, 3.2.1), for
/// each of B*H pairs, in blocks of queries so that no [B, H, Tq, Tk] tensor is stored. Of the keys, a block of queries
/// reads those that its causal offset and its window let it see, from the first to the last that is kept for any of
/// them: the work is O(Tq (window + block)), or O(Tq (document + block)) for documents in one row.
struct AttentionShape {
  int64_t B = 0, H = 0, Tq = 0, Tk = 0, D = 0, Dv = 0;
  HeadLayout q, k, v, out;  // gradients have the layout of their values
  double scale = 1;
  /// Query i sees keys i + first_offset <= j <= i + causal_offset; both in [-kNotCausal, kNotCausal].
  int64_t causal_offset = kNotCausal;
  /// Strides in elements, 0 where repeated, with which the masks fill [B, H, Tq, Tk].
  int64_t keep_strides[4] = {}, additive_strides[4] = {};
  /// Of the products of floats, at least.
  MatmulPrecision precision = MatmulPrecision::highest;
  double dropout = 0;
  uint64_t seed = 0, counter = 0;  // the element (b, h, i, j) draws at counter + its row-major index
  int64_t first_offset = -kNotCausal;
  /// Query heads that share a head of keys and values: k, v and their gradients are [B, H / group, Tk, D].
  int64_t group = 1;
};

/// Queries that share keys, up to which packing the keys takes longer than it saves: a decoder's next token (Zen 4, 8
/// heads of 2,048 keys of width 64: 97 microseconds, with packed keys 273). They read keys and values where these lie.
inline constexpr int64_t kFewQueries = 4;

/// What both passes read.
template <class T>
struct AttentionOperands {
  const T* q;                   ///< [B, H, Tq, D], as shape.q lays it out
  const T* k;                   ///< [B, H / group, Tk, D], as shape.k
  const T* v;                   ///< [B, H / group, Tk, Dv], as shape.v
  const bool* keep = nullptr;   ///< by shape.keep_strides; null hides nothing
  const T* additive = nullptr;  ///< by shape.additive_strides; null adds nothing
  /// Where not null: key and value j of batch element b are those of element rows[b * rows_stride + j] of k and v,
  /// which may have any number of elements. For the forward pass of at most kFewQueries queries a head of keys alone.
  const int64_t* rows = nullptr;
  int64_t rows_stride = 0;
};

/// What the forward pass writes, all of it.
template <class T>
struct AttentionResults {
  T* out;  ///< [B, H, Tq, Dv], as shape.out lays it out; zero where a query sees no key
  /// [B, H, Tq], of the visible scores of each row: the highest, and 1 / sum of exp(score - highest); 0 and 0 for a
  /// row that sees no key. Any pair of which probabilities are exp(score - highest) * inverse will do for backward.
  Sum<T>* highest;
  Sum<T>* inverse;
  T* probabilities = nullptr;  ///< [B, H, Tq, Tk], before dropout; not written where null
};

/// What the backward pass reads besides the operands, and the gradients that it writes: those that are not null.
template <class T>
struct AttentionGradients {
  const Sum<T>* highest;              ///< as the forward pass wrote them
  const Sum<T>* inverse;              ///< as the forward pass wrote them
  const T* dout;                      ///< as shape.out lays it out
  const T* dprobabilities = nullptr;  ///< [B, H, Tq, Tk] contiguous; null for none
  T* dq = nullptr;                    ///< as shape.q lays it out; dk and dv likewise, summed over a group
  T* dk = nullptr;
  T* dv = nullptr;
  T* dadditive = nullptr;  ///< [B, H, Tq, Tk] contiguous; the caller reduces it
};

template <class T>
struct AttentionKernels {
  void (*forward)(const AttentionShape& shape, const AttentionOperands<T>& in, const AttentionResults<T>& to);
  void (*backward)(const AttentionShape& shape, const AttentionOperands<T>& in, const AttentionGradients<T>& gradients);
};
/// Those of exact products.
TAPE_KERNEL_TABLE(AttentionKernels, attention)
}  // namespace tape::kernels
