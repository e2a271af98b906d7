#pragma once

/// How slices are added in index.cu.
struct AddedSlices {
  static constexpr int kParts = 8;   ///< of the index, looked at by a thread each
  static constexpr int kChunk = 64;  ///< sorted slices that a thread adds
};
