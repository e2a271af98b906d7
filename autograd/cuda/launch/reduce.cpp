#include "autograd/kernels/reduce/reduce.h"

#include "autograd/cuda/kernels/spans.h"
#include "autograd/cuda/launch/lines.h"

namespace tape::kernels::cuda {
namespace {

constinit const FloatKernels kReduceSum = TAPE_FLOAT_KERNELS(reduce_sum);
constinit const FloatKernels kReduceMax = TAPE_FLOAT_KERNELS(reduce_max);
constinit const FloatKernels kReduceMin = TAPE_FLOAT_KERNELS(reduce_min);
constinit const FloatKernels kSpanSquares = TAPE_FLOAT_KERNELS(span_squares);
constinit const FloatKernels kSpanNotFinite = TAPE_FLOAT_KERNELS(span_not_finite);
constinit const cuda_device::Kernel kSpanSum("span_sum");
constinit const cuda_device::Kernel kSpanSumIsZero("span_sum_is_zero");

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

/// The sums of `kernel` over the parts of all spans, combined by `finish` into *result.
template <class T, class R>
void reduce_spans(const FloatKernels& kernel, const cuda_device::Kernel& finish, int64_t count, const Span<T>* spans,
                  R* result) {
  const auto parts_of = [](const Span<T>& span) { return quotient_up(span.n, Spans<T>::kPart); };
  int64_t parts = 0;
  for (int64_t s = 0; s < count; ++s) parts += parts_of(spans[s]);
  const DeviceScratch<double> partial(std::max<int64_t>(1, parts));
  double* to = partial.get();
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
    kernel.of<T>()({static_cast<uint32_t>(next)}, {256}, some, to);
    to += next;
  }
  finish({1}, {256}, parts, static_cast<const double*>(partial.get()), result);
}
template <class T>
void squares_of_spans(int64_t count, const Span<T>* spans, double* result) {
  reduce_spans(kSpanSquares, kSpanSum, count, spans, result);
}
template <class T>
void spans_are_finite(int64_t count, const Span<T>* spans, bool* result) {
  reduce_spans(kSpanNotFinite, kSpanSumIsZero, count, spans, result);
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
                   .sum_of_squares = squares_of_spans<T>, .all_finite = spans_are_finite<T>)

}  // namespace tape::kernels::cuda
