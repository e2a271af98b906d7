#pragma once

#include <stdint.h>

namespace tape::kernels {

/// The indices that a check accepts, of an array [lines, count] with `stride` elements from line to line.
struct IndexRange {
  int64_t lines, count, stride;
  int64_t low, size;     ///< low <= index < size; negative positions count from the end
  bool ignores = false;  ///< whether one more value is accepted, `ignored`
  int64_t ignored = 0;

  constexpr bool accepts(int64_t index) const {
    return (index >= low && index < size) || (ignores && index == ignored);
  }
  /// The index, counted from the start; 0 if it is not accepted.
  constexpr int64_t kept(int64_t index) const {
    if (!accepts(index)) return 0;
    return index >= low && index < 0 ? index + size : index;
  }
};

}  // namespace tape::kernels
