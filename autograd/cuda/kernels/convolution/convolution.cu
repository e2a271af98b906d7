// Kernels of ConvolutionKernels (autograd/kernels/convolution/common/convolution.h), computed directly: one thread per
// output or input, and the threads of a line per element of the weight's gradient. Right everywhere and simple.
#include "../../../kernels/convolution/common/convolution.h"

#include "../lines.h"
#include "windows.h"

using tape::kernels::Convolution;

namespace {

template <class T>
__device__ void convolution(Convolution s, const T* x, const T* weight, const T* bias, T* y) {
  const Windows& w = s.windows;
  const int64_t channels = s.groups * s.out_channels, taps = w.taps();
  for (int64_t e = thread_of_grid(); e < s.batch * channels * w.out(); e += threads_of_grid()) {
    const PlanePlace at = place_in_planes(e, w.rows.out, w.columns.out);
    const int64_t channel = at.plane % channels, image = at.plane / channels * s.groups + channel / s.out_channels;
    T sum = bias ? bias[channel] : T(0);
    for (int64_t c = 0; c < s.in_channels; ++c) {
      const T* const plane = x + (image * s.in_channels + c) * w.in();
      const T* const factors = weight + (channel * s.in_channels + c) * taps;
      for_taps(w.rows, at.row, [&](int64_t row, int64_t down) {
        for_taps(w.columns, at.column, [&](int64_t column, int64_t across) {
          sum += plane[row * w.columns.in + column] * factors[down * w.columns.kernel + across];
        });
      });
    }
    y[e] = sum;
  }
}

template <class T>
__device__ void convolution_input_gradient(Convolution s, const T* weight, const T* dy, T* dx) {
  const Windows& w = s.windows;
  const int64_t channels = s.groups * s.in_channels, taps = w.taps();
  for (int64_t e = thread_of_grid(); e < s.batch * channels * w.in(); e += threads_of_grid()) {
    const PlanePlace at = place_in_planes(e, w.rows.in, w.columns.in);
    const int64_t channel = at.plane % channels, group = channel / s.in_channels;
    const int64_t image = at.plane / channels * s.groups + group;
    T sum = 0;
    for (int64_t o = 0; o < s.out_channels; ++o) {
      const T* const plane = dy + (image * s.out_channels + o) * w.out();
      const int64_t filter = (group * s.out_channels + o) * s.in_channels + channel % s.in_channels;
      const T* const factors = weight + filter * taps;
      for_windows_with(w.rows, at.row, [&](int64_t i, int64_t down) {
        for_windows_with(w.columns, at.column, [&](int64_t j, int64_t across) {
          sum += plane[i * w.columns.out + j] * factors[down * w.columns.kernel + across];
        });
      });
    }
    dx[e] = sum;
  }
}

/// The value that a tap of window i reads, or -1 if it lies outside.
__device__ inline int64_t position_of(const Window& w, int64_t i, int64_t tap) {
  const int64_t position = i * w.stride - w.before + tap * w.dilation;
  return position < w.in ? position : -1;
}

/// dweights [samples, groups out_channels, in_channels, taps], a line of windows per element.
template <class T>
__device__ void convolution_weight_gradients(Convolution s, int64_t samples, const T* x, const T* dy, T* dweights) {
  const Windows& w = s.windows;
  const int64_t channels = s.groups * s.out_channels, taps = w.taps();
  for_lines(samples * channels * s.in_channels * taps, [&](int64_t line) {
    const int64_t across = line % w.columns.kernel, down = line % taps / w.columns.kernel;
    const int64_t c = line / taps % s.in_channels, o = line / taps / s.in_channels % channels;
    const int64_t first = line / taps / s.in_channels / channels * s.batch, group = o / s.out_channels;
    LongSum<T> sum;
    for_positions(0, s.batch * w.out(), [&](int64_t p) {
      const PlanePlace at = place_in_planes(p, w.rows.out, w.columns.out);
      const int64_t row = position_of(w.rows, at.row, down), column = position_of(w.columns, at.column, across);
      if (row < 0 || column < 0) return;
      const int64_t image = first + at.plane;
      const int64_t from = ((image * s.groups + group) * s.in_channels + c) * w.in() + row * w.columns.in + column;
      sum.add(x[from] * dy[(image * channels + o) * w.out() + p % w.out()]);
    });
    const double total = sum.of_line();
    if (threadIdx.x == 0) dweights[line] = static_cast<T>(total);
  });
}

template <class T>
__device__ void convolution_bias_gradient(Convolution s, const T* dy, T* dbias) {
  const int64_t channels = s.groups * s.out_channels, out = s.windows.out();
  for_lines(channels, [&](int64_t channel) {
    LongSum<T> sum;
    for_positions(0, s.batch * out, [&](int64_t p) { sum.add(dy[(p / out * channels + channel) * out + p % out]); });
    const double total = sum.of_line();
    if (threadIdx.x == 0) dbias[channel] = static_cast<T>(total);
  });
}

}  // namespace

TAPE_EXPORT(convolution, (Convolution shape, const T* x, const T* weight, const T* bias, T* y),
            (shape, x, weight, bias, y))
TAPE_EXPORT(convolution_input_gradient, (Convolution shape, const T* weight, const T* dy, T* dx),
            (shape, weight, dy, dx))
TAPE_EXPORT(convolution_weight_gradients, (Convolution shape, int64_t samples, const T* x, const T* dy, T* dweights),
            (shape, samples, x, dy, dweights))
TAPE_EXPORT(convolution_bias_gradient, (Convolution shape, const T* dy, T* dbias), (shape, dy, dbias))
