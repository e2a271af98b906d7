#include "fold_lines.h"
#include "spans.h"

namespace {

template <class T>
__device__ void reduce_sum(FoldShape shape, const T* x, T* y) {
  fold_lines(shape, x, y, T(0), Unchanged(), Add());
}

/// A value and its position; -1: none.
template <class T>
struct Best {
  T value;
  int64_t at;
};
template <class T>
__device__ Best<T> value_of_lane(Best<T> best, int bits) {
  return {::value_of_lane(best.value, bits), ::value_of_lane(best.at, bits)};
}

/// NaN is better than any other value; of equal values, the first one is.
template <bool kMax>
struct Better {
  template <class T>
  __device__ static bool wins(const Best<T>& a, const Best<T>& b) {
    if (a.at < 0 || b.at < 0) return b.at < 0;
    const bool a_is_nan = a.value != a.value, b_is_nan = b.value != b.value;
    if (a_is_nan != b_is_nan) return a_is_nan;
    if (a_is_nan || a.value == b.value) return a.at < b.at;
    return kMax ? a.value > b.value : a.value < b.value;
  }
  template <class T>
  __device__ Best<T> operator()(const Best<T>& a, const Best<T>& b) const {
    return wins(a, b) ? a : b;
  }
};

/// The best value of each part and its position. `positions` are those of x in a larger array, or null.
template <bool kMax, class T>
__device__ void best_of_lines(const FoldShape& shape, const T* x, const int64_t* positions, T* y, int64_t* index) {
  const Better<kMax> better;
  for_lines(shape.outer * shape.parts * shape.inner, [&](int64_t line) {
    const int64_t i = line % shape.inner, part = line / shape.inner % shape.parts;
    const int64_t at = line / shape.inner / shape.parts * shape.size * shape.row + i, begin = part * shape.chunk;
    Best<T> best = {T(0), -1};
    for_positions(begin, min(shape.size, begin + shape.chunk), [&](int64_t s) {
      const int64_t from = at + s * shape.row;
      best = better(best, Best<T>{x[from], positions ? positions[from] : s});
    });
    best = over_line(best, better);
    if (threadIdx.x != 0) return;
    y[line] = best.value;
    if (index) index[line] = best.at;
  });
}
template <class T>
__device__ void reduce_max(FoldShape shape, const T* x, const int64_t* positions, T* y, int64_t* index) {
  best_of_lines<true>(shape, x, positions, y, index);
}
template <class T>
__device__ void reduce_min(FoldShape shape, const T* x, const int64_t* positions, T* y, int64_t* index) {
  best_of_lines<false>(shape, x, positions, y, index);
}

/// The span that the part of this block belongs to.
template <class T>
__device__ int64_t span_of_block(const Spans<T>& spans) {
  int64_t low = 0, high = spans.count;  // first[low] <= part < first[high]
  while (high - low > 1) {
    const int64_t middle = (low + high) / 2;
    (spans.first[middle] <= static_cast<int64_t>(blockIdx.x) ? low : high) = middle;
  }
  return low;
}
/// Sum of term(value) over the part of this block.
template <class T, class Term>
__device__ double sum_of_part(const Spans<T>& spans, int64_t span, const Term& term) {
  const int64_t begin = (static_cast<int64_t>(blockIdx.x) - spans.first[span]) * spans.kPart;
  const T* const values = spans.values[span];
  double sum = 0;
  for_positions(begin, min(spans.n[span], begin + spans.kPart), [&](int64_t i) { sum += term(values[i]); });
  return over_line(sum, Add());
}
/// partial[part] = sum of squares over that part, with a block per part.
template <class T>
__device__ void span_squares(Spans<T> spans, double* partial) {
  const double sum =
      sum_of_part(spans, span_of_block(spans), [](T v) { return static_cast<double>(v) * static_cast<double>(v); });
  if (threadIdx.x == 0) partial[blockIdx.x] = sum;
}
/// *first = the smallest index, counted from `base`, of a span with a value that is not finite; it starts as -1, the
/// largest unsigned number.
template <class T>
__device__ void span_not_finite(Spans<T> spans, int64_t base, int64_t* first) {
  const int64_t span = span_of_block(spans);
  const double bad = sum_of_part(spans, span, [](T v) { return v - v == 0 ? 0.0 : 1.0; });
  if (threadIdx.x == 0 && bad != 0)
    atomicMin(reinterpret_cast<unsigned long long*>(first), static_cast<unsigned long long>(base + span));
}

/// *result = the sum of n values, in one block.
__device__ void span_sum(int64_t n, const double* partial, double* result) {
  double sum = 0;
  for_positions(0, n, [&](int64_t i) { sum += partial[i]; });
  sum = over_line(sum, Add());
  if (threadIdx.x == 0) *result = sum;
}

}  // namespace

TAPE_EXPORT(reduce_sum, (FoldShape shape, const T* x, T* y), (shape, x, y))
TAPE_EXPORT(reduce_max, (FoldShape shape, const T* x, const int64_t* positions, T* y, int64_t* index),
            (shape, x, positions, y, index))
TAPE_EXPORT(reduce_min, (FoldShape shape, const T* x, const int64_t* positions, T* y, int64_t* index),
            (shape, x, positions, y, index))
TAPE_EXPORT(span_squares, (Spans<T> spans, double* partial), (spans, partial))
TAPE_EXPORT(span_not_finite, (Spans<T> spans, int64_t base, int64_t* first), (spans, base, first))
TAPE_EXPORT_ONE(span_sum, (int64_t n, const double* partial, double* result), (n, partial, result))
