#pragma once

#include <cstdint>
#include <vector>

#include "../../text/tokenizers/tokenizer.h"

namespace tape::train {

/// A line with masked tokens.
struct MaskedLine {
  std::vector<int64_t> ids;            ///< input tokens
  std::vector<int64_t> places, words;  ///< positions of the selected tokens, ascending, and their original ids
};

/// Selects the tokens that a masked language model must predict and replaces them (Devlin et al. 2019, 3.1, and their
/// code): round(share n) of n tokens that are not special, at least one, every selection equally likely. Each selected
/// token becomes the mask token with probability 0.8, a random non-special token with 0.1, and stays with 0.1.
class TokenMask {
 public:
  /// Throws Error (config) unless 0 < share <= 1, or if the tokenizer, named `name`, has no mask token. The tokenizer
  /// must outlive this object.
  TokenMask(const text::Tokenizer& tokenizer, double share, uint64_t seed, const std::string& name);

  /// Whether a line has a token that can be selected.
  bool has_words(const std::vector<int64_t>& ids) const;
  /// Depends only on the seed, the epoch and the index of the line. Thread-safe.
  MaskedLine operator()(const std::vector<int64_t>& ids, int64_t epoch, int64_t line) const;

  /// An epoch that training never reaches, for a fixed validation mask.
  static constexpr int64_t kValidation = (int64_t{1} << 24) - 1;

 private:
  std::vector<int64_t> words_in(const std::vector<int64_t>& ids) const;

  const text::Tokenizer& tokenizer_;
  const double share_;
  const uint64_t seed_;
  std::vector<int64_t> words_;  // the vocabulary without special tokens
};

}  // namespace tape::train
