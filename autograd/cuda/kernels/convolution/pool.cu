// Kernels of PoolKernels (autograd/kernels/convolution/pool.h): one thread per output, or per input in the backward
// pass, which visits the windows that contain it, so that sums have a fixed order.
#include "windows.h"

namespace {

template <class T>
__device__ void pool_largest(Windows w, int64_t planes, const T* x, T* y, int64_t* places) {
  for (int64_t e = thread_of_grid(); e < planes * w.out(); e += threads_of_grid()) {
    const PlanePlace at = place_in_planes(e, w.rows.out, w.columns.out);
    const T* const plane = x + at.plane * w.in();
    T best = 0;
    int64_t place = -1;
    for_taps(w.rows, at.row, [&](int64_t row, int64_t) {
      for_taps(w.columns, at.column, [&](int64_t column, int64_t) {
        const int64_t here = row * w.columns.in + column;
        const T v = plane[here];
        if (place >= 0 && !(v > best) && v == v) return;
        best = v;
        place = here;
      });
    });
    y[e] = best;
    if (places) places[e] = place;
  }
}

template <class T>
__device__ void pool_scatter_add_at(Windows w, int64_t planes, const int64_t* places, const T* dy, T* dx) {
  for (int64_t e = thread_of_grid(); e < planes * w.in(); e += threads_of_grid()) {
    const PlanePlace at = place_in_planes(e, w.rows.in, w.columns.in);
    T sum = 0;
    for_windows_with(w.rows, at.row, [&](int64_t i, int64_t) {
      for_windows_with(w.columns, at.column, [&](int64_t j, int64_t) {
        const int64_t from = (at.plane * w.rows.out + i) * w.columns.out + j;
        if (places[from] == at.row * w.columns.in + at.column) sum += dy[from];
      });
    });
    dx[e] = sum;
  }
}

/// Contribution of one axis to the divisor of window i; `edge` is the padding that counts.
__device__ inline int64_t counted(const Window& w, int64_t i, int64_t edge) {
  const int64_t start = i * w.stride - w.before;
  return min(start + w.kernel, w.in + edge) - max(start, -edge);
}
template <class T>
__device__ T divisor(const Windows& w, bool border, int64_t i, int64_t j) {
  return static_cast<T>(counted(w.rows, i, border ? w.rows.before : 0)) *
         static_cast<T>(counted(w.columns, j, border ? w.columns.before : 0));
}

/// With `border`, padding counts in the divisor.
template <class T>
__device__ void pool_mean(Windows w, int64_t planes, bool border, const T* x, T* y) {
  for (int64_t e = thread_of_grid(); e < planes * w.out(); e += threads_of_grid()) {
    const PlanePlace at = place_in_planes(e, w.rows.out, w.columns.out);
    const T* const plane = x + at.plane * w.in();
    T sum = 0;
    for_taps(w.rows, at.row, [&](int64_t row, int64_t) {
      for_taps(w.columns, at.column, [&](int64_t column, int64_t) { sum += plane[row * w.columns.in + column]; });
    });
    y[e] = sum / divisor<T>(w, border, at.row, at.column);
  }
}

template <class T>
__device__ void pool_mean_gradient(Windows w, int64_t planes, bool border, const T* dy, T* dx) {
  for (int64_t e = thread_of_grid(); e < planes * w.in(); e += threads_of_grid()) {
    const PlanePlace at = place_in_planes(e, w.rows.in, w.columns.in);
    T sum = 0;
    for_windows_with(w.rows, at.row, [&](int64_t i, int64_t) {
      for_windows_with(w.columns, at.column, [&](int64_t j, int64_t) {
        sum += dy[(at.plane * w.rows.out + i) * w.columns.out + j] / divisor<T>(w, border, i, j);
      });
    });
    dx[e] = sum;
  }
}

}  // namespace

TAPE_EXPORT(pool_largest, (Windows windows, int64_t planes, const T* x, T* y, int64_t* places),
            (windows, planes, x, y, places))
TAPE_EXPORT(pool_scatter_add_at, (Windows windows, int64_t planes, const int64_t* places, const T* dy, T* dx),
            (windows, planes, places, dy, dx))
TAPE_EXPORT(pool_mean, (Windows windows, int64_t planes, bool border, const T* x, T* y),
            (windows, planes, border, x, y))
TAPE_EXPORT(pool_mean_gradient, (Windows windows, int64_t planes, bool border, const T* dy, T* dx),
            (windows, planes, border, dy, dx))
