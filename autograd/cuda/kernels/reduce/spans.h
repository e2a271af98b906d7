#pragma once

#include <stdint.h>

/// Arrays of values, cut into parts of at most kPart values. Fits into the arguments of a kernel.
template <class T>
struct Spans {
  static constexpr int kMost = 128;
  static constexpr int64_t kPart = int64_t{1} << 16;

  int64_t count;
  const T* values[kMost];
  int64_t n[kMost];
  int64_t first[kMost];  // number of the first part of each
};
