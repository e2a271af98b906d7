#pragma once

#include "../runtime/common/isa.h"

namespace tape::kernels {

/// x [texts, length, heads, width] whose first 2 * pairs columns of each head turn in pairs; cosines and sines [length,
/// pairs], those of the next text `next_text` elements on (0 where all texts share them).
struct RotaryShape {
  int64_t texts = 0, length = 0, heads = 0, width = 0, pairs = 0, next_text = 0;
  bool interleaved = false;  ///< columns 2i and 2i + 1, else i and i + pairs
};

template <class T>
struct RotaryKernels {
  /// (u, v) -> (u c - v s, u s + v c); columns that do not turn are copied. y may be x.
  void (*turn)(const RotaryShape& shape, const T* x, const T* cosine, const T* sine, T* y);
};
TAPE_KERNEL_TABLE(RotaryKernels, rotary)

}  // namespace tape::kernels
