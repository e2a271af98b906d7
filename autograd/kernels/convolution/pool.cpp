#include "autograd/kernels/convolution/pool.h"

#include <type_traits>

#include "autograd/kernels/convolution/window_inside.h"
#include "autograd/kernels/vector/vec.h"

namespace tape::kernels::TAPE_LEVEL {
namespace {

/// Integer type for tap indices, as wide as the values they are selected with.
template <class T>
using Tap = std::conditional_t<sizeof(T) == sizeof(float), int32_t, int64_t>;

/// One row of windows: the maxima so far, and their taps.
template <class T>
TAPE_INLINE void take_larger(const Windows& w, int64_t line, const T* plane, T* best, Tap<T>* taps) {
  const Range down_inside = taps_inside(w.rows, line);
  for (int64_t j = 0; j < w.columns.out; ++j) taps[j] = -1;
  for (int64_t down = down_inside.begin; down < down_inside.end; ++down) {
    const int64_t row = line * w.rows.stride - w.rows.before + down * w.rows.dilation;
    for (int64_t across = 0; across < w.columns.kernel; ++across) {
      const Range inside = windows_with(w.columns, across);
      const T* const from = plane + row * w.columns.in + across * w.columns.dilation - w.columns.before;
      const Tap<T> tap = static_cast<Tap<T>>(down * w.columns.kernel + across);
      const auto take = [&](int64_t j, T v) {
        const bool better = (v > best[j]) | (v != v) | (taps[j] < 0);
        best[j] = better ? v : best[j];
        taps[j] = better ? tap : taps[j];
      };
      const int64_t stride = w.columns.stride;
      if (stride == 1)
        for (int64_t j = inside.begin; j < inside.end; ++j) take(j, from[j]);
      else if (stride == 2)
        for (int64_t j = inside.begin; j < inside.end; ++j) take(j, from[j * 2]);
      else
        for (int64_t j = inside.begin; j < inside.end; ++j) take(j, from[j * stride]);
    }
  }
}

template <class T>
void largest(const Windows& w, int64_t planes, const T* x, T* y, int64_t* places) {
  const int64_t width = w.columns.out, across = w.columns.kernel;
  for_chunks(planes * w.rows.out, width * w.taps(), [&](int64_t begin, int64_t end) {
    const Scratch<Tap<T>> taps(width);
    for (int64_t r = begin; r < end; ++r) {
      const int64_t line = r % w.rows.out;
      take_larger(w, line, x + r / w.rows.out * w.in(), y + r * width, taps.data());
      if (!places) continue;
      const int64_t top = line * w.rows.stride - w.rows.before;
      for (int64_t j = 0; j < width; ++j) {
        const int64_t tap = taps[j], down = tap / across;
        const int64_t left = j * w.columns.stride - w.columns.before;
        places[r * width + j] =
            (top + down * w.rows.dilation) * w.columns.in + left + (tap - down * across) * w.columns.dilation;
      }
    }
  });
}

template <class T>
void scatter_add_at(const Windows& w, int64_t planes, const int64_t* places, const T* dy, T* dx) {
  const int64_t in = w.in(), out = w.out();
  for_chunks(planes, in + out, [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p) {
      T* const to = dx + p * in;
      __builtin_memset(to, 0, static_cast<uint64_t>(in) * sizeof(T));
      for (int64_t i = p * out; i < (p + 1) * out; ++i) to[places[i]] += dy[i];
    }
  });
}

/// Contribution of one axis to the divisor of window i.
TAPE_INLINE int64_t counted(const Window& w, int64_t i, Border border) {
  const int64_t start = i * w.stride - w.before, edge = border == Border::counted ? w.before : 0;
  return smaller(start + w.kernel, w.in + edge) - larger(start, -edge);
}

template <class T>
void mean(const Windows& w, int64_t planes, Border border, const T* x, T* y) {
  const int64_t width = w.columns.out, stride = w.columns.stride;
  for_chunks(planes * w.rows.out, width * w.taps(), [&](int64_t begin, int64_t end) {
    const Scratch<T> counts(width);
    for (int64_t j = 0; j < width; ++j) counts[j] = static_cast<T>(counted(w.columns, j, border));
    for (int64_t r = begin; r < end; ++r) {
      const int64_t line = r % w.rows.out;
      const Range down_inside = taps_inside(w.rows, line);
      T* const to = y + r * width;
      for (int64_t j = 0; j < width; ++j) to[j] = 0;
      for (int64_t down = down_inside.begin; down < down_inside.end; ++down) {
        const int64_t row = r / w.rows.out * w.rows.in + line * w.rows.stride - w.rows.before + down;
        for (int64_t across = 0; across < w.columns.kernel; ++across) {
          const Range inside = windows_with(w.columns, across);
          const T* const from = x + row * w.columns.in + across - w.columns.before;
          if (stride == 1)
            for (int64_t j = inside.begin; j < inside.end; ++j) to[j] += from[j];
          else if (stride == 2)
            for (int64_t j = inside.begin; j < inside.end; ++j) to[j] += from[j * 2];
          else
            for (int64_t j = inside.begin; j < inside.end; ++j) to[j] += from[j * stride];
        }
      }
      const T rows = static_cast<T>(counted(w.rows, line, border));
      for (int64_t j = 0; j < width; ++j) to[j] /= rows * counts[j];
    }
  });
}

template <class T>
void mean_gradient(const Windows& w, int64_t planes, Border border, const T* dy, T* dx) {
  const int64_t width = w.columns.out, stride = w.columns.stride;
  for_chunks(planes, w.in() + w.out() * w.taps(), [&](int64_t begin, int64_t end) {
    const Scratch<T> counts(width), shares(width);
    for (int64_t j = 0; j < width; ++j) counts[j] = static_cast<T>(counted(w.columns, j, border));
    for (int64_t p = begin; p < end; ++p) {
      __builtin_memset(dx + p * w.in(), 0, static_cast<uint64_t>(w.in()) * sizeof(T));
      for (int64_t line = 0; line < w.rows.out; ++line) {
        const T rows = static_cast<T>(counted(w.rows, line, border));
        const T* const g = dy + (p * w.rows.out + line) * width;
        for (int64_t j = 0; j < width; ++j) shares[j] = g[j] / (rows * counts[j]);
        const Range down_inside = taps_inside(w.rows, line);
        for (int64_t down = down_inside.begin; down < down_inside.end; ++down) {
          const int64_t row = p * w.rows.in + line * w.rows.stride - w.rows.before + down;
          for (int64_t across = 0; across < w.columns.kernel; ++across) {
            const Range inside = windows_with(w.columns, across);
            T* const to = dx + row * w.columns.in + across - w.columns.before;
            if (stride == 1) {
#pragma omp simd
              for (int64_t j = inside.begin; j < inside.end; ++j) to[j] += shares[j];
            } else {
              for (int64_t j = inside.begin; j < inside.end; ++j) to[j * stride] += shares[j];
            }
          }
        }
      }
    }
  });
}
}  // namespace

TAPE_DEFINE_TABLES(PoolKernels, pool, largest<T>, scatter_add_at<T>, mean<T>, mean_gradient<T>)

}  // namespace tape::kernels::TAPE_LEVEL
