#include "autograd/kernels/reduce/scan.h"

#include "autograd/kernels/runtime/level.h"

namespace tape::kernels::TAPE_LEVEL {
namespace {

/// Number of lines processed together, whose state fits in the L1 cache.
constexpr int64_t kLines = 256;

/// Calls step(carried, position in x, t) along every line, adjacent lines together.
template <class Carried, class Step>
TAPE_INLINE void scan_lines(int64_t outer, int64_t size, int64_t inner, bool reverse, const Carried& start,
                            const Step& step) {
  if (size == 0 || inner == 0) return;
  const int64_t width = smaller(kLines, inner), tiles = ceil_div(inner, width);
  for_tasks(outer * tiles, outer * size * inner > 2 * kChunk, [&](int64_t task) {
    const int64_t column = task % tiles * width, count = smaller(width, inner - column);
    const int64_t base = task / tiles * size * inner + column;
    if (count == 1) {
      Carried carried = start;
      for (int64_t s = 0; s < size; ++s) {
        const int64_t t = reverse ? size - 1 - s : s;
        step(carried, base + t * inner, t);
      }
      return;
    }
    Carried carried[kLines];
    for (int64_t i = 0; i < count; ++i) carried[i] = start;
    for (int64_t s = 0; s < size; ++s) {
      const int64_t t = reverse ? size - 1 - s : s;
      for (int64_t i = 0; i < count; ++i) step(carried[i], base + t * inner + i, t);
    }
  });
}

template <class T>
void cumsum(int64_t outer, int64_t size, int64_t inner, const T* x, T* y, bool reverse) {
  scan_lines(outer, size, inner, reverse, 0.0, [=](double& sum, int64_t i, int64_t) {
    sum += static_cast<double>(x[i]);
    y[i] = static_cast<T>(sum);
  });
}

template <class T>
void cumprod(int64_t outer, int64_t size, int64_t inner, const T* x, T* y) {
  scan_lines(outer, size, inner, false, 1.0, [=](double& product, int64_t i, int64_t) {
    product *= static_cast<double>(x[i]);
    y[i] = static_cast<T>(product);
  });
}

template <class T>
void cumprod_backward(int64_t outer, int64_t size, int64_t inner, const T* x, const T* y, const T* dy, T* dx) {
  scan_lines(outer, size, inner, true, 0.0, [=](double& g, int64_t i, int64_t t) {
    // g holds x[t + 1] g[t + 1].
    g += static_cast<double>(dy[i]);
    dx[i] = static_cast<T>(t > 0 ? g * static_cast<double>(y[i - inner]) : g);
    g *= static_cast<double>(x[i]);
  });
}

template <class T>
void linear(int64_t outer, int64_t size, int64_t inner, const T* a, const T* b, T* y, bool reverse) {
  const int64_t first = reverse ? size - 1 : 0;
  scan_lines(outer, size, inner, reverse, 0.0, [=](double& value, int64_t i, int64_t t) {
    // The first position has no predecessor, so its factor a[0] is ignored.
    value = (t == first ? 0 : static_cast<double>(a[i]) * value) + static_cast<double>(b[i]);
    y[i] = static_cast<T>(value);
  });
}

template <class T>
void logcumsumexp(int64_t outer, int64_t size, int64_t inner, const T* x, T* y) {
  const double lowest = -__builtin_inf();
  scan_lines(outer, size, inner, false, lowest, [=](double& total, int64_t i, int64_t) {
    const double v = static_cast<double>(x[i]), high = v > total ? v : total, low = v > total ? total : v;
    // NaN propagates; the difference of equal infinities is taken as 0.
    total = v != v || total != total           ? v + total
            : low == lowest || high == -lowest ? high
                                               : high + __builtin_log1p(__builtin_exp(low - high));
    y[i] = static_cast<T>(total);
  });
}

template <class T>
void logcumsumexp_backward(int64_t outer, int64_t size, int64_t inner, const T* x, const T* y, const T* dy, T* dx) {
  const T lowest = static_cast<T>(-__builtin_inf());
  scan_lines(outer, size, inner, true, 0.0, [=](double& g, int64_t i, int64_t t) {
    if (y[i] == lowest) {
      dx[i] = 0;
      g = 0;
      return;
    }
    const double total = static_cast<double>(y[i]);
    g += static_cast<double>(dy[i]);
    dx[i] = static_cast<T>(g * __builtin_exp(static_cast<double>(x[i]) - total));
    if (t > 0 && y[i - inner] != y[i])  // both may be infinite
      g *= __builtin_exp(static_cast<double>(y[i - inner]) - total);
  });
}

template <class T>
void cumulative_extremum(int64_t outer, int64_t size, int64_t inner, const T* x, bool largest, T* values,
                         int64_t* index) {
  struct Best {
    T value;
    int64_t at;
  };
  const auto scan = [=](T start, const auto& worse) {
    scan_lines(outer, size, inner, false, Best{start, -1}, [=](Best& best, int64_t i, int64_t t) {
      const T v = x[i];
      // An equal value or a NaN replaces the current one; only a NaN replaces a NaN.
      if (!worse(v, best.value) && (best.value == best.value || v != v)) best = {v, t};
      values[i] = best.value;
      index[i] = best.at;
    });
  };
  const T infinity = static_cast<T>(__builtin_inf());
  if (largest)
    scan(-infinity, [](T v, T best) { return v < best; });
  else
    scan(infinity, [](T v, T best) { return v > best; });
}
}  // namespace

TAPE_DEFINE_TABLES(ScanKernels, scan, .cumsum = cumsum<T>, .cumprod = cumprod<T>,
                   .cumprod_backward = cumprod_backward<T>, .linear = linear<T>, .logcumsumexp = logcumsumexp<T>,
                   .logcumsumexp_backward = logcumsumexp_backward<T>, .cumulative_extremum = cumulative_extremum<T>)

}  // namespace tape::kernels::TAPE_LEVEL
