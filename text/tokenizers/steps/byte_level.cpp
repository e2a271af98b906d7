#include "text/tokenizers/steps/byte_level.h"

#include "text/tokenizers/patterns/unicode.h"

namespace tape::text {
namespace {

struct Alphabet {
  std::array<std::string, 256> characters;
  std::array<int, 0x180> bytes;

  Alphabet() {
    bytes.fill(-1);
    char32_t next = 0x100;
    for (char32_t byte = 0; byte < 256; ++byte) {
      const bool visible = (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
      const char32_t point = visible ? byte : next++;
      append_utf8(point, characters[byte]);
      bytes[point] = static_cast<int>(byte);
    }
  }
};

const Alphabet& alphabet() {
  static const auto& made = *new const Alphabet;
  return made;
}

}  // namespace

const std::array<std::string, 256>& byte_characters() { return alphabet().characters; }

std::string to_byte_characters(std::string_view bytes) {
  std::string out;
  for (const char c : bytes) out += alphabet().characters[static_cast<unsigned char>(c)];
  return out;
}

std::optional<std::string> from_byte_characters(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const CodePoint point = decode_utf8(text);
    if (point.value >= alphabet().bytes.size() || alphabet().bytes[point.value] < 0) return std::nullopt;
    out.push_back(static_cast<char>(alphabet().bytes[point.value]));
    text.remove_prefix(point.length);
  }
  return out;
}

}  // namespace tape::text
