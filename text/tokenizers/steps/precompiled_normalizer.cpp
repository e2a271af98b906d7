// SentencePiece's precompiled character map: a double-array trie (darts-clone's layout) of the keys, then the
// NUL-terminated replacements.
#include "base/error.h"
#include "text/tokenizers/patterns/unicode.h"
#include "text/tokenizers/steps/normalizer.h"

namespace tape::text {
namespace {

class PrecompiledNormalizer {
 public:
  PrecompiledNormalizer(std::string_view blob, const std::string& where) {
    const auto word = [&](size_t at) {
      uint32_t value = 0;
      for (size_t i = 0; i < 4; ++i)
        value |= static_cast<uint32_t>(static_cast<unsigned char>(blob[at + i])) << (8 * i);
      return value;
    };
    if (blob.size() < 4) raise(ErrorKind::format, "{}: precompiled_charsmap: only {} bytes", where, blob.size());
    const uint32_t bytes = word(0);
    if (bytes % 4 != 0 || bytes > blob.size() - 4)
      raise(ErrorKind::format, "{}: precompiled_charsmap: a trie of {} bytes does not fit in {}", where, bytes,
            blob.size());
    for (size_t i = 0; i < bytes / 4; ++i) units_.push_back(word(4 + 4 * i));
    strings_ = blob.substr(4 + bytes);
  }

  void operator()(Normalized& text) const {
    Rewriter rewrite(text);
    while (!rewrite.done()) grapheme(rewrite);
    rewrite.finish();
  }

 private:
  /// Looks up each grapheme of less than six bytes, and otherwise its code points, as tokenizers does.
  void grapheme(Rewriter& rewrite) const {
    const std::string_view rest = rewrite.rest();
    CodePoint point = decode_utf8(rest);
    size_t length = point.length;
    int32_t state = 0;
    while (length < rest.size()) {
      const CodePoint next = decode_utf8(rest.substr(length));
      if (grapheme_break(point.value, next.value, state)) break;
      length += next.length;
      point = next;
    }
    const char* found = nullptr;
    if (length < 6 && find(rest.substr(0, length), found)) return replace(length, found, rewrite);
    for (const size_t end = rewrite.at() + length; rewrite.at() < end;) {
      const size_t one = decode_utf8(rewrite.rest()).length;
      if (find(rewrite.rest().substr(0, one), found))
        replace(one, found, rewrite);
      else
        rewrite.put(rewrite.take().point);
    }
  }

  /// Reads `length` bytes and writes the replacement, aligned character by character; the rest has the origin of the
  /// last one.
  static void replace(size_t length, std::string_view by, Rewriter& rewrite) {
    const size_t end = rewrite.at() + length;
    while (!by.empty()) {
      const CodePoint point = decode_utf8(by);
      by.remove_prefix(point.length);
      if (rewrite.at() < end) rewrite.take();
      rewrite.put(point.value);
    }
    while (rewrite.at() < end) rewrite.take();
  }

  /// The replacement of the shortest key that is a prefix of `key`.
  bool find(std::string_view key, const char*& found) const {
    if (units_.empty()) return false;
    const auto offset = [](uint32_t unit) { return (unit >> 10) << ((unit & (1u << 9)) >> 6); };
    size_t node = offset(units_[0]);
    for (const char c : key) {
      const auto byte = static_cast<unsigned char>(c);
      if (byte == 0) return false;
      node ^= byte;
      if (node >= units_.size()) return false;
      const uint32_t unit = units_[node];
      if ((unit & ((1u << 31) | 0xFF)) != byte) return false;
      node ^= offset(unit);
      if (node >= units_.size()) return false;
      if (((unit >> 8) & 1) == 1) {
        const uint32_t at = units_[node] & 0x7FFFFFFF;
        if (at >= strings_.size()) return false;
        found = strings_.c_str() + at;
        return true;
      }
    }
    return false;
  }

  std::vector<uint32_t> units_;
  std::string strings_;
};

}  // namespace

Normalizer precompiled_normalizer(std::string_view blob, const std::string& where) {
  return PrecompiledNormalizer(blob, where);
}

}  // namespace tape::text
