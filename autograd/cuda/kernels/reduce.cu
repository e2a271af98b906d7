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

/// partial[part] = sum of term(value) over that part, with a block per part.
template <class T, class Term>
__device__ void sum_of_parts(const Spans<T>& spans, double* partial, const Term& term) {
  const int64_t part = blockIdx.x;
  int64_t low = 0, high = spans.count;  // first[low] <= part < first[high]
  while (high - low > 1) {
    const int64_t middle = (low + high) / 2;
    (spans.first[middle] <= part ? low : high) = middle;
  }
  const int64_t begin = (part - spans.first[low]) * spans.kPart;
  const T* const values = spans.values[low];
  double sum = 0;
  for_positions(begin, min(spans.n[low], begin + spans.kPart), [&](int64_t i) { sum += term(values[i]); });
  sum = over_line(sum, Add());
  if (threadIdx.x == 0) partial[part] = sum;
}
template <class T>
__device__ void span_squares(Spans<T> spans, double* partial) {
  sum_of_parts(spans, partial, [](T v) { return static_cast<double>(v) * static_cast<double>(v); });
}
/// Counts values that are not finite.
template <class T>
__device__ void span_not_finite(Spans<T> spans, double* partial) {
  sum_of_parts(spans, partial, [](T v) { return v - v == 0 ? 0.0 : 1.0; });
}

/// The sum of n values, in one block.
__device__ double sum_of_partial(int64_t n, const double* partial) {
  double sum = 0;
  for_positions(0, n, [&](int64_t i) { sum += partial[i]; });
  return over_line(sum, Add());
}
__device__ void span_sum(int64_t n, const double* partial, double* result) {
  const double sum = sum_of_partial(n, partial);
  if (threadIdx.x == 0) *result = sum;
}
__device__ void span_sum_is_zero(int64_t n, const double* partial, bool* result) {
  const double sum = sum_of_partial(n, partial);
  if (threadIdx.x == 0) *result = sum == 0;
}

}  // namespace

TAPE_EXPORT(reduce_sum, (FoldShape shape, const T* x, T* y), (shape, x, y))
TAPE_EXPORT(reduce_max, (FoldShape shape, const T* x, const int64_t* positions, T* y, int64_t* index),
            (shape, x, positions, y, index))
TAPE_EXPORT(reduce_min, (FoldShape shape, const T* x, const int64_t* positions, T* y, int64_t* index),
            (shape, x, positions, y, index))
TAPE_EXPORT(span_squares, (Spans<T> spans, double* partial), (spans, partial))
TAPE_EXPORT(span_not_finite, (Spans<T> spans, double* partial), (spans, partial))
TAPE_EXPORT_ONE(span_sum, (int64_t n, const double* partial, double* result), (n, partial, result))
TAPE_EXPORT_ONE(span_sum_is_zero, (int64_t n, const double* partial, bool* result), (n, partial, result))
