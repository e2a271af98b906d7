#include "autograd/kernels/reduce/reduce.h"

#include "autograd/cuda/kernels/reduce/spans.h"
#include "autograd/cuda/launch/lines.h"

namespace tape::kernels::cuda {
namespace {

constinit const FloatKernels kReduceSum = TAPE_FLOAT_KERNELS(reduce_sum);
constinit const FloatKernels kReduceMax = TAPE_FLOAT_KERNELS(reduce_max);
constinit const FloatKernels kReduceMin = TAPE_FLOAT_KERNELS(reduce_min);
constinit const FloatKernels kSpanSquares = TAPE_FLOAT_KERNELS(span_squares);
constinit const FloatKernels kSpanNotFinite = TAPE_FLOAT_KERNELS(span_not_finite);
constinit const cuda_device::Kernel kSpanSum("span_sum");

template <class T>
void best_in_parts(const FloatKernels& kernel, int64_t outer, int64_t size, int64_t inner, const T* x,
                   const int64_t* positions, T* y, int64_t* index) {
  const FoldShape shape = fold_shape(outer, size, inner);
  const Launch launch = over_parts(shape);
  if (shape.parts == 1) return kernel.of<T>()(launch.blocks, launch.threads, shape, x, positions, y, index);
  const int64_t count = outer * shape.parts * inner;
  const DeviceScratch<T> values(count);
  const DeviceScratch<int64_t> at(count);
  kernel.of<T>()(launch.blocks, launch.threads, shape, x, positions, values.get(), at.get());
  best_in_parts(kernel, outer, shape.parts, inner, static_cast<const T*>(values.get()),
                static_cast<const int64_t*>(at.get()), y, index);
}
template <class T>
void max_of_lines(int64_t outer, int64_t size, int64_t inner, const T* x, T* y, int64_t* index) {
  best_in_parts(kReduceMax, outer, size, inner, x, static_cast<const int64_t*>(nullptr), y, index);
}
template <class T>
void min_of_lines(int64_t outer, int64_t size, int64_t inner, const T* x, T* y, int64_t* index) {
  best_in_parts(kReduceMin, outer, size, inner, x, static_cast<const int64_t*>(nullptr), y, index);
}

/// Number of parts of a span.
template <class T>
int64_t parts_of(const Span<T>& span) {
  return quotient_up(span.n, Spans<T>::kPart);
}

/// Calls launch(spans, begin, parts) for as many spans at a time as fit into the arguments of a kernel, from index
/// `begin` on, which have `parts` parts.
template <class T, class Launch>
void for_spans(int64_t count, const Span<T>* spans, const Launch& launch) {
  for (int64_t begin = 0; begin < count; begin += Spans<T>::kMost) {
    Spans<T> some = {};
    some.count = std::min<int64_t>(Spans<T>::kMost, count - begin);
    int64_t next = 0;
    for (int64_t s = 0; s < some.count; ++s) {
      const Span<T>& span = spans[begin + s];
      some.values[s] = span.values;
      some.n[s] = span.n;
      some.first[s] = next;
      next += parts_of(span);
    }
    launch(some, begin, next);
  }
}

template <class T>
void squares_of_spans(int64_t count, const Span<T>* spans, double* result) {
  int64_t parts = 0;
  for (int64_t s = 0; s < count; ++s) parts += parts_of(spans[s]);
  const DeviceScratch<double> partial(std::max<int64_t>(1, parts));
  double* to = partial.get();
  for_spans(count, spans, [&](const Spans<T>& some, int64_t, int64_t blocks) {
    kSpanSquares.of<T>()({static_cast<uint32_t>(blocks)}, {256}, some, to);
    to += blocks;
  });
  kSpanSum({1}, {256}, parts, static_cast<const double*>(partial.get()), result);
}
template <class T>
void first_span_not_finite(int64_t count, const Span<T>* spans, int64_t* first) {
  cuda_device::fill_bytes(first, 0xff, sizeof(int64_t));  // -1
  for_spans(count, spans, [&](const Spans<T>& some, int64_t begin, int64_t blocks) {
    kSpanNotFinite.of<T>()({static_cast<uint32_t>(blocks)}, {256}, some, begin, first);
  });
}

template <class T>
void sum_lines(int64_t outer, int64_t size, int64_t inner, const T* x, T* y) {
  fold_in_parts(kReduceSum, kReduceSum, fold_shape(outer, size, inner), x, y);
}
}  // namespace

template <class T>
void sum_of_rows(int64_t rows, int64_t cols, int64_t row, const T* x, T* y) {
  FoldShape shape = fold_shape(1, rows, cols);
  shape.row = row;
  fold_in_parts(kReduceSum, kReduceSum, shape, x, y);
}
template void sum_of_rows(int64_t, int64_t, int64_t, const float*, float*);
template void sum_of_rows(int64_t, int64_t, int64_t, const double*, double*);

TAPE_DEFINE_TABLES(ReduceKernels, reduce, .sum = sum_lines<T>, .max = max_of_lines<T>, .min = min_of_lines<T>,
                   .sum_of_squares = squares_of_spans<T>, .first_not_finite = first_span_not_finite<T>)

}  // namespace tape::kernels::cuda
