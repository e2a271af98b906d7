#include "autograd/kernels/norm/softmax.h"

#include <algorithm>

#include "autograd/kernels/vector/row_math.h"

namespace tape::kernels::TAPE_LEVEL {
namespace {

/// each(offset of the row) in parallel.
template <class Each>
TAPE_INLINE void for_each_row(int64_t rows, int64_t cols, const Each& each) {
  if (cols == 0) return;
  for_chunks(rows, 2 * cols, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) each(r * cols);
  });
}

template <class T>
void softmax(int64_t rows, int64_t cols, const T* x, T* y) {
  constexpr int kStep = kLanes<T>;
  const T lowest = static_cast<T>(-kInfinity);
  for_each_row(rows, cols, [&](int64_t at) {
    const T max = finite_or_zero(row_max(cols, x + at));
    if (cols <= kStep) {  // the whole row in one register
      const Vec<T> e = exp_of_negative(load_first_or_all(x + at, cols, lowest) - max);
      const T sum = fold(e, Add());
      store_first_or_all(y + at, e * (sum == T(0) ? T(0) : T(1) / sum), cols);
      return;
    }
    const double sum = row_sum(cols, x + at, lowest, [&](Vec<T> v, int64_t i) {
      const Vec<T> e = exp_of_negative(v - max);
      store_first_or_all(y + at + i, e, cols - i);
      return e;
    });
    const T scale = sum == 0 ? T(0) : static_cast<T>(1 / sum);
    map_row(cols, y + at, y + at, [scale](Vec<T> v, int64_t) { return v * scale; });
  });
}

template <class T>
void softmax_backward(int64_t rows, int64_t cols, const T* y, const T* dy, T* dx) {
  for_each_row(rows, cols, [&](int64_t at) {
    const T dot = static_cast<T>(
        row_sum(cols, y + at, T(0), [&](Vec<T> v, int64_t i) { return v * load_up_to(dy + at, i, cols); }));
    map_row(cols, y + at, dx + at, [&](Vec<T> v, int64_t i) { return v * (load_up_to(dy + at, i, cols) - dot); });
  });
}

template <class T>
void log_softmax(int64_t rows, int64_t cols, const T* x, T* y) {
  for_each_row(rows, cols, [&](int64_t at) {
    const T max = finite_or_zero(row_max(cols, x + at));
    const double sum = row_sum_exp(cols, x + at, max);
    // A row of -inf has sum 0: its values stay -inf.
    const T log_sum = sum == 0 ? T(0) : static_cast<T>(__builtin_log(sum));
    map_row(cols, x + at, y + at, [&](Vec<T> v, int64_t) { return (v - max) - log_sum; });
  });
}

template <class T>
void log_softmax_backward(int64_t rows, int64_t cols, const T* y, const T* dy, T* dx) {
  const T lowest = static_cast<T>(-kInfinity);
  for_each_row(rows, cols, [&](int64_t at) {
    // A row of nothing but -inf has no gradient.
    if (y[at] == lowest && row_max(cols, y + at) == lowest) {
      std::fill_n(dx + at, cols, T(0));
      return;
    }
    const T sum = static_cast<T>(row_sum(cols, dy + at, T(0), [](Vec<T> v, int64_t) { return v; }));
    map_row(cols, y + at, dx + at,
            [&](Vec<T> v, int64_t i) { return load_up_to(dy + at, i, cols) - exp_of_negative(v) * sum; });
  });
}
}  // namespace

extern const SoftmaxKernels<float> softmax_f32 = {softmax<float>, softmax_backward<float>, log_softmax<float>,
                                                  log_softmax_backward<float>};
extern const SoftmaxKernels<double> softmax_f64 = {softmax<double>, softmax_backward<double>, log_softmax<double>,
                                                   log_softmax_backward<double>};

}  // namespace tape::kernels::TAPE_LEVEL
