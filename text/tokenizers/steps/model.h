#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "../token_table.h"
#include "../tokenizer.h"

namespace tape::text {

/// Cache of the pieces of recent words; cleared when it is full.
class WordCache {
 public:
  static constexpr size_t kLongestWord = 64;

  struct Found {
    bool hit;
    std::span<const Piece> pieces;  ///< offsets are relative to the word
  };

  Found find(std::string_view word) const;
  void add(std::string_view word, std::span<const Piece> pieces);

 private:
  static constexpr size_t kSlots = 1 << 15;

  struct Slot {
    uint32_t word = 0, pieces = 0;
    uint16_t word_size = 0, piece_count = 0;  // word_size 0: free slot
  };

  size_t place(std::string_view word) const;

  std::vector<Slot> slots_;
  std::vector<char> words_;
  std::vector<Piece> pieces_;
  size_t count_ = 0;
};

/// Splits words into tokens of a vocabulary, with a cache of recent words.
class WordModel {
 public:
  virtual ~WordModel() = default;

  /// Appends the pieces of each word, with their offsets in the text.
  void split(std::string_view text, std::span<const Range> words, std::vector<Piece>& to) const;

  /// Explains how one word is split, as lines to print.
  virtual void explain(std::string_view word, std::vector<std::string>& lines) const = 0;

 protected:
  /// Appends the pieces of a non-empty word, with their offsets in the word.
  virtual void split_word(std::string_view word, std::vector<Piece>& to) const = 0;

 private:
  // If several threads encode, one of them uses the cache and the others do without.
  mutable std::mutex mutex_;
  mutable WordCache cache_;
};

using WordModelPtr = std::unique_ptr<const WordModel>;

/// The id of the unknown token. Throws Error (format) `where: ...` if the vocabulary lacks it.
int64_t required_id(const TokenTable& vocabulary, const std::string& unk_token, const std::string& where);

}  // namespace tape::text
