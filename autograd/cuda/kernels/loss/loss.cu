#include "../stable_exp.h"

namespace {

/// *total = sum of weight [V], by one block.
template <class T>
__device__ void cross_entropy_total(int64_t V, const T* weight, double* total) {
  LongSum<T> sum;
  for_positions(0, V, [&](int64_t v) { sum.add(weight[v]); });
  const double all = sum.of_line();
  if (threadIdx.x == 0) *total = all;
}

/// lse = log(sum(exp(x))), loss = (1 - s) w[t] (lse - x[t]) + s / V sum_v w[v] (lse - x[v]) for rows x [V] of logits;
/// 0 if the target t is ignored. Without weights, w = 1, and the total of the weights is null.
template <class T>
__device__ void cross_entropy(int64_t rows, int64_t V, const T* logits, const int64_t* target, const Compute<T>* weight,
                              const double* total, int64_t ignore_index, double s, Compute<T>* loss, Compute<T>* lse) {
  using S = Compute<T>;
  constexpr int kWidth = kPackSize<T>;
  for_lines(rows, [&](int64_t r) {
    const T* const x = logits + r * V;
    OnlineSum<S> exponentials;
    LongSum<S> weighted;
    const auto add = [&](S value, int64_t v) {
      exponentials.add(value);
      if (s != 0) weighted.add(weight ? value * weight[v] : value);
    };
    for_line_packs(
        V, x,
        [&](int64_t v) {
          const Pack<T, kWidth> pack = load_pack<kWidth>(x + v);
          S largest = -INFINITY;
          TAPE_UNROLL for (int j = 0; j < kWidth; ++j) largest = max(largest, widened(pack.values[j]));
          exponentials.raise(largest);
          TAPE_UNROLL for (int j = 0; j < kWidth; ++j) add(widened(pack.values[j]), v + j);
        },
        [&](int64_t v) {
          const S value = widened(x[v]);
          exponentials.raise(value);
          add(value, v);
        });
    const double log_sum = exponentials.log_of_line();
    const int64_t t = target[r];
    double value = 0;
    if (t != ignore_index) {
      value = (1 - s) * (weight ? static_cast<double>(weight[t]) : 1) * (log_sum - static_cast<double>(widened(x[t])));
      if (s != 0) {
        const double all = total ? *total : static_cast<double>(V);
        value += s / static_cast<double>(V) * (all * log_sum - weighted.of_line());
      }
    }
    if (threadIdx.x != 0) return;
    lse[r] = static_cast<S>(log_sum);
    loss[r] = static_cast<S>(value);
  });
}

/// dx = d (exp(x - lse) ((1 - s) w[t] + s / V sum(w)) - s / V w - (1 - s) w[t] [v = t]), d = dloss; zeros if the target
/// is ignored. dx may be x.
template <class T>
__device__ void cross_entropy_backward(int64_t rows, int64_t V, const T* logits, const int64_t* target,
                                       const Compute<T>* weight, const double* total, int64_t ignore_index, double s,
                                       const Compute<T>* lse, const Compute<T>* dloss, T* dlogits) {
  using S = Compute<T>;
  constexpr int kWidth = kPackSize<T>;
  for_lines(rows, [&](int64_t r) {
    const int64_t t = target[r];
    if (t == ignore_index) {
      for_positions(0, V, [&](int64_t v) { dlogits[r * V + v] = narrowed<T>(0); });
      return;
    }
    const double w = weight ? static_cast<double>(weight[t]) : 1, d = static_cast<double>(dloss[r]);
    const double all = total ? *total : static_cast<double>(V);
    const S at_target = static_cast<S>(d * (1 - s) * w), each = static_cast<S>(d * s / static_cast<double>(V));
    const S probability = static_cast<S>(d * ((1 - s) * w + s / static_cast<double>(V) * all)), log_sum = lse[r];
    const T* const x = logits + r * V;
    T* const to = dlogits + r * V;
    const auto gradient = [&](T value, int64_t v) {
      const S p = exp_of_negative(widened(value) - log_sum) * probability;
      const S dx = weight && s != 0 ? p - each * weight[v] : p - each;
      return narrowed<T>(v == t ? dx - at_target : dx);
    };
    const auto single = [&](int64_t v) { to[v] = gradient(x[v], v); };
    if ((reinterpret_cast<uintptr_t>(x) - reinterpret_cast<uintptr_t>(to)) % 16 != 0) {
      for_positions(0, V, single);
      return;
    }
    for_line_packs(
        V, to,
        [&](int64_t v) {
          Pack<T, kWidth> pack = load_pack<kWidth>(x + v);
          TAPE_UNROLL for (int j = 0; j < kWidth; ++j) pack.values[j] = gradient(pack.values[j], v + j);
          store_pack(to + v, pack);
        },
        single);
  });
}

/// *scale = 1 / the number of targets that are not ignored, or 0 if there are none, by one block.
template <class T>
__device__ void mean_scale(int64_t n, const int64_t* target, int64_t ignore_index, T* scale) {
  int64_t counted = 0;
  for_positions(0, n, [&](int64_t i) { counted += target[i] != ignore_index; });
  const int64_t all = over_line(counted, Add());
  if (threadIdx.x == 0) *scale = all == 0 ? T(0) : 1 / static_cast<T>(all);
}

/// y = scale c (d - c / 2), d = |x - t|, c = min(d, limit)
template <class T>
__device__ void huber(int64_t n, T limit, T scale, const T* x, const T* t, T* y) {
  for (int64_t i = thread_of_grid(); i < n; i += threads_of_grid()) {
    const T d = abs(x[i] - t[i]), c = d < limit ? d : limit;
    y[i] = c * (d - c * T(0.5)) * scale;
  }
}
/// dx = dy scale clamp(x - t, -limit, limit), dt = -dx; either may be null.
template <class T>
__device__ void huber_backward(int64_t n, T limit, T scale, const T* x, const T* t, const T* dy, T* dx, T* dt) {
  for (int64_t i = thread_of_grid(); i < n; i += threads_of_grid()) {
    const T d = x[i] - t[i], above = d > limit ? limit : d;
    const T slope = dy[i] * (above < -limit ? -limit : above) * scale;
    if (dx) dx[i] = slope;
    if (dt) dt[i] = -slope;
  }
}

/// y = (1 - t) x + log(1 + e^-x)
template <class T>
__device__ void bce_with_logits(int64_t n, const T* x, const T* t, T* y) {
  for (int64_t i = thread_of_grid(); i < n; i += threads_of_grid()) {
    const T v = x[i], softplus = (v < 0 ? -v : T(0)) + log1p(exp(-abs(v)));
    y[i] = (1 - t[i]) * v + softplus;
  }
}
/// dx = dy (sigmoid(x) - t), dt = -dy x; either may be null.
template <class T>
__device__ void bce_with_logits_backward(int64_t n, const T* x, const T* t, const T* dy, T* dx, T* dt) {
  for (int64_t i = thread_of_grid(); i < n; i += threads_of_grid()) {
    const T v = x[i], g = dy[i], e = exp(-abs(v));
    if (dx) dx[i] = g * ((v < 0 ? e : T(1)) / (1 + e) - t[i]);
    if (dt) dt[i] = -g * v;
  }
}

}  // namespace

TAPE_EXPORT(cross_entropy_total, (int64_t V, const T* weight, double* total), (V, weight, total))
TAPE_EXPORT_WITH_BF16(cross_entropy,
                      (int64_t rows, int64_t V, const T* logits, const int64_t* target, const Compute<T>* weight,
                       const double* total, int64_t ignore_index, double s, Compute<T>* loss, Compute<T>* lse),
                      (rows, V, logits, target, weight, total, ignore_index, s, loss, lse))
TAPE_EXPORT_WITH_BF16(cross_entropy_backward,
                      (int64_t rows, int64_t V, const T* logits, const int64_t* target, const Compute<T>* weight,
                       const double* total, int64_t ignore_index, double s, const Compute<T>* lse,
                       const Compute<T>* dloss, T* dlogits),
                      (rows, V, logits, target, weight, total, ignore_index, s, lse, dloss, dlogits))
TAPE_EXPORT(mean_scale, (int64_t n, const int64_t* target, int64_t ignore_index, T* scale),
            (n, target, ignore_index, scale))
TAPE_EXPORT(huber, (int64_t n, T limit, T scale, const T* x, const T* t, T* y), (n, limit, scale, x, t, y))
TAPE_EXPORT(huber_backward, (int64_t n, T limit, T scale, const T* x, const T* t, const T* dy, T* dx, T* dt),
            (n, limit, scale, x, t, dy, dx, dt))
TAPE_EXPORT(bce_with_logits, (int64_t n, const T* x, const T* t, T* y), (n, x, t, y))
TAPE_EXPORT(bce_with_logits_backward, (int64_t n, const T* x, const T* t, const T* dy, T* dx, T* dt),
            (n, x, t, dy, dx, dt))
