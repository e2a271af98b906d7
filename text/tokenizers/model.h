#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "../tokenizer.h"
#include "token_table.h"

namespace tape::text {

/// The pieces of words seen before; forgets all of them when it is full.
class WordCache {
 public:
  static constexpr size_t kLongestWord = 64;

  struct Found {
    bool hit;
    std::span<const Piece> pieces;  ///< places within the word
  };

  Found find(std::string_view word) const;
  void add(std::string_view word, std::span<const Piece> pieces);

 private:
  static constexpr size_t kSlots = 1 << 15;

  struct Slot {
    uint32_t word = 0, pieces = 0;
    uint16_t word_size = 0, piece_count = 0;  // word_size 0: free
  };

  size_t place(std::string_view word) const;

  std::vector<Slot> slots_;
  std::vector<char> words_;
  std::vector<Piece> pieces_;
  size_t count_ = 0;
};

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
