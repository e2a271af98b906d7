#include "text/tokenizers/model.h"

#include "base/utf8.h"

namespace tape::text {

void WordModel::split(std::string_view text, std::span<const Range> words, std::vector<Piece>& to) const {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  for (const Range& range : words) {
    const std::string_view word = text.substr(range.begin, range.end - range.begin);
    if (word.empty()) continue;
    const size_t before = to.size();
    if (!lock.owns_lock() || word.size() > WordCache::kLongestWord) {
      split_word(word, to);
    } else {
      const uint64_t hash = WordCache::hash(word);
      const WordCache::Found found = cache_.find(word, hash);
      if (found.hit) {
        to.insert(to.end(), found.pieces.begin(), found.pieces.end());
      } else {
        split_word(word, to);
        cache_.add(word, hash, std::span(to).subspan(before));
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
