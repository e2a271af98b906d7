#pragma once

#include "../elementwise.h"

namespace tape::kernels {

/// Integer counterparts of elementwise.h, and selection between values of any type: plain loops, compiled once for all
/// CPUs.
struct IntegerKernels {
  /// out = op(a, b), broadcast. out may be a or b if that operand is not repeated. Overflow wraps; a negative power is
  /// 0 except for bases 1 and -1. The caller rejects division by zero and atan2.
  void (*binary)(Binary op, const Broadcast& plan, const int64_t* a, const int64_t* b, int64_t* out);
  /// out = a op b, broadcast.
  void (*compare)(Compare op, const Broadcast& plan, const int64_t* a, const int64_t* b, bool* out);
  /// out = c ? a : b, broadcast, for elements of 1, 2, 4 or 8 bytes. strides[2] are those of the condition c.
  void (*where)(const Broadcast& plan, int64_t element_size, const bool* c, const void* a, const void* b, void* out);

  // Reductions of x [outer, size, inner] over its middle axis into y [outer, inner].

  /// The maximum or minimum, and the index of its first occurrence (may be null). size >= 1.
  void (*best)(int64_t outer, int64_t size, int64_t inner, bool largest, const int64_t* x, int64_t* y, int64_t* index);
  /// The sum; overflow wraps.
  void (*sum)(int64_t outer, int64_t size, int64_t inner, const int64_t* x, int64_t* y);
  /// The product; overflow wraps.
  void (*product)(int64_t outer, int64_t size, int64_t inner, const int64_t* x, int64_t* y);
  /// Whether any value is true.
  void (*any)(int64_t outer, int64_t size, int64_t inner, const bool* x, bool* y);
};
TAPE_COMMON_TABLE(IntegerKernels, integer_ops)
TAPE_DEVICE_TABLE(IntegerKernels, integer_ops)

}  // namespace tape::kernels
