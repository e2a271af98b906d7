#include "text/characters.h"

#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/utf8.h"
#include "text/tokenizers/byte_level.h"

namespace tape::text {

std::unique_ptr<ByteLevelBpe> character_tokenizer(std::string_view text) {
  if (text.empty()) raise(ErrorKind::config, "character_tokenizer: the text is empty");
  // UTF-8 sorts as its code points do.
  std::set<std::string, std::less<>> characters;
  for (const std::string_view character : code_points(text)) characters.emplace(character);
  std::vector<std::string> vocabulary;
  std::set<std::string> known;
  const auto add = [&](const std::string& token) {
    if (known.insert(token).second) vocabulary.push_back(token);
  };
  for (const std::string& character : characters) add(to_byte_characters(character));
  // Merges build a character from the left, so their steps are tokens too.
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
