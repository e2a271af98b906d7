#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace tape::text {

/// GPT-2's alphabet for bytes: visible Latin-1 characters represent themselves, the other 68 bytes are U+0100, U+0101
/// and so on (a space is `Ġ`).
const std::array<std::string, 256>& byte_characters();

/// Converts bytes to that alphabet and back; nullopt for a text with a character outside the alphabet.
std::string to_byte_characters(std::string_view bytes);
std::optional<std::string> from_byte_characters(std::string_view text);

}  // namespace tape::text
