#include "autograd/kernels/loss/loss.h"

#include <algorithm>

#include "autograd/kernels/vector/hyperbolic.h"
#include "autograd/kernels/vector/row_math.h"

namespace tape::kernels::TAPE_LEVEL {
namespace {

template <class T>
double total_weight(int64_t V, const T* weight) {
  return weight ? row_sum(V, weight, T(0), [](Vec<T> v, int64_t) { return v; }) : static_cast<double>(V);
}

template <class T>
void cross_entropy(int64_t rows, int64_t V, const T* logits, const int64_t* target, const T* weight,
                   int64_t ignore_index, double s, T* loss, T* lse) {
  const double all = s != 0 ? total_weight(V, weight) : 0;
  for_chunks(rows, 2 * V, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      const T* x = logits + r * V;
      const T max = finite_or_zero(row_max(V, x));
      const double log_sum = static_cast<double>(max) + __builtin_log(row_sum_exp(V, x, max));
      lse[r] = static_cast<T>(log_sum);
      loss[r] = 0;
      const int64_t t = target[r];
      if (t == ignore_index) continue;
      const double w = weight ? static_cast<double>(weight[t]) : 1;
      double value = (1 - s) * w * (log_sum - static_cast<double>(x[t]));
      if (s != 0) {
        const double sum =
            row_sum(V, x, T(0), [&](Vec<T> v, int64_t i) { return weight ? v * load_up_to(weight, i, V) : v; });
        value += s / static_cast<double>(V) * (all * log_sum - sum);
      }
      loss[r] = static_cast<T>(value);
    }
  });
}

template <class T>
void cross_entropy_backward(int64_t rows, int64_t V, const T* logits, const int64_t* target, const T* weight,
                            int64_t ignore_index, double s, const T* lse, const T* dloss, T* dlogits) {
  const double all = s != 0 ? total_weight(V, weight) : 0;
  for_chunks(rows, 2 * V, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      T* dx = dlogits + r * V;
      const int64_t t = target[r];
      if (t == ignore_index) {
        __builtin_memset(dx, 0, static_cast<uint64_t>(V) * sizeof(T));
        continue;
      }
      const double w = weight ? static_cast<double>(weight[t]) : 1, d = static_cast<double>(dloss[r]);
      const T at_target = static_cast<T>(d * (1 - s) * w), each = static_cast<T>(d * s / static_cast<double>(V));
      const T probability = static_cast<T>(d * ((1 - s) * w + s / static_cast<double>(V) * all)), log_sum = lse[r];
      map_row(V, logits + r * V, dx, [&](Vec<T> v, int64_t i) {
        const Vec<T> p = exp_of_negative(v - log_sum) * probability;
        return weight && s != 0 ? p - each * load_up_to(weight, i, V) : p - each;
      });
      dx[t] -= at_target;
    }
  });
}
/// y[i] = f(x[i], t[i], dy[i]) for i in [begin, end); dy may be null.
template <class T, class F>
TAPE_INLINE void map_pairs_in(int64_t begin, int64_t end, const T* x, const T* t, const T* dy, T* y, const F& f) {
  int64_t i = begin;
  for (; i + kLanes<T> <= end; i += kLanes<T>) store(y + i, f(load(x + i), load(t + i), dy ? load(dy + i) : Vec<T>{}));
  if (i < end)
    store_first(y + i,
                f(load_first(x + i, end - i), load_first(t + i, end - i), dy ? load_first(dy + i, end - i) : Vec<T>{}),
                end - i);
}

/// The same for flat arrays of n values, on several threads.
template <class T, class F>
TAPE_INLINE void map_pairs(int64_t n, const T* x, const T* t, const T* dy, T* y, const F& f) {
  for_chunks(n, 2, [&](int64_t begin, int64_t end) { map_pairs_in(begin, end, x, t, dy, y, f); });
}

template <class T>
void huber(int64_t n, double most, double factor, const T* x, const T* t, T* y) {
  const T limit = static_cast<T>(most), scale = static_cast<T>(factor);
  map_pairs(n, x, t, static_cast<const T*>(nullptr), y, [=](Vec<T> a, Vec<T> b, Vec<T>) {
    const Vec<T> d = absolute(a - b), c = d < limit ? d : fill(limit);
    return c * (d - c * T(0.5)) * scale;
  });
}
template <class T>
void huber_backward(int64_t n, double most, double factor, const T* x, const T* t, const T* dy, T* dx, T* dt) {
  const T limit = static_cast<T>(most), scale = static_cast<T>(factor);
  const auto slope = [=](Vec<T> a, Vec<T> b, Vec<T> g) {
    const Vec<T> d = a - b, above = d > limit ? fill(limit) : d;
    return g * (above < -limit ? fill(-limit) : above) * scale;
  };
  // dt = -dx, from a chunk of dx that is still in the cache.
  T* const first = dx ? dx : dt;
  for_chunks(n, 2, [&](int64_t begin, int64_t end) {
    map_pairs_in(begin, end, x, t, dy, first, slope);
    if (dt)
      map_pairs_in(begin, end, first, first, static_cast<const T*>(nullptr), dt,
                   [](Vec<T> slopes, Vec<T>, Vec<T>) { return -slopes; });
  });
}

template <class T>
void mean_scale(int64_t n, const int64_t* target, int64_t ignore_index, T* scale) {
  const int64_t counted = n - std::count(target, target + n, ignore_index);
  *scale = counted == 0 ? T(0) : T(1) / static_cast<T>(counted);
}

template <class T>
void bce_with_logits(int64_t n, const T* x, const T* t, T* y) {
  map_pairs(n, x, t, static_cast<const T*>(nullptr), y,
            [](Vec<T> a, Vec<T> b, Vec<T>) { return (T(1) - b) * a + softplus(-a); });
}
template <class T>
void bce_with_logits_backward(int64_t n, const T* x, const T* t, const T* dy, T* dx, T* dt) {
  if (dx) map_pairs(n, x, t, dy, dx, [](Vec<T> a, Vec<T> b, Vec<T> g) { return g * (sigmoid(a) - b); });
  if (dt) map_pairs(n, x, t, dy, dt, [](Vec<T> a, Vec<T>, Vec<T> g) { return -g * a; });
}
}  // namespace

TAPE_DEFINE_TABLES(LossKernels, loss, .cross_entropy = cross_entropy<T>,
                   .cross_entropy_backward = cross_entropy_backward<T>, .mean_scale = mean_scale<T>, .huber = huber<T>,
                   .huber_backward = huber_backward<T>, .bce_with_logits = bce_with_logits<T>,
                   .bce_with_logits_backward = bce_with_logits_backward<T>)

}  // namespace tape::kernels::TAPE_LEVEL
