#include "../lines.h"
#include "../stable_exp.h"

// Softmax and its logarithm along the middle axis of [outer, size, inner], with their gradients.

namespace {

/// y = exp(x - max) / sum(exp(x - max)); zeros if all values are -inf.
template <class T>
__device__ void softmax(int64_t outer, int64_t size, int64_t inner, const T* x, T* y) {
  for_lines(outer * inner, [&](int64_t line) {
    const auto [at, step] = line_of(line, size, inner);
    const T max = max_of_line(size, step, x + at);
    LongSum<T> sum;
    for_positions(0, size, [&](int64_t s) {
      const T e = exp_of_negative(x[at + s * step] - max);
      y[at + s * step] = e;
      sum.add(e);
    });
    const double total = sum.of_line();
    const T scale = static_cast<T>(total == 0 ? 0 : 1 / total);
    for_positions(0, size, [&](int64_t s) { y[at + s * step] *= scale; });
  });
}

/// dx = y (dy - sum(dy y))
template <class T>
__device__ void softmax_backward(int64_t outer, int64_t size, int64_t inner, const T* y, const T* dy, T* dx) {
  for_lines(outer * inner, [&](int64_t line) {
    const auto [at, step] = line_of(line, size, inner);
    LongSum<T> sum;
    for_positions(0, size, [&](int64_t s) { sum.add(y[at + s * step] * dy[at + s * step]); });
    const T dot = static_cast<T>(sum.of_line());
    for_positions(0, size, [&](int64_t s) {
      const int64_t i = at + s * step;
      dx[i] = y[i] * (dy[i] - dot);
    });
  });
}

/// y = x - max - log(sum(exp(x - max))); -inf if all values are.
template <class T>
__device__ void log_softmax(int64_t outer, int64_t size, int64_t inner, const T* x, T* y) {
  for_lines(outer * inner, [&](int64_t line) {
    const auto [at, step] = line_of(line, size, inner);
    const T max = max_of_line(size, step, x + at);
    const double sum = sum_of_exp(size, step, x + at, max);
    const T log_sum = static_cast<T>(sum == 0 ? 0 : log(sum));
    for_positions(0, size, [&](int64_t s) { y[at + s * step] = (x[at + s * step] - max) - log_sum; });
  });
}

/// dx = dy - exp(y) sum(dy); zeros if all y are -inf.
template <class T>
__device__ void log_softmax_backward(int64_t outer, int64_t size, int64_t inner, const T* y, const T* dy, T* dx) {
  for_lines(outer * inner, [&](int64_t line) {
    const auto [at, step] = line_of(line, size, inner);
    int seen = 0;
    for_positions(0, size, [&](int64_t s) { seen |= y[at + s * step] != -INFINITY; });
    const bool hidden = over_line(seen, Larger()) == 0;
    LongSum<T> all;
    for_positions(0, size, [&](int64_t s) { all.add(dy[at + s * step]); });
    const T sum = static_cast<T>(all.of_line());
    for_positions(0, size, [&](int64_t s) {
      const int64_t i = at + s * step;
      dx[i] = hidden ? T(0) : dy[i] - exp_of_negative(y[i]) * sum;
    });
  });
}

}  // namespace

TAPE_EXPORT(softmax, (int64_t outer, int64_t size, int64_t inner, const T* x, T* y), (outer, size, inner, x, y))
TAPE_EXPORT(softmax_backward, (int64_t outer, int64_t size, int64_t inner, const T* y, const T* dy, T* dx),
            (outer, size, inner, y, dy, dx))
TAPE_EXPORT(log_softmax, (int64_t outer, int64_t size, int64_t inner, const T* x, T* y), (outer, size, inner, x, y))
TAPE_EXPORT(log_softmax_backward, (int64_t outer, int64_t size, int64_t inner, const T* y, const T* dy, T* dx),
            (outer, size, inner, y, dy, dx))
