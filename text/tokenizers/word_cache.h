#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "../tokenizer.h"

namespace tape::text {

/// The pieces of words seen before; forgets all of them when it is full.
class WordCache {
 public:
  static constexpr size_t kLongestWord = 64;

  struct Found {
    bool hit;
    std::span<const Piece> pieces;  ///< places within the word
  };

  Found find(std::string_view word, uint64_t hash) const;
  void add(std::string_view word, uint64_t hash, std::span<const Piece> pieces);
  static uint64_t hash(std::string_view word);

 private:
  static constexpr size_t kSlots = 1 << 15;

  struct Slot {
    uint64_t hash = 0;
    uint32_t word = 0, pieces = 0;
    uint16_t word_size = 0, piece_count = 0;  // word_size 0: free
  };

  size_t place(std::string_view word, uint64_t hash) const;

  std::vector<Slot> slots_;
  std::vector<char> words_;
  std::vector<Piece> pieces_;
  size_t count_ = 0;
};

}  // namespace tape::text
