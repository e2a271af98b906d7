#pragma once

#include <stdint.h>

/// What the kernels of norm_rows.cu hold in registers.
struct NormRows {
  /// Packs of 16 bytes of a row that a thread holds: 32 values in 16 and 32 bits, 16 in 64 bits.
  static constexpr int packs(int value_size) { return value_size == 2 ? 4 : 8; }
  /// A warp shares a row, or this number of threads one that a warp cannot hold.
  static constexpr int kMostThreads = 256;
  /// Number of blocks of a backward pass, each of which sums the gradients of the parameters over its rows: two for
  /// each SM of an H100. It does not depend on the device, so that sums have the same bits everywhere.
  static constexpr int kMostParts = 264;
};

/// The totals of one launch, which fit into the arguments of a kernel.
template <class S>
struct NormTotalsBatch {
  static constexpr int kMost = 64;
  const S* sums[kMost];
  S *dweight[kMost], *dbias[kMost];
};
