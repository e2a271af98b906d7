#pragma once

// Internal to the kernels: the part of a window that lies inside its axis.

#include "../runtime/level.h"
#include "window.h"

namespace tape::kernels::TAPE_LEVEL {

struct Range {
  int64_t begin, end;
};

TAPE_INLINE int64_t ceil_div_or_zero(int64_t a, int64_t b) { return a <= 0 ? 0 : ceil_div(a, b); }

/// The range of windows whose value at `tap` lies inside the axis.
TAPE_INLINE Range windows_with(const Window& w, int64_t tap) {
  const int64_t outside = w.before - tap * w.dilation;
  const int64_t end = smaller(w.out, ceil_div_or_zero(w.in + outside, w.stride));
  return {smaller(end, ceil_div_or_zero(outside, w.stride)), end};
}

/// The range of taps of window i that lie inside the axis.
TAPE_INLINE Range taps_inside(const Window& w, int64_t i) {
  const int64_t start = i * w.stride - w.before;
  const int64_t end = smaller(w.kernel, ceil_div_or_zero(w.in - start, w.dilation));
  return {smaller(end, ceil_div_or_zero(-start, w.dilation)), end};
}

}  // namespace tape::kernels::TAPE_LEVEL
