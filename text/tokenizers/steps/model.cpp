#include "text/tokenizers/steps/model.h"

#include <functional>

#include "base/utf8.h"

namespace tape::text {

size_t WordCache::place(std::string_view word) const {
  size_t at = std::hash<std::string_view>()(word) % kSlots;
  while (slots_[at].word_size != 0) {
    const Slot& slot = slots_[at];
    if (std::string_view(words_.data() + slot.word, slot.word_size) == word) break;
    at = (at + 1) % kSlots;
  }
  return at;
}

WordCache::Found WordCache::find(std::string_view word) const {
  if (slots_.empty()) return {false, {}};
  const Slot& slot = slots_[place(word)];
  if (slot.word_size == 0) return {false, {}};
  return {true, std::span(pieces_).subspan(slot.pieces, slot.piece_count)};
}

void WordCache::add(std::string_view word, std::span<const Piece> pieces) {
  if (word.empty() || word.size() > kLongestWord || pieces.size() > kLongestWord) return;
  if (slots_.empty() || 2 * count_ >= kSlots) {
    slots_.assign(kSlots, Slot{});
    words_.clear();
    pieces_.clear();
    count_ = 0;
  }
  slots_[place(word)] = {static_cast<uint32_t>(words_.size()), static_cast<uint32_t>(pieces_.size()),
                         static_cast<uint16_t>(word.size()), static_cast<uint16_t>(pieces.size())};
  words_.insert(words_.end(), word.begin(), word.end());
  pieces_.insert(pieces_.end(), pieces.begin(), pieces.end());
  ++count_;
}

void WordModel::split(std::string_view text, std::span<const Range> words, std::vector<Piece>& to) const {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  for (const Range& range : words) {
    const std::string_view word = text.substr(range.begin, range.end - range.begin);
    if (word.empty()) continue;
    const size_t before = to.size();
    if (!lock.owns_lock() || word.size() > WordCache::kLongestWord) {
      split_word(word, to);
    } else {
      const WordCache::Found found = cache_.find(word);
      if (found.hit) {
        to.insert(to.end(), found.pieces.begin(), found.pieces.end());
      } else {
        split_word(word, to);
        cache_.add(word, std::span(to).subspan(before));
      }
    }
    for (size_t i = before; i < to.size(); ++i) {
      to[i].begin += range.begin;
      to[i].end += range.begin;
    }
  }
}

int64_t required_id(const TokenTable& vocabulary, const std::string& unk_token, const std::string& where) {
  const auto id = vocabulary.find(unk_token);
  if (!id)
    raise(ErrorKind::format, "{}: the unknown token \"{}\" is not in the vocabulary", where, clipped(unk_token, 40));
  return *id;
}

}  // namespace tape::text
