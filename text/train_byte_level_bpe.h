#pragma once

#include "byte_level_bpe.h"
#include "text_reader.h"

namespace tape::text {

struct TrainBpeOptions {
  int64_t vocab_size = 8000;  ///< tokens in all; at least 256 and the special tokens
  int64_t min_frequency = 2;  ///< pairs that are rarer are not merged
  /// Get the first ids; the first of them is bos, eos and unk.
  std::vector<std::string> special_tokens{"<|endoftext|>"};
  bool add_prefix_space = false;
};

/// Learns a byte-level BPE from lines of text (Sennrich, Haddow, Birch 2016): merges the most frequent pair of
/// neighbours until the vocabulary is full. Of pairs that are equally frequent the one with the smaller ids comes
/// first, the left token's before the right's: the result depends on nothing but the lines, in any order, and is
/// `tokenizers`' own. Error (config) for a corpus without a character, sizes that make no sense, or a special token
/// that is empty or stands twice.
std::unique_ptr<ByteLevelBpe> train_byte_level_bpe(std::span<const std::string> lines,
                                                   const TrainBpeOptions& options = {});
/// The same from lines or longer pieces of a text that come one by one, of which none is kept.
std::unique_ptr<ByteLevelBpe> train_byte_level_bpe(const NextPiece& next, const TrainBpeOptions& options = {});

}  // namespace tape::text
