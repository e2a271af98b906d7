// Kernels of AttentionKernels<BFloat16> (autograd/kernels/attention/attention.h): the forward pass, with products of
// bf16 on tensor cores and softmax in f32 (Dao 2023, FlashAttention-2, algorithm 1). A block has some queries, in warps
// that need nothing of each other except the keys and values, which are copied a stage ahead.
#include "attention_bf16_scores.h"

namespace {

/// An online softmax of M x 16 rows, with exponentials of base 2. Scores are products times a positive factor.
template <int M>
struct OnlineSoftmax {
  float highest[M][2], sum[M][2];  // of scores, and of the exponentials of this lane's columns

  __device__ TAPE_INLINE void start() {
    TAPE_UNROLL for (int m = 0; m < M; ++m) {
      TAPE_UNROLL for (int h = 0; h < 2; ++h) {
        highest[m][h] = -INFINITY;
        sum[m][h] = 0;
      }
    }
  }
  /// Turns products of row (m, h) into exponentials. Returns the factor of what was summed before.
  template <int N>
  __device__ TAPE_INLINE float add_row(int m, int h, float factor, float (&row)[N][4]) {
    float most = -INFINITY, part = 0;
    TAPE_UNROLL for (int n = 0; n < N; ++n) most = max(most, max(row[n][2 * h], row[n][2 * h + 1]));
    for (int bits = 1; bits < 4; bits *= 2) most = max(most, value_of_lane(most, bits));
    most = max(highest[m][h], most * factor);
    const float base = finite_or_zero(most), shrink = power_of_two(highest[m][h] - base);
    TAPE_UNROLL for (int n = 0; n < N; ++n) {
      TAPE_UNROLL for (int e = 0; e < 2; ++e) {
        // One instruction, a fused multiplication and subtraction, makes the exponent.
        row[n][2 * h + e] = power_of_two(row[n][2 * h + e] * factor - base);
        part += row[n][2 * h + e];
      }
    }
    highest[m][h] = most;
    sum[m][h] = sum[m][h] * shrink + part;
    return shrink;
  }
};

/// scores *= factor.
template <int M, int N>
__device__ TAPE_INLINE void scale_tile(float factor, float (&scores)[M][N][4]) {
  TAPE_UNROLL for (int m = 0; m < M; ++m) {
    TAPE_UNROLL for (int n = 0; n < N; ++n) { TAPE_UNROLL for (int i = 0; i < 4; ++i) scores[m][n][i] *= factor; }
  }
}

/// One warp's queries.
template <int kWidth>
struct QueryTile {
  static constexpr Bf16Tile kTile = AttentionBf16::forward(kWidth);
  static constexpr int M = kTile.rows / 16, kKeys = kTile.columns;
  OnlineSoftmax<M> softmax;
  float out[M][kWidth / 8][4];

  __device__ TAPE_INLINE void start() {
    softmax.start();
    TAPE_UNROLL for (int m = 0; m < M; ++m) {
      TAPE_UNROLL for (int c = 0; c < kWidth / 8; ++c) { TAPE_UNROLL for (int i = 0; i < 4; ++i) out[m][c][i] = 0; }
    }
  }
  /// Adds the values of keys, given their scores from `query` and `key` on, without a positive factor.
  __device__ TAPE_INLINE void add(const AttentionShape& s, const TileDropout& dropout, int query, int key, float factor,
                                  float (&scores)[M][kKeys / 8][4], const BFloat16* values) {
    TAPE_UNROLL for (int m = 0; m < M; ++m) {
      TAPE_UNROLL for (int h = 0; h < 2; ++h) {
        const float shrink = softmax.add_row(m, h, factor, scores[m]);
        TAPE_UNROLL for (int c = 0; c < kWidth / 8; ++c) {
          out[m][c][2 * h] *= shrink;
          out[m][c][2 * h + 1] *= shrink;
        }
      }
    }
    if (s.dropout > 0) {
      uint32_t kept[M];
      dropout.kept_of_queries<M, kKeys>(query, key, kept);
      fill_outside(kept, 0, scores);
    }
    uint32_t packed[M][kKeys / 8][2];
    pack_tile(scores, packed);
    add_product<kWidth, M, kKeys>(packed, values, out);
  }
  /// Writes outputs and statistics. `part` is the warp's shared memory for its queries.
  __device__ TAPE_INLINE void finish(const AttentionShape& s, const Head& head, int query, BFloat16* part,
                                     const Bf16Factors& factors, const AttentionResults<BFloat16>& to) {
    float inverse[M][2];
    TAPE_UNROLL for (int m = 0; m < M; ++m) {
      TAPE_UNROLL for (int h = 0; h < 2; ++h) {
        float total = softmax.sum[m][h];
        for (int bits = 1; bits < 4; bits *= 2) total += value_of_lane(total, bits);
        inverse[m][h] = total == 0 ? 0 : 1 / total;
        const int row = query + 16 * m + 8 * h + lane_row();
        if (row < s.Tq && lane() % 4 == 0) {
          to.highest[head.row(s, row)] = finite_or_zero(softmax.highest[m][h]) * kLn2;
          to.inverse[head.row(s, row)] = inverse[m][h];
        }
        inverse[m][h] *= factors.dropout;
      }
    }
    store_rows<kWidth, M>(out, inverse, part, rows_of_queries(s, head, to.out, s.out, s.Dv), query);
  }
};

template <int kWidth>
__device__ void attention_forward(const AttentionShape& s, const AttentionOperands<BFloat16>& in,
                                  const AttentionResults<BFloat16>& to, const Bf16Factors& factors) {
  using Queries = QueryTile<kWidth>;
  constexpr int M = Queries::M, kKeys = Queries::kKeys;
  TAPE_DYNAMIC_SHARED(BFloat16, memory);
  const int rows = warps() * 16 * M;
  const BlockPlace at(blockIdx.x, s.B * s.H, s.Tq, rows);
  const Head head(s, at.head);
  // The last queries, which see most keys under a causal mask, come first.
  const int block = static_cast<int>(at.blocks - 1 - at.block) * rows, query = block + warp() * 16 * M;
  BFloat16* const queries = memory + warp() * 16 * M * kPitch<kWidth>;
  const TilePairs<kWidth, kKeys> stages{memory + rows * kPitch<kWidth>};
  const HeadRows k = rows_of_keys(s, head, in.k, s.k, s.D), v = rows_of_keys(s, head, in.v, s.v, s.Dv);
  const TileMasks masks = masks_of_queries(s, head, in.keep);
  const TileDropout dropout(s, head);
  const TileSteps steps(keys_of_queries(s, block, rows), kKeys);
  Queries mine;
  mine.start();
  copy_rows<kWidth>(rows_of_queries(s, head, in.q, s.q, s.D), block, rows, memory);
  for_stages(
      steps.count, [&](int stage, int i) { stages.copy(stage, k, v, steps.first + i * kKeys); },
      [&](int stage, int i) {
        const int key = steps.first + i * kKeys;
        uint32_t visible[M];
        const Shown part = shown<M, kKeys>(masks, query, key, visible);
        if (part == Shown::none) return;
        float scores[M][kKeys / 8][4] = {};
        add_row_products<kWidth, M, kKeys>(queries, stages.first(stage), scores);
        const bool keeps_order = factors.score > 0;
        if (!keeps_order) scale_tile(factors.score, scores);
        if (part == Shown::some) fill_outside(visible, -INFINITY, scores);
        mine.add(s, dropout, query, key, keeps_order ? factors.score : 1, scores, stages.second(stage));
      });
  mine.finish(s, head, query, queries, factors, to);
}

}  // namespace

#define TAPE_FORWARD(width)                                                                                   \
  TAPE_EXPORT_AS(                                                                                             \
      attention_forward_bf16_##width, attention_forward<width>,                                               \
      (AttentionShape s, AttentionOperands<BFloat16> in, AttentionResults<BFloat16> to, Bf16Factors factors), \
      (s, in, to, factors))
TAPE_FORWARD(32)
TAPE_FORWARD(64)
TAPE_FORWARD(96)
TAPE_FORWARD(128)
