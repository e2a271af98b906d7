#include "text/tokenizers/stream_decoder.h"

#include "base/utf8.h"
#include "text/tokenizers/steps/decoder.h"

namespace tape::text {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
/// Number of bytes at the end of the text that later tokens may complete to a character: a UTF-8 prefix, or a
/// tokenizer's placeholders for its bytes. A character has at most four bytes.
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

/// Whether the ids end in byte tokens (`<0xE6>`) that may still become a character. Until it is complete, decode may
/// also write U+FFFD for all bytes before it.
bool ends_in_cut_character(const Tokenizer& tokenizer, const std::vector<int64_t>& ids) {
  std::string bytes;
  size_t begin = ids.size();
  while (begin > 0 && byte_of_token(tokenizer.token(ids[begin - 1])) >= 0) --begin;
  for (; begin < ids.size(); ++begin) bytes += static_cast<char>(byte_of_token(tokenizer.token(ids[begin])));
  const size_t cut = unfinished(bytes);
  return cut > 0 && valid_utf8(std::string_view(bytes).substr(0, bytes.size() - cut));
}

}  // namespace

StreamDecoder::StreamDecoder(const Tokenizer& tokenizer, std::vector<int64_t> before)
    : tokenizer_(tokenizer), ids_(std::move(before)), old_(ids_.size()), shown_(tokenizer_.decode(ids_)) {}

/// Decodes the window. An invalid byte may turn earlier bytes, already returned as text, into U+FFFD; if so, restarts
/// with the ids since then.
std::string StreamDecoder::text_of_window() {
  std::string text = tokenizer_.decode(ids_);
  if (text.starts_with(shown_) || ends_in_cut_character(tokenizer_, ids_)) return text;
  ids_.erase(ids_.begin(), ids_.begin() + static_cast<int64_t>(old_));
  old_ = 0;
  shown_.clear();
  return tokenizer_.decode(ids_);
}

std::string StreamDecoder::push(int64_t id) {
  ids_.push_back(id);
  const std::string text = text_of_window();
  if (ends_in_cut_character(tokenizer_, ids_)) return "";
  const size_t end = text.size() - unfinished(text);
  if (end <= shown_.size()) return "";
  std::string out = replace_invalid_utf8(std::string_view(text).substr(shown_.size(), end - shown_.size()));
  shown_ = text.substr(0, end);
  if (end == text.size()) {
    // The last tokens output are enough context for the next ones, unless they are spaces that are dropped at the start
    // of a text: the next space would be dropped too.
    std::vector<int64_t> last(ids_.begin() + static_cast<int64_t>(old_), ids_.end());
    std::string of_last = tokenizer_.decode(last);
    if (of_last.empty()) return out;
    ids_ = std::move(last);
    old_ = ids_.size();
    shown_ = std::move(of_last);
  }
  return out;
}

std::string StreamDecoder::finish() {
  const std::string text = text_of_window();
  std::string out =
      text.size() > shown_.size() ? replace_invalid_utf8(std::string_view(text).substr(shown_.size())) : "";
  shown_ = text;
  return out;
}

}  // namespace tape::text
