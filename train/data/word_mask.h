#pragma once

#include <cstdint>
#include <vector>

#include "../../text/tokenizer.h"

namespace tape::train {

/// A line of which some tokens are to be said.
struct MaskedLine {
  std::vector<int64_t> ids;            ///< what is read
  std::vector<int64_t> places, words;  ///< of the chosen tokens, ascending, and what they were
};

/// Which tokens of a line a masked language model must say, and what it reads in their place (Devlin et al. 2019, 3.1
/// and their code): of n tokens that are not special round(share n), at least one, all choices equally likely; of these
/// each is read as the mask token in 80 of 100 cases, as any token that is not special in 10, as itself in 10.
class WordMask {
 public:
  /// Error (config) unless 0 < share <= 1, and for a tokenizer without a mask token, named `name`. The tokenizer must
  /// outlive this.
  WordMask(const text::Tokenizer& tokenizer, double share, uint64_t seed, const std::string& name);

  /// Whether a line has a token to choose.
  bool has_words(const std::vector<int64_t>& ids) const;
  /// Depends on the seed, the epoch and the number of the line alone. Safe from several threads at once.
  MaskedLine operator()(const std::vector<int64_t>& ids, int64_t epoch, int64_t line) const;

  /// An epoch that no training reaches: the choice of validation, which stays.
  static constexpr int64_t kValidation = (int64_t{1} << 24) - 1;

 private:
  std::vector<int64_t> words_in(const std::vector<int64_t>& ids) const;

  const text::Tokenizer& tokenizer_;
  const double share_;
  const uint64_t seed_;
  std::vector<int64_t> words_;  // the vocabulary without special tokens
};

}  // namespace tape::train
