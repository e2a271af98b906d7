#include "autograd/kernels/convolution/depthwise.h"

#include "autograd/kernels/convolution/window_inside.h"
#include "autograd/kernels/vector/vec.h"

namespace tape::kernels::TAPE_LEVEL {
namespace {

/// A plane padded with zeros, so that all its windows lie inside.
template <class T>
class BorderedPlane {
 public:
  BorderedPlane(int64_t rows, int64_t columns) : rows_(rows), pitch_(columns), values_(rows * columns + 2 * kLanes<T>) {
    __builtin_memset(values_.data(), 0, static_cast<uint64_t>(rows * columns + 2 * kLanes<T>) * sizeof(T));
  }
  /// Writes value (i, j) of x [rows, columns] to (top + i * row_step, left + j * column_step), dropping what falls
  /// outside. Every call must write to the same elements.
  void put(int64_t rows, int64_t columns, const T* x, int64_t top, int64_t row_step, int64_t left,
           int64_t column_step) {
    for (int64_t i = 0; i < rows; ++i) {
      const int64_t row = top + i * row_step;
      if (row < 0 || row >= rows_) continue;
      const int64_t begin = ceil_div_or_zero(-left, column_step);
      const int64_t end = smaller(columns, ceil_div_or_zero(pitch_ - left, column_step));
      T* const to = values_.data() + row * pitch_ + left;
      const T* const from = x + i * columns;
      if (column_step == 1)
        map_vectors(larger(0, end - begin), from + begin, to + begin, [](Vec<T> v) { return v; });
      else
        for (int64_t j = begin; j < end; ++j) to[j * column_step] = from[j];
    }
  }
  const T* row(int64_t i) const { return values_.data() + i * pitch_; }
  int64_t pitch() const { return pitch_; }

 private:
  int64_t rows_, pitch_;
  Scratch<T> values_;
};

/// Number of values of an axis that all windows together read, including padding.
TAPE_INLINE int64_t seen(const Window& w) { return (w.out - 1) * w.stride + (w.kernel - 1) * w.dilation + 1; }

/// y [rows.out, columns.out] = start + the windows of x times the weight, whose taps are `step` apart; or y += that.
template <class T>
TAPE_INLINE void correlate(const Windows& w, const BorderedPlane<T>& x, const T* weight, int64_t step, T start,
                           bool accumulate, T* y) {
  const int64_t width = w.columns.out, stride = w.columns.stride;
  for (int64_t i = 0; i < w.rows.out; ++i) {
    T* const to = y + i * width;
    const T* const top = x.row(i * w.rows.stride);
    const auto tap_row = [&](int64_t down) { return top + down * w.rows.dilation * x.pitch(); };
    if (stride == 1) {
      for (int64_t j = 0; j < width; j += kLanes<T>) {
        Vec<T> sum = fill(start);
        const T* factor = weight;
        for (int64_t down = 0; down < w.rows.kernel; ++down) {
          const T* const from = tap_row(down) + j;
          for (int64_t across = 0; across < w.columns.kernel; ++across, factor += step)
            sum += load(from + across * w.columns.dilation) * *factor;
        }
        if (accumulate) sum += load_first_or_all(to + j, width - j, T(0));
        store_first_or_all(to + j, sum, width - j);
      }
      continue;
    }
    if (!accumulate)
      for (int64_t j = 0; j < width; ++j) to[j] = start;
    const T* factor = weight;
    for (int64_t down = 0; down < w.rows.kernel; ++down)
      for (int64_t across = 0; across < w.columns.kernel; ++across, factor += step) {
        const T* const from = tap_row(down) + across * w.columns.dilation;
        const T by = *factor;
        for (int64_t j = 0; j < width; ++j) to[j] += from[j * stride] * by;
      }
  }
}

TAPE_INLINE int64_t work_of(const Depthwise& s) { return s.windows.out() * s.windows.taps() / 4 + s.windows.in(); }

template <class T>
void forward(const Depthwise& s, const T* x, const T* weight, const T* bias, T* y) {
  const Windows& w = s.windows;
  for_chunks(s.batch * s.channels, work_of(s) * s.multiplier, [&](int64_t begin, int64_t end) {
    BorderedPlane<T> plane(seen(w.rows), seen(w.columns));
    for (int64_t p = begin; p < end; ++p) {
      plane.put(w.rows.in, w.columns.in, x + p * w.in(), w.rows.before, 1, w.columns.before, 1);
      for (int64_t m = 0; m < s.multiplier; ++m) {
        const int64_t channel = p % s.channels * s.multiplier + m;
        correlate(w, plane, weight + channel * w.taps(), 1, bias ? bias[channel] : T(0), false,
                  y + (p * s.multiplier + m) * w.out());
      }
    }
  });
}

/// Windows over dy that give the gradient along one axis: its values are `stride` apart, and the taps are reversed.
TAPE_INLINE Window reversed(const Window& w) {
  return {.in = w.out,
          .kernel = w.kernel,
          .before = (w.kernel - 1) * w.dilation - w.before,
          .dilation = w.dilation,
          .out = w.in};
}

template <class T>
void input_gradient(const Depthwise& s, const T* weight, const T* dy, T* dx) {
  const Windows& w = s.windows;
  const Windows back{reversed(w.rows), reversed(w.columns)};
  const int64_t taps = w.taps();
  for_chunks(s.batch * s.channels, work_of(s) * s.multiplier, [&](int64_t begin, int64_t end) {
    BorderedPlane<T> plane(seen(back.rows), seen(back.columns));
    for (int64_t p = begin; p < end; ++p)
      for (int64_t m = 0; m < s.multiplier; ++m) {
        plane.put(w.rows.out, w.columns.out, dy + (p * s.multiplier + m) * w.out(), back.rows.before, w.rows.stride,
                  back.columns.before, w.columns.stride);
        const T* const last = weight + (p % s.channels * s.multiplier + m) * taps + taps - 1;
        correlate(back, plane, last, -1, T(0), m > 0, dx + p * w.in());
      }
  });
}

/// Sum of the products of dy and the values of x that one tap reads.
template <class T>
TAPE_INLINE T tap_sum(const Windows& w, const BorderedPlane<T>& x, int64_t down, int64_t across, const T* dy) {
  const int64_t width = w.columns.out, stride = w.columns.stride;
  Vec<T> sums = {};
  T rest = 0;
  for (int64_t i = 0; i < w.rows.out; ++i) {
    const T* const from = x.row(i * w.rows.stride + down * w.rows.dilation) + across * w.columns.dilation;
    const T* const g = dy + i * width;
    if (stride == 1)
      for (int64_t j = 0; j < width; j += kLanes<T>)
        sums += load_first_or_all(g + j, width - j, T(0)) * load_first_or_all(from + j, width - j, T(0));
    else
      for (int64_t j = 0; j < width; ++j) rest += g[j] * from[j * stride];
  }
  return fold(sums, Add()) + rest;
}

template <class T>
void weight_gradient(const Depthwise& s, const T* x, const T* dy, T* dweight) {
  const Windows& w = s.windows;
  const int64_t taps = w.taps(), own = s.multiplier * taps;
  for_tasks(s.channels, s.channels * s.batch * work_of(s) * s.multiplier > 2 * kChunk, [&](int64_t c) {
    BorderedPlane<T> plane(seen(w.rows), seen(w.columns));
    Scratch<double> sums(own);
    __builtin_memset(sums.data(), 0, static_cast<uint64_t>(own) * sizeof(double));
    for (int64_t n = 0; n < s.batch; ++n) {
      const int64_t p = n * s.channels + c;
      plane.put(w.rows.in, w.columns.in, x + p * w.in(), w.rows.before, 1, w.columns.before, 1);
      for (int64_t k = 0; k < own; ++k) {
        const int64_t tap = k % taps;
        sums[k] += static_cast<double>(tap_sum(w, plane, tap / w.columns.kernel, tap % w.columns.kernel,
                                               dy + (p * s.multiplier + k / taps) * w.out()));
      }
    }
    for (int64_t k = 0; k < own; ++k) dweight[c * own + k] = static_cast<T>(sums[k]);
  });
}
}  // namespace

TAPE_DEFINE_TABLES(DepthwiseKernels, depthwise, forward<T>, input_gradient<T>, weight_gradient<T>)

}  // namespace tape::kernels::TAPE_LEVEL
