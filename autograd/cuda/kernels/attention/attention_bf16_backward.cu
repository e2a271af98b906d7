// Kernels of AttentionKernels<BFloat16>: the backward pass (Dao 2023, FlashAttention-2, algorithm 2), in two passes
// over the scores. With p = exp(score - highest) inverse and dp = dout v^T, after dropout:
//   delta = dout out of a query,  ds = p (dp - delta)
//   dq = scale ds k,  dk = scale ds^T q,  dv = (p after dropout)^T dout
//
// One pass would compute five products instead of seven, but sums of dq over blocks of keys would need atomic
// additions, in an order that varies, or partial sums in f32: 8 bytes to write and read per 128 keys and element of dq,
// 2.7 ps at the 3 TB/s of an H100. The two products take 512 operations, 1 ps at 500 TFLOP/s, and no memory.
#include "attention_bf16_scores.h"

namespace {

/// The sum of products of two pairs of bf16.
__device__ inline float product_of_pairs(uint32_t a, uint32_t b) {
  return __uint_as_float(a << 16) * __uint_as_float(b << 16) +
         __uint_as_float(a & 0xFFFF0000U) * __uint_as_float(b & 0xFFFF0000U);
}
__device__ inline float product_of_chunks(const BFloat16* a, const BFloat16* b) {
  const uint4 x = *reinterpret_cast<const uint4*>(a), y = *reinterpret_cast<const uint4*>(b);
  return product_of_pairs(x.x, y.x) + product_of_pairs(x.y, y.y) + product_of_pairs(x.z, y.z) +
         product_of_pairs(x.w, y.w);
}

/// What a query's row of probabilities needs: statistics[2 row] is the logarithm of its sum of exponentials, to base 2,
/// and statistics[2 row + 1] delta.
__device__ void attention_statistics(const AttentionShape& s, const AttentionGradients<BFloat16>& g,
                                     float* statistics) {
  constexpr int kLanes = 8;  // per row
  const int64_t rows = s.B * s.H * s.Tq;
  const int part = static_cast<int>(threadIdx.x) % kLanes;
  for (int64_t first = thread_of_grid() / 32 * (32 / kLanes); first < rows; first += threads_of_grid() / kLanes) {
    const int64_t row = first + lane() / kLanes;
    const Head head(s, row / s.Tq);
    const int64_t at = head.at(s.out) + row % s.Tq * s.out.row;
    float delta = 0;
    for (int64_t column = part * kChunk; row < rows && column < s.Dv; column += kLanes * kChunk)
      delta += product_of_chunks(g.dout + at + column, g.out + at + column);
    for (int bits = 1; bits < kLanes; bits *= 2) delta += value_of_lane(delta, bits);
    if (row >= rows || part != 0) continue;
    // Infinite for a query that sees no key, which makes its probabilities 0.
    statistics[2 * row] = g.highest[row] * kLog2E - log2f(g.inverse[row]);
    statistics[2 * row + 1] = delta;
  }
}

/// The probabilities of products of queries and keys; log_sum(m, n, e) is the logarithm of element e of [m][n].
template <int M, int N, class LogSum>
__device__ TAPE_INLINE void products_to_probabilities(const Bf16Factors& factors, const LogSum& log_sum,
                                                      float (&p)[M][N][4]) {
  TAPE_UNROLL for (int n = 0; n < N; ++n) {
    TAPE_UNROLL for (int m = 0; m < M; ++m) {
      TAPE_UNROLL for (int e = 0; e < 4; ++e) p[m][n][e] = power_of_two(p[m][n][e] * factors.score - log_sum(m, n, e));
    }
  }
}
/// Turns products of dout and values into ds.
template <int M, int N, class Delta>
__device__ TAPE_INLINE void to_score_gradients(const Bf16Factors& factors, const float (&p)[M][N][4],
                                               const Delta& delta, float (&dp)[M][N][4]) {
  TAPE_UNROLL for (int n = 0; n < N; ++n) {
    TAPE_UNROLL for (int m = 0; m < M; ++m) {
      TAPE_UNROLL for (int e = 0; e < 4; ++e) dp[m][n][e] =
          p[m][n][e] * (dp[m][n][e] * factors.dropout - delta(m, n, e));
    }
  }
}
template <int M>
__device__ TAPE_INLINE void fill_rows(float value, float (&rows)[M][2]) {
  TAPE_UNROLL for (int m = 0; m < M; ++m) rows[m][0] = rows[m][1] = value;
}

/// One warp's queries and their gradients, in shared memory, with the statistics of their rows.
template <int kWidth>
struct QueryGradient {
  static constexpr Bf16Tile kTile = AttentionBf16::query_gradient(kWidth);
  static constexpr int M = kTile.rows / 16, kKeys = kTile.columns, N = kKeys / 8;
  const BFloat16 *queries, *gradients;
  float log_sum[M][2], delta[M][2], dq[M][kWidth / 8][4];

  /// `memory` has the queries, and the gradients after those of the whole block.
  __device__ TAPE_INLINE void start(const AttentionShape& s, const Head& head, int query, const float* statistics,
                                    const BFloat16* memory) {
    queries = memory;
    gradients = memory + warps() * 16 * M * kPitch<kWidth>;
    TAPE_UNROLL for (int m = 0; m < M; ++m) {
      TAPE_UNROLL for (int h = 0; h < 2; ++h) {
        const int row = query + 16 * m + 8 * h + lane_row();
        const float* const of_row = statistics + 2 * head.row(s, row);
        log_sum[m][h] = row < s.Tq ? of_row[0] : 0;
        delta[m][h] = row < s.Tq ? of_row[1] : 0;
      }
      TAPE_UNROLL for (int c = 0; c < kWidth / 8; ++c) { TAPE_UNROLL for (int e = 0; e < 4; ++e) dq[m][c][e] = 0; }
    }
  }
  /// Adds what keys and values contribute.
  __device__ TAPE_INLINE void add(const AttentionShape& s, const TileMasks& masks, const TileDropout& dropout,
                                  const Bf16Factors& factors, int query, int key, const BFloat16* k,
                                  const BFloat16* v) {
    uint32_t set[M];
    const Shown part = shown<M, kKeys>(masks, query, key, set);
    if (part == Shown::none) return;
    float p[M][N][4] = {}, ds[M][N][4] = {};
    add_row_products<kWidth, M, kKeys>(queries, k, p);
    products_to_probabilities(
        factors, [&](int m, int, int e) { return log_sum[m][e / 2]; }, p);
    if (part == Shown::some) fill_outside(set, 0, p);
    add_row_products<kWidth, M, kKeys>(gradients, v, ds);
    if (s.dropout > 0) {
      dropout.kept_of_queries<M, kKeys>(query, key, set);
      fill_outside(set, 0, ds);
    }
    to_score_gradients(
        factors, p, [&](int m, int, int e) { return delta[m][e / 2]; }, ds);
    uint32_t packed[M][N][2];
    pack_tile(ds, packed);
    add_product<kWidth, M, kKeys>(packed, k, dq);
  }
};

/// dq. Keys and values are read a stage ahead.
template <int kWidth>
__device__ void attention_query_gradient(const AttentionShape& s, const AttentionOperands<BFloat16>& in,
                                         const AttentionGradients<BFloat16>& g, const Bf16Factors& factors,
                                         const float* statistics) {
  using Queries = QueryGradient<kWidth>;
  constexpr int M = Queries::M, kKeys = Queries::kKeys, kStep = kPitch<kWidth>;
  TAPE_DYNAMIC_SHARED(BFloat16, memory);
  const int rows = warps() * 16 * M;
  const BlockPlace at(blockIdx.x, s.B * s.H, s.Tq, rows);
  const Head head(s, at.head);
  // The last queries, which see most keys under a causal mask, come first.
  const int block = static_cast<int>(at.blocks - 1 - at.block) * rows, query = block + warp() * 16 * M;
  BFloat16* const queries = memory + warp() * 16 * M * kStep;
  const TilePairs<kWidth, kKeys> stages{memory + 2 * rows * kStep};
  const HeadRows k = rows_of_keys(s, head, in.k, s.k, s.D), v = rows_of_keys(s, head, in.v, s.v, s.Dv);
  const TileMasks masks = masks_of_queries(s, head, in.keep);
  const TileDropout dropout(s, head);
  const TileSteps steps(keys_of_queries(s, block, rows), kKeys);
  Queries mine;
  mine.start(s, head, query, statistics, queries);
  copy_rows<kWidth>(rows_of_queries(s, head, in.q, s.q, s.D), block, rows, memory);
  copy_rows<kWidth>(rows_of_queries(s, head, g.dout, s.out, s.Dv), block, rows, memory + rows * kStep);
  for_stages(
      steps.count, [&](int stage, int i) { stages.copy(stage, k, v, steps.first + i * kKeys); },
      [&](int stage, int i) {
        mine.add(s, masks, dropout, factors, query, steps.first + i * kKeys, stages.first(stage), stages.second(stage));
      });
  float scale[M][2];
  fill_rows(static_cast<float>(s.scale), scale);
  store_rows<kWidth, M>(mine.dq, scale, queries, rows_of_queries(s, head, g.dq, s.q, s.D), query);
}

/// One warp's keys and values, in shared memory. Tiles of scores are transposed: their rows are keys.
template <int kWidth>
struct KeyGradients {
  static constexpr Bf16Tile kTile = AttentionBf16::key_gradients(kWidth);
  static constexpr int M = kTile.rows / 16, kQueries = kTile.columns, N = kQueries / 8;
  static constexpr int kSteps = 2;  // more would need more registers than there are
  const BFloat16 *keys, *values;
  float dk[M][kWidth / 8][4], dv[M][kWidth / 8][4];

  /// `memory` has the keys, and the values after those of the whole block.
  __device__ TAPE_INLINE void start(const BFloat16* memory) {
    keys = memory;
    values = memory + warps() * 16 * M * kPitch<kWidth>;
    TAPE_UNROLL for (int m = 0; m < M; ++m) {
      TAPE_UNROLL for (int c = 0; c < kWidth / 8; ++c) {
        TAPE_UNROLL for (int e = 0; e < 4; ++e) dk[m][c][e] = dv[m][c][e] = 0;
      }
    }
  }
  /// Adds what queries contribute, given the gradients of their outputs and their statistics.
  __device__ TAPE_INLINE void add(const AttentionShape& s, const TileMasks& masks, const TileDropout& dropout,
                                  const Bf16Factors& factors, int key, int query, const BFloat16* q,
                                  const BFloat16* dout, const float* statistics) {
    uint32_t visible[M], kept[M];
    const Shown part = shown<M, kQueries>(masks, key, query, visible);
    if (part == Shown::none) return;
    if (s.dropout > 0) dropout.kept_of_keys<M, kQueries>(key, query, kept);
    const float* const of_lane = statistics + 2 * lane_column();
    // In this order, so that few values wait in registers.
    float p[M][N][4] = {};
    add_row_products<kWidth, M, kQueries, kSteps>(keys, q, p);
    products_to_probabilities(
        factors, [&](int, int n, int e) { return of_lane[16 * n + e % 2 * 2]; }, p);
    if (part == Shown::some) fill_outside(visible, 0, p);
    uint32_t packed[M][N][2];
    if (s.dropout > 0)
      pack_tile(kept, p, packed);
    else
      pack_tile(p, packed);
    add_product<kWidth, M, kQueries>(packed, dout, dv);
    float ds[M][N][4] = {};
    add_row_products<kWidth, M, kQueries, kSteps>(values, dout, ds);
    if (s.dropout > 0) fill_outside(kept, 0, ds);
    to_score_gradients(
        factors, p, [&](int, int n, int e) { return of_lane[16 * n + e % 2 * 2 + 1]; }, ds);
    pack_tile(ds, packed);
    add_product<kWidth, M, kQueries>(packed, q, dk);
  }
};

/// Starts the copies of the statistics of queries from `query` on.
template <int kQueries>
__device__ inline void copy_statistics(const AttentionShape& s, const Head& head, const float* statistics, int query,
                                       float* to) {
  for (int e = static_cast<int>(threadIdx.x); e < kQueries; e += static_cast<int>(blockDim.x)) {
    const bool valid = query + e < s.Tq;
    copy_async<8>(to + 2 * e, statistics + (valid ? 2 * head.row(s, query + e) : 0), valid ? 8 : 0);
  }
}

/// dk and dv, summed over the queries of the first head of a group, then over those of the next. Queries and their
/// gradients are read a stage ahead.
template <int kWidth>
__device__ void attention_key_gradients(const AttentionShape& s, const AttentionOperands<BFloat16>& in,
                                        const AttentionGradients<BFloat16>& g, const Bf16Factors& factors,
                                        const float* statistics) {
  using Keys = KeyGradients<kWidth>;
  constexpr int M = Keys::M, kQueries = Keys::kQueries, kStep = kPitch<kWidth>;
  TAPE_DYNAMIC_SHARED(BFloat16, memory);
  const int rows = warps() * 16 * M;
  const int64_t shared = s.H / s.group;
  const BlockPlace at(blockIdx.x, s.B * shared, s.Tk, rows);
  const Head group(s, at.head / shared * s.H + at.head % shared * s.group);
  const int block = static_cast<int>(at.block) * rows, key = block + warp() * 16 * M;
  BFloat16* const keys = memory + warp() * 16 * M * kStep;
  const TilePairs<kWidth, kQueries> stages{memory + 2 * rows * kStep};
  auto* const of_queries = reinterpret_cast<float*>(stages.end());  // statistics, for two stages
  const TileSteps steps(queries_of_keys(s, block, rows), kQueries);
  Keys mine;
  mine.start(keys);
  copy_rows<kWidth>(rows_of_keys(s, group, in.k, s.k, s.D), block, rows, memory);
  copy_rows<kWidth>(rows_of_keys(s, group, in.v, s.v, s.Dv), block, rows, memory + rows * kStep);
  for (int member = 0; member < s.group; ++member) {
    const Head head = group.member(member);
    const HeadRows q = rows_of_queries(s, head, in.q, s.q, s.D), dout = rows_of_queries(s, head, g.dout, s.out, s.Dv);
    const TileMasks masks = masks_of_keys(s, head, in.keep);
    const TileDropout dropout(s, head);
    for_stages(
        steps.count,
        [&](int stage, int i) {
          stages.copy(stage, q, dout, steps.first + i * kQueries);
          copy_statistics<kQueries>(s, head, statistics, steps.first + i * kQueries, of_queries + 2 * kQueries * stage);
        },
        [&](int stage, int i) {
          mine.add(s, masks, dropout, factors, key, steps.first + i * kQueries, stages.first(stage),
                   stages.second(stage), of_queries + 2 * kQueries * stage);
        });
  }
  float factor[M][2];
  fill_rows(static_cast<float>(s.scale), factor);
  store_rows<kWidth, M>(mine.dk, factor, keys, rows_of_keys(s, group, g.dk, s.k, s.D), key);
  fill_rows(factors.dropout, factor);
  store_rows<kWidth, M>(mine.dv, factor, keys + rows * kStep, rows_of_keys(s, group, g.dv, s.v, s.Dv), key);
}

}  // namespace

TAPE_EXPORT_AS(attention_statistics_bf16, attention_statistics,
               (AttentionShape s, AttentionGradients<BFloat16> gradients, float* statistics),
               (s, gradients, statistics))

#define TAPE_BACKWARD_PARAMETERS                                                                                  \
  (AttentionShape s, AttentionOperands<BFloat16> in, AttentionGradients<BFloat16> gradients, Bf16Factors factors, \
   const float* statistics)
#define TAPE_BACKWARD(width)                                                                                       \
  TAPE_EXPORT_AS(attention_query_gradient_bf16_##width, attention_query_gradient<width>, TAPE_BACKWARD_PARAMETERS, \
                 (s, in, gradients, factors, statistics))                                                          \
  TAPE_EXPORT_AS(attention_key_gradients_bf16_##width, attention_key_gradients<width>, TAPE_BACKWARD_PARAMETERS,   \
                 (s, in, gradients, factors, statistics))
TAPE_BACKWARD(32)
TAPE_BACKWARD(64)
TAPE_BACKWARD(96)
TAPE_BACKWARD(128)
