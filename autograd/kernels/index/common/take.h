#pragma once

#include <cstdint>

#include "../../runtime/common/axes.h"
#include "../../runtime/common/finding.h"
#include "../../runtime/common/isa.h"
#include "index_range.h"

namespace tape::kernels {

/// The caller checks the indices (check_index). x is always [outer, size, inner], with elements of 1, 2, 4 or 8
/// bytes.
struct TakeKernels {
  /// y [outer, count, inner] = x[o, index[c], i].
  void (*take)(int64_t outer, int64_t size, int64_t inner, int64_t element_size, const void* x, int64_t count,
               const int64_t* index, void* y);
  /// y [outer, count, inner] = x[o, index[o, c, i], i].
  void (*gather)(int64_t outer, int64_t size, int64_t inner, int64_t element_size, const void* x, int64_t count,
                 const int64_t* index, void* y);
  /// x[o, index[c], i] = y [outer, count, inner], in order c = 0, 1, ...: the last write to a repeated index wins.
  void (*put)(int64_t outer, int64_t size, int64_t inner, int64_t element_size, void* x, int64_t count,
              const int64_t* index, const void* y);
  /// x[o, index[o, c, i], i] = y [outer, count, inner], in the same order.
  void (*scatter)(int64_t outer, int64_t size, int64_t inner, int64_t element_size, void* x, int64_t count,
                  const int64_t* index, const void* y);
  /// last[o, c, i] = whether no later c has the same index[o, c, i]; *repeated (may be null) = whether any index is
  /// repeated.
  void (*mark_last)(int64_t outer, int64_t size, int64_t inner, int64_t count, const int64_t* index, bool* last,
                    bool* repeated);
  /// If *finding is empty and an index is not accepted: *finding = {number, position and value of the first one}.
  /// kept [lines, count] (may be null) = the indices, plus size where low <= index < 0, and 0 where not accepted.
  void (*check_index)(const IndexRange& range, const int64_t* index, int64_t* kept, int64_t number, Finding* finding);
  /// If *finding is empty and a flag is set: *finding = {number, position of the first one}.
  void (*check_flags)(int64_t n, const bool* flags, int64_t number, Finding* finding);
  /// If *finding is empty and *position is not negative: *finding = {number, *position}.
  void (*note_position)(const int64_t* position, int64_t number, Finding* finding);

  /// counts[id] += 1 for each id; all must be in range.
  void (*bincount)(int64_t n, const int64_t* ids, int64_t* counts);
  /// *count = number of set flags among n.
  void (*count_true)(int64_t n, const bool* flags, int64_t* count);
  /// Positions of the set flags, in order; as many as count_true() returns.
  void (*nonzero)(int64_t n, const bool* flags, int64_t* places);
  /// index [n, sizes.rank]: multi-indices of flat row-major positions in an array of these sizes.
  void (*unravel)(int64_t n, const int64_t* positions, const Sizes& sizes, int64_t* index);
};
TAPE_COMMON_TABLE(TakeKernels, take)
TAPE_DEVICE_TABLE(TakeKernels, take)

}  // namespace tape::kernels
