#include "autograd/kernels/reduce/reduce.h"

#include "autograd/kernels/reduce/reduce_columns.h"

namespace tape::kernels::TAPE_LEVEL {
namespace {

template <class T>
void sum(int64_t outer, int64_t size, int64_t inner, const T* x, T* y) {
  sum_terms(outer, size, inner, x, y, Unchanged());
}

template <bool Max, class T>
TAPE_INLINE bool better(T candidate, T best) {
  return (Max ? candidate > best : candidate < best) | ((candidate != candidate) & (best == best));
}

template <bool Max, class T>
void best_middle(int64_t outer, int64_t size, int64_t inner, const T* x, T* y, int64_t* index) {
  const int64_t tiles = ceil_div(inner, kTile);
  for_tasks(outer * tiles, outer * size * inner > 2 * kChunk, [&](int64_t task) {
    const int64_t o = task / tiles, column = task % tiles * kTile, width = smaller(kTile, inner - column);
    const T* from = x + o * size * inner + column;
    T* to = y + o * inner + column;
    int64_t* at = index ? index + o * inner + column : nullptr;
    for (int64_t i = 0; i < width; ++i) to[i] = from[i];
    for (int64_t i = 0; at && i < width; ++i) at[i] = 0;
    for (int64_t s = 1; s < size; ++s) {
      const T* row = from + s * inner;
      if (at) {
        for (int64_t i = 0; i < width; ++i) {
          const bool take = better<Max>(row[i], to[i]);
          to[i] = take ? row[i] : to[i];
          at[i] = take ? s : at[i];
        }
      } else {
        for (int64_t i = 0; i < width; ++i) to[i] = better<Max>(row[i], to[i]) ? row[i] : to[i];
      }
    }
  });
}

template <bool Max, class T>
void best(int64_t outer, int64_t size, int64_t inner, const T* x, T* y, int64_t* index) {
  if (outer == 0 || inner == 0) return;
  if (inner > 1) return best_middle<Max>(outer, size, inner, x, y, index);
  for_chunks(outer, size, [&](int64_t begin, int64_t end) {
    for (int64_t o = begin; o < end; ++o) {
      const T* row = x + o * size;
      y[o] = best_of_row<Max>(size, row);
      if (index) index[o] = first_equal(size, row, y[o]);
    }
  });
}

/// The sum of part(values, n) over the chunks of each span, pairwise within a span and then in the order of the spans.
template <class T, class Part>
TAPE_INLINE double sum_of_parts(int64_t count, const Span<T>* spans, const Part& part) {
  int64_t chunks = 0;
  for (int64_t s = 0; s < count; ++s) chunks += ceil_div(spans[s].n, kChunk);
  Scratch<Span<T>> parts(chunks);
  Scratch<double> sums(chunks);
  for (int64_t s = 0, next = 0; s < count; ++s)
    for (int64_t begin = 0; begin < spans[s].n; begin += kChunk)
      parts[next++] = {spans[s].values + begin, smaller(kChunk, spans[s].n - begin)};
  for_tasks(chunks, chunks > 2, [&](int64_t c) { sums[c] = part(parts[c].n, parts[c].values); });
  double total = 0;
  for (int64_t s = 0, next = 0; s < count; next += ceil_div(spans[s++].n, kChunk))
    total += sum_pairwise(ceil_div(spans[s].n, kChunk), sums.data() + next);
  return total;
}

template <class T>
void sum_of_squares(int64_t count, const Span<T>* spans, double* result) {
  *result = sum_of_parts(count, spans, [](int64_t n, const T* x) {
    // Many independent sums hide the latency of the additions.
    constexpr int64_t kSums = 32;
    double sums[kSums] = {};
    const int64_t whole = n / kSums * kSums;
    for (int64_t i = 0; i < whole; i += kSums)
      for (int64_t j = 0; j < kSums; ++j) sums[j] += static_cast<double>(x[i + j]) * static_cast<double>(x[i + j]);
    double total = 0;
    for (int64_t j = 0; j < kSums; ++j) total += sums[j];
    for (int64_t i = whole; i < n; ++i) total += static_cast<double>(x[i]) * static_cast<double>(x[i]);
    return total;
  });
}

template <class T>
bool all_finite(int64_t count, const Span<T>* spans) {
  using Bits = std::conditional_t<std::is_same_v<T, float>, int32_t, int64_t>;
  // All bits set if a value is not finite.
  constexpr Bits exponent = __builtin_bit_cast(Bits, static_cast<T>(kInfinity));
  return sum_of_parts(count, spans, [](int64_t n, const T* x) {
           Bits bad = 0;
           for (int64_t i = 0; i < n; ++i) {
             const Bits bits = __builtin_bit_cast(Bits, x[i]) & exponent;
             bad |= bits == exponent ? Bits(1) : Bits(0);
           }
           return static_cast<double>(bad);
         }) == 0;
}

template <class T>
void first_not_finite(int64_t count, const Span<T>* spans, int64_t* first) {
  *first = -1;
  if (all_finite(count, spans)) return;
  for (int64_t s = 0; s < count && *first < 0; ++s)
    if (!all_finite(1, spans + s)) *first = s;
}
}  // namespace

TAPE_DEFINE_TABLES(ReduceKernels, reduce, sum<T>, best<true, T>, best<false, T>, sum_of_squares<T>, first_not_finite<T>)

}  // namespace tape::kernels::TAPE_LEVEL
