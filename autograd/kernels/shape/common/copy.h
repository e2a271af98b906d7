#pragma once

#include <cstdint>
#include <cstring>

#include "../../runtime/common/axes.h"
#include "../../runtime/common/isa.h"

namespace tape::kernels {

/// Elements have 1, 2, 4 or 8 bytes.
struct CopyKernels {
  /// Copies the strided elements of x to a contiguous buffer: out is row-major over sizes. Strides of 0 repeat.
  /// Two-dimensional transposes (innermost stride not 1) are done in blocks.
  void (*from_strided)(const Strided& places, int64_t element_size, const void* x, void* out);
  /// The inverse: copies a contiguous buffer x to the strided elements of out.
  void (*to_strided)(const Strided& places, int64_t element_size, const void* x, void* out);
  /// Writes n copies of the element in the first bytes of `element`; see element_of().
  void (*fill)(int64_t n, int64_t element_size, uint64_t element, void* out);
  /// Rotates each of `rows` rows of `size` bytes right by `right` bytes.
  void (*rotate_rows)(int64_t rows, int64_t size, int64_t right, const void* x, void* out);
};
TAPE_COMMON_TABLE(CopyKernels, copy)
TAPE_DEVICE_TABLE(CopyKernels, copy)

/// A value in the form that fill() takes.
template <class T>
uint64_t element_of(T value) {
  static_assert(sizeof(T) <= sizeof(uint64_t));
  uint64_t element = 0;
  std::memcpy(&element, &value, sizeof(T));
  return element;
}

}  // namespace tape::kernels
