#pragma once

#include <cstdint>

#include "../../runtime/common/axes.h"
#include "../../runtime/common/isa.h"

namespace tape::kernels {

/// Indices are checked by the caller (first_outside). x is [outer, size, inner] throughout, of elements of 1, 2, 4 or 8
/// bytes.
struct TakeKernels {
  /// y [outer, count, inner] = x[o, index[c], i]. Reads x and index, writes all of y.
  void (*take)(int64_t outer, int64_t size, int64_t inner, int64_t element_size, const void* x, int64_t count,
               const int64_t* index, void* y);
  /// y [outer, count, inner] = x[o, index[o, c, i], i]. Reads x and index, writes all of y.
  void (*gather)(int64_t outer, int64_t size, int64_t inner, int64_t element_size, const void* x, int64_t count,
                 const int64_t* index, void* y);
  /// x[o, index[c], i] = y [outer, count, inner], in order c = 0, 1, ...: of repeated places the last stays.
  void (*put)(int64_t outer, int64_t size, int64_t inner, int64_t element_size, void* x, int64_t count,
              const int64_t* index, const void* y);
  /// x[o, index[o, c, i], i] = y [outer, count, inner], in the same order.
  void (*scatter)(int64_t outer, int64_t size, int64_t inner, int64_t element_size, void* x, int64_t count,
                  const int64_t* index, const void* y);
  /// last[o, c, i] = whether no later c has the place index[o, c, i]; *repeated = whether any place is repeated.
  void (*mark_last)(int64_t outer, int64_t size, int64_t inner, int64_t count, const int64_t* index, bool* last,
                    bool* repeated);
  /// *place = the first place whose index is outside [low, size), or -1.
  void (*first_outside)(int64_t n, const int64_t* index, int64_t low, int64_t size, int64_t* place);
  /// wrapped[i] = index[i], or index[i] + size where it is negative.
  void (*wrap_negative)(int64_t n, const int64_t* index, int64_t size, int64_t* wrapped);

  /// counts[id] += 1 for each id, all inside counts.
  void (*count_ids)(int64_t n, const int64_t* ids, int64_t* counts);
  /// *count = how many of n flags are set.
  void (*count_true)(int64_t n, const bool* flags, int64_t* count);
  /// Where they are, in order: as many places as count_true() counts.
  void (*true_places)(int64_t n, const bool* flags, int64_t* places);
  /// index [n, sizes.rank]: the positions of a row-major array of these sizes as indices.
  void (*unravel)(int64_t n, const int64_t* positions, const Sizes& sizes, int64_t* index);
};
TAPE_COMMON_TABLE(TakeKernels, take)

}  // namespace tape::kernels
