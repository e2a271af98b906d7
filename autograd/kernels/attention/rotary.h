#pragma once

#include "../runtime/common/isa.h"

namespace tape::kernels {

/// x is [texts, length, heads, width]; the first 2 * pairs columns of each head are rotated in pairs. cosines and sines
/// are [length, pairs]; those of the next text are `next_text` elements on, or 0 if all texts share them.
struct RotaryShape {
  int64_t texts = 0, length = 0, heads = 0, width = 0, pairs = 0, next_text = 0;
  bool interleaved = false;  ///< pair columns 2i and 2i + 1 instead of i and i + pairs
};

template <class T>
struct RotaryKernels {
  /// (u, v) -> (u c - v s, u s + v c); other columns are copied. y may be x.
  void (*turn)(const RotaryShape& shape, const T* x, const Sum<T>* cosine, const Sum<T>* sine, T* y);
};
TAPE_KERNEL_TABLE(RotaryKernels, rotary)
TAPE_BF16_TABLE(RotaryKernels, rotary)

}  // namespace tape::kernels
