#include "text/tokenizers/steps/added_tokens.h"

#include <algorithm>

#include "base/utf8.h"
#include "text/tokenizers/patterns/unicode.h"

namespace tape::text {
namespace {

/// The code point before a position other than the start.
CodePoint before(std::string_view text, size_t at) {
  for (size_t back = std::min<size_t>(at, 4); back > 1; --back) {
    const CodePoint point = decode_utf8(text.substr(at - back));
    if (point.valid && point.length == back) return point;
  }
  return decode_utf8(text.substr(at - 1, 1));
}

}  // namespace

void AddedTokens::add(const AddedToken& token, std::string_view content) {
  if (content.empty()) return;
  trie_.add(content, static_cast<int32_t>(tokens_.size()));
  begins_[static_cast<unsigned char>(content[0])] = true;
  tokens_.push_back(token);
}

const AddedToken* AddedTokens::match(std::string_view text, size_t at, size_t& end) const {
  const AddedToken* found = nullptr;
  uint32_t node = Trie::kRoot;
  for (size_t next = at; next < text.size() && trie_.step(node, text[next]);)
    if (++next; trie_.value(node) != Trie::kNone) {
      found = &tokens_[static_cast<size_t>(trie_.value(node))];
      end = next;
    }
  return found;
}

void AddedTokens::split(std::string_view text, std::vector<Part>& to) const {
  size_t done = 0;
  const auto part = [&to](size_t begin, size_t end, int64_t id) {
    if (begin < end) to.push_back({{static_cast<uint32_t>(begin), static_cast<uint32_t>(end)}, id});
  };
  for (size_t at = 0; !tokens_.empty() && at < text.size();) {
    size_t end = at;
    const AddedToken* token = begins_[static_cast<unsigned char>(text[at])] ? match(text, at, end) : nullptr;
    if (token == nullptr) {
      ++at;
      continue;
    }
    size_t begin = at;
    at = end;  // even if rstrip takes white space after it, with which the next token may begin
    if (token->single_word) {
      const bool joined = (begin > 0 && is_word_character(before(text, begin).value)) ||
                          (end < text.size() && is_word_character(decode_utf8(text.substr(end)).value));
      if (joined) continue;
    }
    if (token->lstrip) {
      while (begin > 0 && is_white_space(before(text, begin).value)) begin -= before(text, begin).length;
      begin = std::max(begin, done);
    }
    if (token->rstrip)
      while (end < text.size() && is_white_space(decode_utf8(text.substr(end)).value))
        end += decode_utf8(text.substr(end)).length;
    begin = std::min(begin, end);
    part(done, begin, -1);
    part(begin, end, token->id);
    done = end;
  }
  part(done, text.size(), -1);
}

}  // namespace tape::text
