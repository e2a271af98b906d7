// Kernels of AttentionKernels (autograd/kernels/attention/attention.h): the forward pass. A block computes some columns
// of the outputs of a tile's queries in one pass over their keys, with the maximum and the sum of exponentials so far
// (Dao 2023, FlashAttention-2, algorithm 1).
#include "attention_scores.h"

namespace {

template <class T, int R>
__device__ void attention_forward(AttentionShape s, AttentionOperands<T> in, AttentionResults<T> to) {
  constexpr int kEdge = kSide * R;
  __shared__ TileMemory<T, R> memory;
  const BlockPlace at(blockIdx.x, s.B * s.H, s.Tq, kEdge);
  const Head head(s, at.head);
  const HeadScores<T, R> scores(s, head, in);
  const KeyRows<T> v = key_rows(s, head, in, in.v, s.v);
  const AttentionDropout<T> dropout(s);
  const int width = at.columns_of(s.Dv);
  // The last queries, which see most keys under a causal mask, come first.
  const int64_t i0 = (at.blocks - 1 - at.block) * kEdge;
  const Positions keys = keys_of_queries(s, i0, kEdge);
  T highest[R], sum[R], out[R][kOutputs];
  for (int i = 0; i < R; ++i) {
    highest[i] = -INFINITY;
    sum[i] = 0;
    for (int c = 0; c < kOutputs; ++c) out[i][c] = 0;
  }
  for (int64_t j0 = keys.begin / kEdge * kEdge; j0 < keys.end; j0 += kEdge) {
    const uint32_t visible = scores.visible(i0, j0);
    if (!__syncthreads_or(visible != 0)) continue;
    T p[R][R];
    scores.compute(memory, visible, i0, j0, p);
    const uint32_t kept = scores.kept(dropout, i0, j0);
    for (int i = 0; i < R; ++i) {
      T most = highest[i], part = 0;
      for (int j = 0; j < R; ++j) most = max(most, p[i][j]);
      most = over_tile_row(most, Larger());
      const T base = finite_or_zero(most), shrink = exp_of_negative(highest[i] - base);
      highest[i] = most;
      for (int j = 0; j < R; ++j) {
        const T e = exp_of_negative(p[i][j] - base);
        part += e;
        memory.scores[tile_y() + kSide * i][tile_x() + kSide * j] =
            kept >> (i * R + j) & 1 ? e * dropout.factor() : T(0);
      }
      sum[i] = sum[i] * shrink + part;
      for (int c = 0; c < kOutputs; ++c) out[i][c] *= shrink;
    }
    const int count = static_cast<int>(min(static_cast<int64_t>(kEdge), s.Tk - j0));
    add_tile_product<TileRows::rows>(
        memory, count, width, [&](int t) { return v(j0 + t) + at.column; }, out);
  }
  for (int i = 0; i < R; ++i) {
    const T total = over_tile_row(sum[i], Add());
    const T inverse = total == 0 ? T(0) : 1 / total;
    const int64_t query = i0 + tile_y() + kSide * i;
    if (query >= s.Tq) continue;
    T* const row = to.out + head.at(s.out) + query * s.out.row + at.column;
    for (int c = 0; c < kOutputs; ++c) {
      const int column = tile_x() + kSide * c;
      if (column < width) row[column] = out[i][c] * inverse;
    }
    if (at.column == 0 && tile_x() == 0) {
      to.highest[head.row(s, query)] = finite_or_zero(highest[i]);
      to.inverse[head.row(s, query)] = inverse;
    }
  }
}

/// Probabilities before dropout, a tile per block.
template <class T, int R>
__device__ void attention_probabilities(AttentionShape s, AttentionOperands<T> in, AttentionResults<T> to) {
  constexpr int kEdge = kSide * R;
  __shared__ TileMemory<T, R> memory;
  const int64_t tiles = (s.Tk + kEdge - 1) / kEdge;
  const BlockPlace at(blockIdx.x / tiles, s.B * s.H, s.Tq, kEdge);
  const int64_t i0 = at.block * kEdge, j0 = blockIdx.x % tiles * kEdge;
  const Head head(s, at.head);
  const HeadScores<T, R> scores(s, head, in);
  const uint32_t visible = scores.visible(i0, j0);
  T p[R][R] = {};
  if (__syncthreads_or(visible != 0)) scores.probabilities(memory, visible, i0, j0, to.highest, to.inverse, p);
  for (int i = 0; i < R; ++i) {
    const int64_t query = i0 + tile_y() + kSide * i;
    if (query >= s.Tq) continue;
    for (int j = 0; j < R; ++j) {
      const int64_t key = j0 + tile_x() + kSide * j;
      if (key < s.Tk) to.probabilities[head.row(s, query) * s.Tk + key] = p[i][j];
    }
  }
}

}  // namespace

TAPE_EXPORT_TILES(attention_forward, (AttentionShape s, AttentionOperands<T> in, AttentionResults<T> to), (s, in, to))
TAPE_EXPORT_TILES(attention_probabilities, (AttentionShape s, AttentionOperands<T> in, AttentionResults<T> to),
                  (s, in, to))
