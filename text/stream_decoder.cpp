#include "text/stream_decoder.h"

#include "text/tokenizers/unicode.h"

namespace tape::text {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
/// Bytes at the end of the text that the next tokens may turn into a character: the start of one, or what a tokenizer
/// writes for its bytes as long as it is not whole. A character has at most four.
size_t unfinished(std::string_view text) {
  size_t replaced = 0;
  while (replaced < 3 && text.substr(0, text.size() - replaced * kReplacement.size()).ends_with(kReplacement))
    ++replaced;
  if (replaced > 0) return replaced * kReplacement.size();
  for (size_t back = 1; back < 4 && back <= text.size(); ++back) {
    const auto byte = static_cast<unsigned char>(text[text.size() - back]);
    if (byte < 0x80) return 0;
    if (byte >= 0xC0) return back < (byte >= 0xF0 ? 4u : byte >= 0xE0 ? 3u : 2u) ? back : 0;
  }
  return 0;
}

}  // namespace

StreamDecoder::StreamDecoder(const Tokenizer& tokenizer, std::vector<int64_t> before)
    : tokenizer_(tokenizer), ids_(std::move(before)), old_(ids_.size()), shown_(tokenizer_.decode(ids_).size()) {}

std::string StreamDecoder::push(int64_t id) {
  ids_.push_back(id);
  const std::string text = tokenizer_.decode(ids_);
  const size_t end = text.size() - unfinished(text);
  if (end <= shown_) return "";
  std::string out = replace_broken_utf8(std::string_view(text).substr(shown_, end - shown_));
  shown_ = end;
  if (end == text.size()) {
    // The tokens shown now are enough for the next to be joined to.
    ids_.erase(ids_.begin(), ids_.begin() + static_cast<int64_t>(old_));
    old_ = ids_.size();
    shown_ = tokenizer_.decode(ids_).size();
  }
  return out;
}

std::string StreamDecoder::finish() {
  const std::string text = tokenizer_.decode(ids_);
  std::string out = text.size() > shown_ ? replace_broken_utf8(std::string_view(text).substr(shown_)) : "";
  shown_ = text.size();
  return out;
}

}  // namespace tape::text
