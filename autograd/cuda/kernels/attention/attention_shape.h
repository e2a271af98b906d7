#pragma once

#include <stdint.h>

#include "../../../kernels/attention/attention.h"

namespace tape::kernels {

/// Sizes of the blocks of attention's kernels, which have 16 x 16 threads.
struct AttentionBlock {
  static constexpr int kSide = 16;       // threads along each side of a tile of scores
  static constexpr int kColumns = 128;   // of an output, that a block computes
  static constexpr int kSmallEdge = 16;  // of the tiles of small problems
  static constexpr int edge(size_t bytes) { return bytes == 8 ? 32 : 64; }  // of other tiles, for values of this size
};

/// Sizes of the kernels for few queries: a block has part of the keys, a warp some of them at a time.
struct AttentionParts {
  static constexpr int kThreads = 128;
  static constexpr int kMostQueries = 4;
  /// Of keys and values of this size: as many columns as the registers hold.
  static constexpr int most_width(size_t bytes) { return 1024 / static_cast<int>(bytes); }
};

}  // namespace tape::kernels
