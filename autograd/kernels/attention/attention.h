#pragma once

#include <algorithm>
#include <cstdint>

#include "../product/matmul_precision.h"
#include "../runtime/common/isa.h"

namespace tape::kernels {

/// Memory layout of a [B, H, T, D] operand: element (b, h, t, d) is at b*batch + h*head + t*row + d. Covers both [B, H,
/// T, D] and [B, T, H*D] in memory, so heads need no transposed copy.
struct HeadLayout {
  int64_t batch = 0, head = 0, row = 0;
};

/// Causal offset of non-causal attention, large enough to hide nothing; negated, the first offset without a window.
inline constexpr int64_t kNotCausal = INT64_MAX / 2;

/// Scaled dot-product attention: softmax(scale * q k^T + additive, masked by keep) with dropout, times v (Vaswani et
/// al. 2017, 3.2.1), for each of B*H pairs. Works in blocks of queries, so that no [B, H, Tq, Tk] tensor is stored. A
/// block only reads the keys between the first and the last that its causal offset, window and keep mask show to any of
/// its queries: the work is O(Tq (window + block)), or O(Tq (document + block)) for documents packed into one row.
struct AttentionShape {
  int64_t B = 0, H = 0, Tq = 0, Tk = 0, D = 0, Dv = 0;
  HeadLayout q, k, v, out;  // gradients have the same layouts
  double scale = 1;
  /// Query i sees keys i + first_offset <= j <= i + causal_offset; both in [-kNotCausal, kNotCausal].
  int64_t causal_offset = kNotCausal;
  /// Element strides of the masks over [B, H, Tq, Tk]; 0 along broadcast axes.
  int64_t keep_strides[4] = {}, additive_strides[4] = {};
  /// Minimum precision of f32 products.
  MatmulPrecision precision = MatmulPrecision::highest;
  double dropout = 0;
  uint64_t seed = 0, counter = 0;  // element (b, h, i, j) draws at counter + its row-major index
  int64_t first_offset = -kNotCausal;
  /// Number of query heads per key and value head: k, v and their gradients are [B, H / group, Tk, D].
  int64_t group = 1;
};

/// Up to this many queries per key head (a decoder's next token), keys and values are read in place, because packing
/// them would cost more than it saves (Zen 4, 8 heads of 2,048 keys of width 64: 97 microseconds, 273 with packed
/// keys).
inline constexpr int64_t kFewQueries = 4;

/// Inputs of both passes.
template <class T>
struct AttentionOperands {
  const T* q;                   ///< [B, H, Tq, D], with layout shape.q
  const T* k;                   ///< [B, H / group, Tk, D], with layout shape.k
  const T* v;                   ///< [B, H / group, Tk, Dv], with layout shape.v
  const bool* keep = nullptr;   ///< with shape.keep_strides; null hides nothing
  const T* additive = nullptr;  ///< with shape.additive_strides; null adds nothing
  /// If not null, key and value j of batch element b are read from batch element rows[b * rows_stride + j] of k and v,
  /// which may have any batch size. Only for a forward pass with at most kFewQueries queries per key head.
  const int64_t* rows = nullptr;
  int64_t rows_stride = 0;
};

/// Outputs of the forward pass.
template <class T>
struct AttentionResults {
  T* out;  ///< [B, H, Tq, Dv], with layout shape.out; zero where a query sees no key
  /// [B, H, Tq]: the maximum of each row's visible scores, and 1 / sum of exp(score - maximum); 0 and 0 for a row that
  /// sees no key. The backward accepts any pair for which the probabilities are exp(score - highest) * inverse.
  Sum<T>* highest;
  Sum<T>* inverse;
  T* probabilities = nullptr;  ///< [B, H, Tq, Tk], before dropout; not written if null
  /// Whether a backward pass will read highest and inverse. Kernels for f32 then sum scores in the same order
  /// as their backward pass; otherwise large scores would be rounded differently, and the probabilities
  /// exp(score - highest) * inverse would not sum to 1.
  bool for_backward = true;
};

/// Additional inputs of the backward pass, and the gradients it writes, skipping null ones.
template <class T>
struct AttentionGradients {
  const Sum<T>* highest;              ///< from the forward pass
  const Sum<T>* inverse;              ///< from the forward pass
  const T* dout;                      ///< with layout shape.out
  const T* dprobabilities = nullptr;  ///< [B, H, Tq, Tk] contiguous, or null
  T* dq = nullptr;                    ///< with layout shape.q; dk and dv likewise, summed over a group
  T* dk = nullptr;
  T* dv = nullptr;
  T* dadditive = nullptr;  ///< [B, H, Tq, Tk] contiguous; the caller reduces it
  /// The output of the forward pass, which kernels for bf16 read; others sum the same from the probabilities.
  const T* out = nullptr;
};

template <class T>
struct AttentionKernels {
  void (*forward)(const AttentionShape& shape, const AttentionOperands<T>& in, const AttentionResults<T>& to);
  void (*backward)(const AttentionShape& shape, const AttentionOperands<T>& in, const AttentionGradients<T>& gradients);
};
/// Kernels with exact products.
TAPE_KERNEL_TABLE(AttentionKernels, attention)
/// Kernels for calls that has_bf16_attention() accepts, without additive mask, probabilities and their gradients, and
/// with rows of a cache only for the forward pass of up to kFewQueries. Products are of bf16 with sums in f32; with
/// more queries, the probabilities are rounded to bf16 before the second one.
TAPE_BF16_TABLE(AttentionKernels, attention)

/// Whether the kernels for bf16 take a shape: widths that are multiples of 8 up to 128, and rows aligned to 16 bytes.
inline bool has_bf16_attention(const AttentionShape& s) {
  constexpr int64_t kMostWidth = 128, kAligned = 8;
  constexpr int64_t kMost = INT64_C(1) << 29;  // so that kernels count positions with 32 bits
  const auto fits = [](const HeadLayout& layout, int64_t width) {
    return width > 0 && width <= kMostWidth && width % kAligned == 0 && layout.batch % kAligned == 0 &&
           layout.head % kAligned == 0 && layout.row % kAligned == 0 && layout.row <= kMost;
  };
  return std::max(s.Tq, s.Tk) <= kMost && fits(s.q, s.D) && fits(s.k, s.D) && fits(s.v, s.Dv) && fits(s.out, s.Dv);
}
}  // namespace tape::kernels
