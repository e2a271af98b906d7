#include "text/tokenizers/word_cache.h"

#include <cstring>

#include "text/tokenizers/flat_map.h"

namespace tape::text {

uint64_t WordCache::hash(std::string_view word) {
  uint64_t state = word.size();
  while (word.size() >= 8) {
    uint64_t part;
    std::memcpy(&part, word.data(), 8);
    state = mix(state ^ part);
    word.remove_prefix(8);
  }
  uint64_t part = 0;
  for (size_t i = 0; i < word.size(); ++i) part |= uint64_t{static_cast<unsigned char>(word[i])} << (8 * i);
  return mix(state ^ part);
}

size_t WordCache::place(std::string_view word, uint64_t hash) const {
  size_t at = hash % kSlots;
  while (slots_[at].word_size != 0) {
    const Slot& slot = slots_[at];
    if (slot.hash == hash && slot.word_size == word.size() &&
        std::memcmp(words_.data() + slot.word, word.data(), word.size()) == 0)
      break;
    at = (at + 1) % kSlots;
  }
  return at;
}

WordCache::Found WordCache::find(std::string_view word, uint64_t hash) const {
  if (slots_.empty()) return {false, {}};
  const Slot& slot = slots_[place(word, hash)];
  if (slot.word_size == 0) return {false, {}};
  return {true, std::span(pieces_).subspan(slot.pieces, slot.piece_count)};
}

void WordCache::add(std::string_view word, uint64_t hash, std::span<const Piece> pieces) {
  if (word.empty() || word.size() > kLongestWord || pieces.size() > kLongestWord) return;
  if (slots_.empty() || 2 * count_ >= kSlots) {
    slots_.assign(kSlots, Slot{});
    words_.clear();
    pieces_.clear();
    count_ = 0;
  }
  slots_[place(word, hash)] = {hash, static_cast<uint32_t>(words_.size()), static_cast<uint32_t>(pieces_.size()),
                               static_cast<uint16_t>(word.size()), static_cast<uint16_t>(pieces.size())};
  words_.insert(words_.end(), word.begin(), word.end());
  pieces_.insert(pieces_.end(), pieces.begin(), pieces.end());
  ++count_;
}

}  // namespace tape::text
