#pragma once

// Internal to the kernels: the part of a window that lies inside its axis.

#include "../runtime/level.h"
#include "window.h"

namespace tape::kernels::TAPE_LEVEL {

struct Range {
  int64_t begin, end;
};

TAPE_INLINE int64_t at_least_zero_divided_up(int64_t a, int64_t b) { return a <= 0 ? 0 : divide_up(a, b); }

/// The range of windows whose value at `tap` lies inside the axis.
TAPE_INLINE Range windows_with(const Window& w, int64_t tap) {
  const int64_t outside = w.before - tap * w.dilation;
  const int64_t end = smaller(w.out, at_least_zero_divided_up(w.in + outside, w.stride));
  return {smaller(end, at_least_zero_divided_up(outside, w.stride)), end};
}

/// The range of taps of window i that lie inside the axis.
TAPE_INLINE Range taps_inside(const Window& w, int64_t i) {
  const int64_t start = i * w.stride - w.before;
  const int64_t end = smaller(w.kernel, at_least_zero_divided_up(w.in - start, w.dilation));
  return {smaller(end, at_least_zero_divided_up(-start, w.dilation)), end};
}

}  // namespace tape::kernels::TAPE_LEVEL
