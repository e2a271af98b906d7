#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace tape::text {

/// GPT-2's way to write any byte as a visible character: those of Latin-1 that are visible stand for themselves, the
/// other 68 bytes for U+0100, U+0101 and so on (a blank is `Ġ`).
const std::array<std::string, 256>& byte_characters();

/// Bytes as a token writes them, and back; nothing for a text with a character outside the alphabet.
std::string to_byte_characters(std::string_view bytes);
std::optional<std::string> from_byte_characters(std::string_view text);

}  // namespace tape::text
