// Kernels of AttentionKernels: the forward pass for few queries, as a decoder has. A block computes the outputs for
// part of the keys, so that a few heads occupy a whole GPU; a second kernel joins the parts (Dao et al. 2023,
// Flash-Decoding).
#include "attention_scores.h"

using tape::kernels::AttentionParts;

namespace {

constexpr int kWarps = AttentionParts::kThreads / 32;
/// Columns per lane.
template <class T>
constexpr int kSlots = AttentionParts::most_width(sizeof(Compute<T>)) / 32;
/// Keys that a warp reads at once, to hide latency; as many as the registers hold.
template <class T>
constexpr int kTogether = 16 / sizeof(T);

__device__ inline int lane() { return static_cast<int>(threadIdx.x) % 32; }

/// The column of slot c of this lane: lane, lane + 32, ...; bf16 is read in pairs, so that it is 2 lane, 2 lane + 1,
/// 2 lane + 64, ...
template <class T>
__device__ int column_of(int c) {
  if constexpr (sizeof(T) == sizeof(bf16))
    return 2 * lane() + c / 2 * 64 + c % 2;
  else
    return lane() + 32 * c;
}
/// This lane's columns of a row, zeros beyond its width and for null.
template <class T>
__device__ void load_row(const T* row, int64_t width, Compute<T> (&values)[kSlots<T>]) {
  if constexpr (sizeof(T) == sizeof(bf16)) {
    TAPE_UNROLL for (int c = 0; c < kSlots<T>; c += 2) {
      // The width is even.
      const int column = column_of<T>(c);
      const uint32_t pair = row && column < width ? *reinterpret_cast<const uint32_t*>(row + column) : 0;
      values[c] = __uint_as_float(pair << 16);
      values[c + 1] = __uint_as_float(pair & 0xFFFF0000U);
    }
  } else {
    for (int c = 0; c < kSlots<T>; ++c) {
      const int column = column_of<T>(c);
      values[c] = row && column < width ? row[column] : T(0);
    }
  }
}

/// The state of an online softmax for one query: maximum and sum so far, and this lane's columns of the output.
template <class T>
struct QueryState {
  Compute<T> highest, sum, out[kSlots<T>];

  __device__ void start() {
    highest = -INFINITY;
    sum = 0;
    for (int c = 0; c < kSlots<T>; ++c) out[c] = 0;
  }
  /// Makes room for scores up to `most`; returns what to subtract from them.
  __device__ Compute<T> raise(Compute<T> most) {
    most = max(most, highest);
    const Compute<T> base = finite_or_zero(most), shrink = exp_of_negative(highest - base);
    highest = most;
    sum *= shrink;
    for (int c = 0; c < kSlots<T>; ++c) out[c] *= shrink;
    return base;
  }
};

/// The warps' states of one query, in shared memory.
template <class T, int N>
struct WarpStates {
  Compute<T> highest[kWarps][N], sum[kWarps][N], out[kWarps][N][32 * kSlots<T>];
};

/// All queries of a head and one part of its keys. partial [B, H, Tq, parts, Dv + 2]: the sum of exponentials times
/// values, the maximum, and the sum of exponentials.
template <class T, int N>
__device__ void attention_part(AttentionShape s, AttentionOperands<T> in, int64_t parts, Compute<T>* partial) {
  using C = Compute<T>;
  __shared__ WarpStates<T, N> states;
  const int64_t part = blockIdx.x % parts, size = (s.Tk + parts - 1) / parts;
  const Head head(s, blockIdx.x / parts);
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const QueryRows<T> q = query_rows(s, head, in.q, s.q);
  const KeyRows<T> k = key_rows(s, head, in, in.k, s.k), v = key_rows(s, head, in, in.v, s.v);
  const HeadMasks<T> masks(s, head, in);
  const AttentionDropout<C> dropout(s);
  C query[N][kSlots<T>];
  QueryState<T> state[N];
  for (int n = 0; n < N; ++n) {
    load_row(q(n), s.D, query[n]);
    state[n].start();
  }
  const int64_t begin = max(part * size, keys_of_queries(s, 0, s.Tq).begin);
  const int64_t end = min(part * size + size, keys_of_queries(s, 0, s.Tq).end);
  for (int64_t first = begin + warp * kTogether<T>; first < end; first += kWarps * kTogether<T>) {
    C scores[kTogether<T>][N];
    for (int t = 0; t < kTogether<T>; ++t) {
      C key[kSlots<T>];
      load_row(k(first + t), s.D, key);
      TAPE_UNROLL for (int n = 0; n < N; ++n) {
        C sum = 0;
        for (int c = 0; c < kSlots<T>; ++c) sum += query[n][c] * key[c];
        scores[t][n] = sum;
      }
    }
    TAPE_UNROLL for (int t = 0; t < kTogether<T>; ++t) TAPE_UNROLL for (int n = 0; n < N; ++n) {
      TAPE_UNROLL for (int bits = 16; bits > 0; bits /= 2) scores[t][n] += value_of_lane(scores[t][n], bits);
      const bool shown = first + t < end && masks.shows(s, n, first + t);
      scores[t][n] = shown ? masks.score(s, n, first + t, scores[t][n]) : C(-INFINITY);
    }
    TAPE_UNROLL for (int n = 0; n < N; ++n) {
      C most = scores[0][n];
      for (int t = 1; t < kTogether<T>; ++t) most = max(most, scores[t][n]);
      const C base = state[n].raise(most);
      TAPE_UNROLL for (int t = 0; t < kTogether<T>; ++t) {
        const C e = exp_of_negative(scores[t][n] - base);
        state[n].sum += e;
        scores[t][n] = dropout.keeps(s, head.row(s, n), first + t) ? e * dropout.factor() : C(0);
      }
    }
    for (int t = 0; t < kTogether<T>; ++t) {
      C value[kSlots<T>];
      load_row(first + t < end ? v(first + t) : nullptr, s.Dv, value);
      for (int n = 0; n < N; ++n)
        for (int c = 0; c < kSlots<T>; ++c) state[n].out[c] += scores[t][n] * value[c];
    }
  }
  for (int n = 0; n < N; ++n) {
    for (int c = 0; c < kSlots<T>; ++c) states.out[warp][n][column_of<T>(c)] = state[n].out[c];
    if (lane() == 0) {
      states.highest[warp][n] = state[n].highest;
      states.sum[warp][n] = state[n].sum;
    }
  }
  __syncthreads();
  for (int n = 0; n < N && n < s.Tq; ++n) {
    C most = states.highest[0][n];
    for (int w = 1; w < kWarps; ++w) most = max(most, states.highest[w][n]);
    C* const to = partial + (head.row(s, n) * parts + part) * (s.Dv + 2);
    for (int64_t column = threadIdx.x; column < s.Dv + 2; column += AttentionParts::kThreads) {
      C sum = 0;
      for (int w = 0; w < kWarps; ++w) {
        const C value = column < s.Dv ? states.out[w][n][column] : states.sum[w][n];
        sum += value * exp_of_negative(states.highest[w][n] - finite_or_zero(most));
      }
      to[column] = column == s.Dv ? most : sum;
    }
  }
}
template <class T>
__device__ void attention_part_one(const AttentionShape& s, const AttentionOperands<T>& in, int64_t parts,
                                   Compute<T>* partial) {
  attention_part<T, 1>(s, in, parts, partial);
}
template <class T>
__device__ void attention_part_few(const AttentionShape& s, const AttentionOperands<T>& in, int64_t parts,
                                   Compute<T>* partial) {
  attention_part<T, AttentionParts::kMostQueries>(s, in, parts, partial);
}

/// The outputs of one query per block, from all parts.
template <class T>
__device__ void attention_join(AttentionShape s, int64_t parts, const Compute<T>* partial, AttentionResults<T> to) {
  using C = Compute<T>;
  const int64_t row = blockIdx.x, pitch = s.Dv + 2;
  const C* const from = partial + row * parts * pitch;
  C most = -INFINITY, sum = 0;
  for (int64_t part = 0; part < parts; ++part) most = max(most, from[part * pitch + s.Dv]);
  const C base = finite_or_zero(most);
  for (int64_t part = 0; part < parts; ++part)
    sum += from[part * pitch + s.Dv + 1] * exp_of_negative(from[part * pitch + s.Dv] - base);
  const C inverse = sum == 0 ? C(0) : 1 / sum;
  const Head head(s, row / s.Tq);
  for (int64_t column = threadIdx.x; column < s.Dv; column += blockDim.x) {
    C value = 0;
    for (int64_t part = 0; part < parts; ++part)
      value += from[part * pitch + column] * exp_of_negative(from[part * pitch + s.Dv] - base);
    to.out[head.at(s.out) + row % s.Tq * s.out.row + column] = narrowed<T>(value * inverse);
  }
  if (threadIdx.x != 0) return;
  to.highest[row] = base;
  to.inverse[row] = inverse;
}

}  // namespace

TAPE_EXPORT_WITH_BF16(attention_part_one,
                      (AttentionShape s, AttentionOperands<T> in, int64_t parts, Compute<T>* partial),
                      (s, in, parts, partial))
TAPE_EXPORT_WITH_BF16(attention_part_few,
                      (AttentionShape s, AttentionOperands<T> in, int64_t parts, Compute<T>* partial),
                      (s, in, parts, partial))
TAPE_EXPORT_WITH_BF16(attention_join,
                      (AttentionShape s, int64_t parts, const Compute<T>* partial, AttentionResults<T> to),
                      (s, parts, partial, to))
