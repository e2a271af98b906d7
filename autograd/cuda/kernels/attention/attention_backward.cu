// Kernels of AttentionKernels: the backward pass. Tiles of probabilities are computed again from highest and inverse;
// with dp = dout v^T, after dropout, plus dprobabilities:
//   delta = sum of p dp over the keys of a query,  ds = p (dp - delta) = dadditive
//   dq = scale ds k,  dk = scale ds^T q,  dv = (p after dropout)^T dout
#include "attention_scores.h"

namespace {

/// One head's tiles of probabilities and their gradients.
template <class T, int R>
struct HeadGradients {
  HeadScores<T, R> scores;
  QueryRows<T> dout;
  KeyRows<T> v;
  AttentionDropout<T> dropout;

  __device__ HeadGradients(const AttentionShape& s, const Head& head, const AttentionOperands<T>& in,
                           const AttentionGradients<T>& g)
      : scores(s, head, in),
        dout(query_rows(s, head, g.dout, s.out)),
        v(key_rows(s, head, in, in.v, s.v)),
        dropout(s) {}

  /// p before dropout, 0 where hidden.
  __device__ void probabilities(TileMemory<T, R>& memory, uint32_t visible, int64_t i0, int64_t j0,
                                const AttentionGradients<T>& g, T (&p)[R][R]) const {
    scores.probabilities(memory, visible, i0, j0, g.highest, g.inverse, p);
  }
  /// dp, 0 where hidden.
  __device__ void gradients(TileMemory<T, R>& memory, uint32_t visible, uint32_t kept, int64_t i0, int64_t j0,
                            const AttentionGradients<T>& g, T (&dp)[R][R]) const {
    const AttentionShape& s = scores.s;
    for (int i = 0; i < R; ++i)
      for (int j = 0; j < R; ++j) dp[i][j] = 0;
    add_row_products(
        memory, s.Dv, [&](int r) { return dout(i0 + r); }, [&](int r) { return v(j0 + r); }, dp);
    for (int i = 0; i < R; ++i) {
      const int64_t row = scores.head.row(s, i0 + tile_y() + kSide * i);
      for (int j = 0; j < R; ++j) {
        const int bit = i * R + j;
        dp[i][j] = kept >> bit & 1 ? dp[i][j] * dropout.factor() : T(0);
        if (!(visible >> bit & 1))
          dp[i][j] = 0;
        else if (g.dprobabilities)
          dp[i][j] += g.dprobabilities[row * s.Tk + j0 + tile_x() + kSide * j];
      }
    }
  }
  /// Turns dp into ds.
  __device__ void score_gradients(int64_t i0, const T* delta, const T (&p)[R][R], T (&dp)[R][R]) const {
    for (int i = 0; i < R; ++i) {
      const int64_t query = i0 + tile_y() + kSide * i;
      const T mean = query < scores.s.Tq ? delta[scores.head.row(scores.s, query)] : T(0);
      for (int j = 0; j < R; ++j) dp[i][j] = p[i][j] * (dp[i][j] - mean);
    }
  }
};

/// Writes a tile to shared memory.
template <class T, int R, class Value>
__device__ void put_tile(TileMemory<T, R>& memory, const Value& value) {
  for (int i = 0; i < R; ++i)
    for (int j = 0; j < R; ++j) memory.scores[tile_y() + kSide * i][tile_x() + kSide * j] = value(i, j);
}

/// Stores columns of the rows of a tile, of which there are `rows` in all; nothing if `to` is null.
template <class T, int R>
__device__ void store_rows(const T (&sums)[R][kOutputs], int64_t first, int64_t rows, int width, int64_t pitch, T* to) {
  if (!to) return;
  for (int i = 0; i < R; ++i) {
    const int64_t row = first + tile_y() + kSide * i;
    if (row >= rows) continue;
    for (int c = 0; c < kOutputs; ++c) {
      const int column = tile_x() + kSide * c;
      if (column < width) to[row * pitch + column] = sums[i][c];
    }
  }
}

/// The number of rows of a tile, of those that remain.
template <int kEdge>
__device__ int rows_of_tile(int64_t remaining) {
  return static_cast<int>(remaining < kEdge ? remaining : kEdge);
}

/// delta [B, H, Tq]. It is summed from the products themselves, not as dout times out, so that ds sums to zero.
template <class T, int R>
__device__ void attention_delta(AttentionShape s, AttentionOperands<T> in, AttentionGradients<T> g, T* delta) {
  constexpr int kEdge = kSide * R;
  __shared__ TileMemory<T, R> memory;
  const BlockPlace at(blockIdx.x, s.B * s.H, s.Tq, kEdge);
  const Head head(s, at.head);
  const HeadGradients<T, R> of(s, head, in, g);
  const int64_t i0 = (at.blocks - 1 - at.block) * kEdge;
  const Positions keys = keys_of_queries(s, i0, kEdge);
  double sums[R] = {};
  for (int64_t j0 = keys.begin / kEdge * kEdge; j0 < keys.end; j0 += kEdge) {
    const uint32_t visible = of.scores.visible(i0, j0);
    if (!__syncthreads_or(visible != 0)) continue;
    T p[R][R], dp[R][R];
    of.probabilities(memory, visible, i0, j0, g, p);
    of.gradients(memory, visible, of.scores.kept(of.dropout, i0, j0), i0, j0, g, dp);
    for (int i = 0; i < R; ++i) {
      T part = 0;
      for (int j = 0; j < R; ++j) part += p[i][j] * dp[i][j];
      sums[i] += static_cast<double>(part);
    }
  }
  for (int i = 0; i < R; ++i) {
    const double total = over_tile_row(sums[i], Add());
    const int64_t query = i0 + tile_y() + kSide * i;
    if (query < s.Tq && tile_x() == 0) delta[head.row(s, query)] = static_cast<T>(total);
  }
}

/// dq, and dadditive where a query sees a key.
template <class T, int R>
__device__ void attention_query_gradient(AttentionShape s, AttentionOperands<T> in, AttentionGradients<T> g,
                                         const T* delta) {
  constexpr int kEdge = kSide * R;
  __shared__ TileMemory<T, R> memory;
  const BlockPlace at(blockIdx.x, s.B * s.H, s.Tq, kEdge);
  const Head head(s, at.head);
  const HeadGradients<T, R> of(s, head, in, g);
  const int64_t i0 = (at.blocks - 1 - at.block) * kEdge;
  const Positions keys = keys_of_queries(s, i0, kEdge);
  const int width = at.columns_of(s.D);
  const T scale = static_cast<T>(s.scale);
  T dq[R][kOutputs] = {};
  for (int64_t j0 = keys.begin / kEdge * kEdge; j0 < keys.end; j0 += kEdge) {
    const uint32_t visible = of.scores.visible(i0, j0);
    if (!__syncthreads_or(visible != 0)) continue;
    T p[R][R], ds[R][R];
    of.probabilities(memory, visible, i0, j0, g, p);
    of.gradients(memory, visible, of.scores.kept(of.dropout, i0, j0), i0, j0, g, ds);
    of.score_gradients(i0, delta, p, ds);
    if (g.dadditive && at.column == 0)
      for (int i = 0; i < R; ++i)
        for (int j = 0; j < R; ++j)
          if (visible >> (i * R + j) & 1) {
            const int64_t row = head.row(s, i0 + tile_y() + kSide * i);
            g.dadditive[row * s.Tk + j0 + tile_x() + kSide * j] = ds[i][j];
          }
    if (!g.dq) continue;
    put_tile(memory, [&](int i, int j) { return ds[i][j] * scale; });
    add_tile_product<TileRows::rows>(
        memory, rows_of_tile<kEdge>(s.Tk - j0), width, [&](int t) { return of.scores.k(j0 + t) + at.column; }, dq);
  }
  store_rows(dq, i0, s.Tq, width, s.q.row, g.dq ? g.dq + head.at(s.q) + at.column : nullptr);
}

/// dk and dv, summed over the queries of the first head of a group, then over those of the next.
template <class T, int R>
__device__ void attention_key_gradients(AttentionShape s, AttentionOperands<T> in, AttentionGradients<T> g,
                                        const T* delta) {
  constexpr int kEdge = kSide * R;
  __shared__ TileMemory<T, R> memory;
  const int64_t shared = s.H / s.group;
  const BlockPlace at(blockIdx.x, s.B * shared, s.Tk, kEdge);
  const int64_t j0 = at.block * kEdge, first_head = at.head / shared * s.H + at.head % shared * s.group;
  const Positions queries = queries_of_keys(s, j0, kEdge);
  const int width = at.columns_of(s.D), value_width = at.columns_of(s.Dv);
  const T scale = static_cast<T>(s.scale);
  T dk[R][kOutputs] = {}, dv[R][kOutputs] = {};
  for (int64_t member = 0; member < s.group; ++member) {
    const HeadGradients<T, R> of(s, Head(s, first_head + member), in, g);
    for (int64_t i0 = queries.begin / kEdge * kEdge; i0 < queries.end; i0 += kEdge) {
      const uint32_t visible = of.scores.visible(i0, j0);
      if (!__syncthreads_or(visible != 0)) continue;
      const uint32_t kept = of.scores.kept(of.dropout, i0, j0);
      const int count = rows_of_tile<kEdge>(s.Tq - i0);
      T p[R][R];
      of.probabilities(memory, visible, i0, j0, g, p);
      if (g.dv) {
        put_tile(memory, [&](int i, int j) { return kept >> (i * R + j) & 1 ? p[i][j] * of.dropout.factor() : T(0); });
        add_tile_product<TileRows::columns>(
            memory, count, value_width, [&](int t) { return of.dout(i0 + t) + at.column; }, dv);
      }
      if (!g.dk) continue;
      T ds[R][R];
      of.gradients(memory, visible, kept, i0, j0, g, ds);
      of.score_gradients(i0, delta, p, ds);
      __syncthreads();
      put_tile(memory, [&](int i, int j) { return ds[i][j] * scale; });
      add_tile_product<TileRows::columns>(
          memory, count, width, [&](int t) { return of.scores.q(i0 + t) + at.column; }, dk);
    }
  }
  const Head head(s, first_head);
  store_rows(dk, j0, s.Tk, width, s.k.row, g.dk ? g.dk + head.at_shared(s.k, s.group) + at.column : nullptr);
  store_rows(dv, j0, s.Tk, value_width, s.v.row, g.dv ? g.dv + head.at_shared(s.v, s.group) + at.column : nullptr);
}

}  // namespace

TAPE_EXPORT_TILES(attention_delta,
                  (AttentionShape s, AttentionOperands<T> in, AttentionGradients<T> gradients, T* delta),
                  (s, in, gradients, delta))
TAPE_EXPORT_TILES(attention_query_gradient,
                  (AttentionShape s, AttentionOperands<T> in, AttentionGradients<T> gradients, const T* delta),
                  (s, in, gradients, delta))
TAPE_EXPORT_TILES(attention_key_gradients,
                  (AttentionShape s, AttentionOperands<T> in, AttentionGradients<T> gradients, const T* delta),
                  (s, in, gradients, delta))
