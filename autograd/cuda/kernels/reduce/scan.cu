// Scans along the middle axis of [outer, size, inner], from the first position or, with `reverse`, from the last one.
// The state is kept in double, as on the CPU. A warp or a thread scans a line; products are computed by one thread,
// since another order would overflow elsewhere.
#include "../lines.h"

namespace {

/// Scans each line in steps of one position per thread that shares it: Scan::take(i, t) is the state of a single
/// position (index i, position t), Scan::then(a, b) the state after the positions of a and then those of b,
/// Scan::write(state, i, t) stores the state of all positions up to t.
template <class Scan>
__device__ void scan_lines(int64_t outer, int64_t size, int64_t inner, bool reverse, const Scan& scan) {
  using State = typename Scan::State;
  for_lines(outer * inner, [&](int64_t line) {
    const auto [at, step] = line_of(line, size, inner);
    const int lane = static_cast<int>(threadIdx.x);
    State before = scan.start();
    for (int64_t begin = 0; begin < size; begin += static_cast<int64_t>(blockDim.x)) {
      const int64_t s = begin + lane, t = reverse ? size - 1 - s : s;
      State state = s < size ? scan.take(at + t * step, t) : scan.start();
      // Within a warp: the state of 1, 2, 4, ... positions up to this one.
      for (int distance = 1; distance < static_cast<int>(blockDim.x); distance *= 2) {
        const State other = scan.of_lane(state, lane - distance);
        if (lane >= distance) state = scan.then(other, state);
      }
      state = scan.then(before, state);
      if (s < size) scan.write(state, at + t * step, t);
      if (blockDim.x == 1)
        before = state;
      else
        before = scan.of_lane(state, 31);
    }
  });
}

/// Calls step(state, index, t) for the positions of each line in turn, by one thread.
template <class Step>
__device__ void walk_lines(int64_t outer, int64_t size, int64_t inner, bool reverse, double start, const Step& step) {
  for (int64_t line = thread_of_grid(); line < outer * inner; line += threads_of_grid()) {
    const Line positions = line_of(line, size, inner);
    double state = start;
    for (int64_t s = 0; s < size; ++s) {
      const int64_t t = reverse ? size - 1 - s : s;
      step(state, positions.at + t * positions.step, t);
    }
  }
}

template <class T>
struct CumulativeSum {
  using State = double;
  const T* x;
  T* y;
  __device__ State start() const { return 0; }
  __device__ State take(int64_t i, int64_t) const { return static_cast<double>(x[i]); }
  __device__ State then(State a, State b) const { return a + b; }
  __device__ State of_lane(State state, int lane) const { return __shfl_sync(~0U, state, lane & 31); }
  __device__ void write(State state, int64_t i, int64_t) const { y[i] = static_cast<T>(state); }
};
/// log(e^a + e^b); NaN propagates, and equal infinities have a difference of 0.
template <class T>
struct CumulativeLogSumExp {
  using State = double;
  const T* x;
  T* y;
  __device__ State start() const { return -INFINITY; }
  __device__ State take(int64_t i, int64_t) const { return static_cast<double>(x[i]); }
  __device__ State then(State a, State b) const {
    const double high = b > a ? b : a, low = b > a ? a : b;
    if (a != a || b != b) return a + b;
    if (low == -INFINITY || high == INFINITY) return high;
    return high + log1p(exp(low - high));
  }
  __device__ State of_lane(State state, int lane) const { return __shfl_sync(~0U, state, lane & 31); }
  __device__ void write(State state, int64_t i, int64_t) const { y[i] = static_cast<T>(state); }
};

/// A position's value and index; index -1 before the first one. Of equal values the last one is taken, a NaN persists.
template <class T>
struct CumulativeExtremum {
  struct State {
    T value;
    int64_t at;
  };
  const T* x;
  bool largest;
  T* values;
  int64_t* index;
  __device__ State start() const { return {T(largest ? -INFINITY : INFINITY), -1}; }
  __device__ State take(int64_t i, int64_t t) const { return {x[i], t}; }
  __device__ State then(State a, State b) const {
    if (b.at < 0) return a;
    if (a.at < 0 || b.value != b.value) return b;
    if (a.value != a.value) return a;
    return (largest ? b.value < a.value : b.value > a.value) ? a : b;
  }
  __device__ State of_lane(State state, int lane) const {
    return {__shfl_sync(~0U, state.value, lane & 31), __shfl_sync(~0U, state.at, lane & 31)};
  }
  __device__ void write(State state, int64_t i, int64_t) const {
    values[i] = state.value;
    index[i] = state.at;
  }
};

/// y[t] = x[0] + ... + x[t]
template <class T>
__device__ void cumsum(int64_t outer, int64_t size, int64_t inner, const T* x, T* y, bool reverse) {
  scan_lines(outer, size, inner, reverse, CumulativeSum<T>{x, y});
}
/// y[t] = log(exp(x[0]) + ... + exp(x[t]))
template <class T>
__device__ void logcumsumexp(int64_t outer, int64_t size, int64_t inner, const T* x, T* y) {
  scan_lines(outer, size, inner, false, CumulativeLogSumExp<T>{x, y});
}
/// dx[t] = exp(x[t] - y[t]) g[t], g[t] = dy[t] + exp(y[t] - y[t + 1]) g[t + 1]: no exponential exceeds 1.
template <class T>
__device__ void logcumsumexp_backward(int64_t outer, int64_t size, int64_t inner, const T* x, const T* y, const T* dy,
                                      T* dx) {
  walk_lines(outer, size, inner, true, 0, [=](double& g, int64_t i, int64_t t) {
    if (y[i] == -INFINITY) {
      dx[i] = 0;
      g = 0;
      return;
    }
    const double total = static_cast<double>(y[i]);
    g += static_cast<double>(dy[i]);
    dx[i] = static_cast<T>(g * exp(static_cast<double>(x[i]) - total));
    if (t > 0 && y[i - inner] != y[i])  // both may be infinite
      g *= exp(static_cast<double>(y[i - inner]) - total);
  });
}
/// The maximum (or minimum) so far and its index.
template <class T>
__device__ void cumulative_extremum(int64_t outer, int64_t size, int64_t inner, const T* x, bool largest, T* values,
                                    int64_t* index) {
  scan_lines(outer, size, inner, false, CumulativeExtremum<T>{x, largest, values, index});
}

/// y[t] = x[0] ... x[t]
template <class T>
__device__ void cumprod(int64_t outer, int64_t size, int64_t inner, const T* x, T* y) {
  walk_lines(outer, size, inner, false, 1, [=](double& product, int64_t i, int64_t) {
    product *= static_cast<double>(x[i]);
    y[i] = static_cast<T>(product);
  });
}
/// dx[t] = y[t - 1] g[t], g[t] = dy[t] + x[t + 1] g[t + 1]
template <class T>
__device__ void cumprod_backward(int64_t outer, int64_t size, int64_t inner, const T* x, const T* y, const T* dy,
                                 T* dx) {
  walk_lines(outer, size, inner, true, 0, [=](double& g, int64_t i, int64_t t) {
    // g holds x[t + 1] g[t + 1].
    g += static_cast<double>(dy[i]);
    dx[i] = static_cast<T>(t > 0 ? g * static_cast<double>(y[i - inner]) : g);
    g *= static_cast<double>(x[i]);
  });
}
/// y[t] = a[t] y[t - 1] + b[t]; the first position has no predecessor.
template <class T>
__device__ void linear_scan(int64_t outer, int64_t size, int64_t inner, const T* a, const T* b, T* y, bool reverse) {
  const int64_t first = reverse ? size - 1 : 0;
  walk_lines(outer, size, inner, reverse, 0, [=](double& value, int64_t i, int64_t t) {
    value = (t == first ? 0 : static_cast<double>(a[i]) * value) + static_cast<double>(b[i]);
    y[i] = static_cast<T>(value);
  });
}

}  // namespace

TAPE_EXPORT(cumsum, (int64_t outer, int64_t size, int64_t inner, const T* x, T* y, bool reverse),
            (outer, size, inner, x, y, reverse))
TAPE_EXPORT(logcumsumexp, (int64_t outer, int64_t size, int64_t inner, const T* x, T* y), (outer, size, inner, x, y))
TAPE_EXPORT(logcumsumexp_backward,
            (int64_t outer, int64_t size, int64_t inner, const T* x, const T* y, const T* dy, T* dx),
            (outer, size, inner, x, y, dy, dx))
TAPE_EXPORT(cumulative_extremum,
            (int64_t outer, int64_t size, int64_t inner, const T* x, bool largest, T* values, int64_t* index),
            (outer, size, inner, x, largest, values, index))
TAPE_EXPORT(cumprod, (int64_t outer, int64_t size, int64_t inner, const T* x, T* y), (outer, size, inner, x, y))
TAPE_EXPORT(cumprod_backward, (int64_t outer, int64_t size, int64_t inner, const T* x, const T* y, const T* dy, T* dx),
            (outer, size, inner, x, y, dy, dx))
TAPE_EXPORT(linear_scan, (int64_t outer, int64_t size, int64_t inner, const T* a, const T* b, T* y, bool reverse),
            (outer, size, inner, a, b, y, reverse))
