#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "token_table.h"
#include "word_cache.h"

namespace tape::text {

/// Splits words into tokens of a vocabulary. Words that it met lately come from a cache.
class WordModel {
 public:
  virtual ~WordModel() = default;

  /// Appends the pieces of each word, with their places in the text.
  void split(std::string_view text, std::span<const Range> words, std::vector<Piece>& to) const;

  /// How one word is split, as lines to print.
  virtual void explain(std::string_view word, std::vector<std::string>& lines) const = 0;

 protected:
  /// Appends the pieces of a word that is not empty, with their places in the word.
  virtual void split_word(std::string_view word, std::vector<Piece>& to) const = 0;

 private:
  // Several threads may encode: one of them has the cache, the others go without.
  mutable std::mutex mutex_;
  mutable WordCache cache_;
};

using WordModelPtr = std::unique_ptr<const WordModel>;

/// The id of the unknown token. Error (format) `where: ...` when the vocabulary lacks it.
int64_t required_id(const TokenTable& vocabulary, const std::string& unk_token, const std::string& where);

}  // namespace tape::text
