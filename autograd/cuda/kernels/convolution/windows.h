#pragma once

// Windows along axes, as pooling and convolutions have them.

#include "../../../kernels/convolution/window.h"
#include "../device.h"

using tape::kernels::Window;
using tape::kernels::Windows;

/// Calls visit(position, tap) for the values of window i that lie inside the axis, in order.
template <class Visit>
__device__ void for_taps(const Window& w, int64_t i, const Visit& visit) {
  int64_t position = i * w.stride - w.before;
  for (int64_t tap = 0; tap < w.kernel && position < w.in; ++tap, position += w.dilation)
    if (position >= 0) visit(position, tap);
}

/// Calls visit(i, tap) for the windows that contain a position, in order.
template <class Visit>
__device__ void for_windows_with(const Window& w, int64_t position, const Visit& visit) {
  for (int64_t tap = w.kernel - 1; tap >= 0; --tap) {
    const int64_t start = position + w.before - tap * w.dilation;
    if (start >= 0 && start % w.stride == 0 && start / w.stride < w.out) visit(start / w.stride, tap);
  }
}

/// The place of an element of planes [rows, columns].
struct PlanePlace {
  int64_t plane, row, column;
};
__device__ inline PlanePlace place_in_planes(int64_t i, int64_t rows, int64_t columns) {
  return {i / columns / rows, i / columns % rows, i % columns};
}
