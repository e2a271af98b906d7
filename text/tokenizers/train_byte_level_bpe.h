#pragma once

#include "../corpus/text_reader.h"
#include "byte_level_bpe.h"

namespace tape::text {

/// Options of train_byte_level_bpe().
struct TrainBpeOptions {
  int64_t vocab_size = 8000;  ///< total number of tokens; at least 256 plus the special tokens
  int64_t min_frequency = 2;  ///< pairs that occur less often are not merged
  /// Receive the first ids; the first one is bos, eos and unk.
  std::vector<std::string> special_tokens{"<|endoftext|>"};
  bool add_prefix_space = false;  ///< see ByteLevelBpeOptions; also applied to the training text
};

/// Trains a byte-level BPE on lines of text (Sennrich, Haddow, Birch 2016): merges the most frequent adjacent pair
/// until the vocabulary is full. Ties go to the pair with the smaller ids, left token first, so the result depends only
/// on the lines, not their order, and equals that of `tokenizers`. Throws Error (config) for a corpus without
/// characters, invalid sizes, and an empty or duplicate special token.
std::unique_ptr<ByteLevelBpe> train_byte_level_bpe(std::span<const std::string> lines,
                                                   const TrainBpeOptions& options = {});
/// Same from an iterator over lines or longer pieces of a text, none of which is stored.
std::unique_ptr<ByteLevelBpe> train_byte_level_bpe(const NextPiece& next, const TrainBpeOptions& options = {});

}  // namespace tape::text
