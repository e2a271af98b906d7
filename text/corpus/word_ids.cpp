#include "text/corpus/word_ids.h"

namespace tape::text {

std::string joined_words(std::span<const std::string> words) {
  std::string text;
  for (size_t i = 0; i < words.size(); ++i) text.append(i == 0 ? "" : " ").append(words[i]);
  return text;
}

WordIds align_words(std::span<const std::string> words, const Encoding& encoding) {
  WordIds found{.ids = encoding.ids, .words = {}, .places = {}};
  const std::vector<Range>& offsets = encoding.offsets;
  size_t begin = 0, token = 0;
  // As in transformers, a token of only the space before a word belongs to the word. Trimmed offsets are empty.
  const auto is_before = [&] {
    if (encoding.special_tokens_mask[token] != 0) return true;
    const Range at = offsets[token];
    return at.end < begin || (at.end == begin && at.begin + 1 < begin);
  };
  for (size_t i = 0; i < words.size(); ++i) {
    const size_t end = begin + words[i].size();
    // A token may extend into the next word, so each word continues at the same token.
    while (token < offsets.size() && is_before()) ++token;
    if (token < offsets.size() && offsets[token].begin < end) {
      found.words.push_back(static_cast<int64_t>(i));
      found.places.push_back(static_cast<int64_t>(token));
    }
    begin = end + 1;
  }
  return found;
}

}  // namespace tape::text
