#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tape::text {

/// Pairs of sequences padded to common lengths, ready for an encoder-decoder model. Arrays are row-major.
struct PaddedBatch {
  std::vector<int64_t> src;      ///< [B, Ts] the source as given, then padding
  std::vector<int64_t> tgt_in;   ///< [B, Tt] bos, the target, then padding: what the decoder reads
  std::vector<int64_t> tgt_out;  ///< [B, Tt] the target, eos, then padding: what it must say
  int64_t batch = 0;             ///< B
  int64_t src_length = 0;        ///< Ts, the longest source
  int64_t tgt_length = 0;        ///< Tt, the longest target and one more
};

/// Ids with a meaning of their own; bos may equal pad, as in Marian's models.
struct SpecialIds {
  int64_t pad = 0;
  int64_t bos = 1;
  int64_t eos = 2;
};

/// Pads B sources and their B targets. Row b of every array belongs to pair b; the source gets no special token.
///
/// Errors: ErrorKind::shape when there are not as many targets as sources; ErrorKind::index for a negative id, or for
/// the padding id inside a sequence (the model would not see it).
PaddedBatch pad_batch(std::span<const std::vector<int64_t>> sources, std::span<const std::vector<int64_t>> targets,
                      const SpecialIds& special = {});

}  // namespace tape::text
