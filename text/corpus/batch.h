#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tape::text {

/// A padded batch of sequence pairs for an encoder-decoder model. Arrays are row-major.
struct PaddedBatch {
  std::vector<int64_t> src;      ///< [B, Ts] source, then padding
  std::vector<int64_t> tgt_in;   ///< [B, Tt] bos, target, padding: the decoder's input
  std::vector<int64_t> tgt_out;  ///< [B, Tt] target, eos, padding: the labels
  int64_t batch = 0;             ///< B
  int64_t src_length = 0;        ///< Ts, length of the longest source
  int64_t tgt_length = 0;        ///< Tt, length of the longest target plus one
};

/// Special token ids. bos may equal pad, as in Marian models.
struct SpecialIds {
  int64_t pad = 0;
  int64_t bos = 1;
  int64_t eos = 2;
};

/// Pads B sources and B targets. Row b of every array is pair b. No special token is added to the source.
///
/// Throws Error (shape) if there are not as many targets as sources, and Error (index) for a negative id or for the
/// padding id inside a sequence, which the model would mask.
PaddedBatch pad_batch(std::span<const std::vector<int64_t>> sources, std::span<const std::vector<int64_t>> targets,
                      const SpecialIds& special = {});

}  // namespace tape::text
