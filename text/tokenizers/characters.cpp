#include "text/tokenizers/characters.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/utf8.h"
#include "text/tokenizers/steps/byte_level.h"

namespace tape::text {

std::unique_ptr<ByteLevelBpe> character_tokenizer(std::string_view text) {
  return character_tokenizer(
      [&, given = false]() mutable { return std::exchange(given, true) ? std::nullopt : std::optional(text); });
}

std::unique_ptr<ByteLevelBpe> character_tokenizer(const NextPiece& next) {
  // UTF-8 strings sort in code point order.
  std::set<std::string, std::less<>> characters;
  while (const auto piece = next())
    for (const std::string_view character : code_points(*piece))
      if (!characters.contains(character)) characters.emplace(character);
  if (characters.empty()) raise(ErrorKind::config, "character_tokenizer: the text is empty");
  std::vector<std::string> vocabulary;
  std::set<std::string> known;
  const auto add = [&](const std::string& token) {
    if (known.insert(token).second) vocabulary.push_back(token);
  };
  for (const std::string& character : characters) add(to_byte_characters(character));
  // Merges build a character from the left, so its prefixes are tokens too.
  Merges merges;
  std::set<std::pair<std::string, std::string>> merged;
  for (const std::string& character : characters) {
    for (size_t length = 1; length < character.size(); ++length) {
      const std::string left = to_byte_characters(std::string_view(character).substr(0, length));
      const std::string right = to_byte_characters(std::string_view(character).substr(length, 1));
      add(left);
      add(right);
      if (merged.emplace(left, right).second) merges.emplace_back(left, right);
    }
  }
  return std::make_unique<ByteLevelBpe>(vocabulary, std::move(merges));
}

}  // namespace tape::text
