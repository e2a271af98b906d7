#include "text/word_ids.h"

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
  for (size_t i = 0; i < words.size(); ++i) {
    const size_t end = begin + words[i].size();
    // Added tokens have no bytes, and a token may extend into the next word, so each word continues at the same token.
    while (token < offsets.size() && offsets[token].end <= begin) ++token;
    if (token < offsets.size() && offsets[token].begin < end) {
      found.words.push_back(static_cast<int64_t>(i));
      found.places.push_back(static_cast<int64_t>(token));
    }
    begin = end + 1;
  }
  return found;
}

}  // namespace tape::text
