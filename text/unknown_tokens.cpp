#include "text/unknown_tokens.h"

#include <algorithm>
#include <functional>
#include <map>

#include <fmt/format.h>

#include "base/number_text.h"
#include "base/utf8.h"
#include "text/tokenizers/byte_level.h"

namespace tape::text {
namespace {

constexpr size_t kShown = 5;

/// `"hello", "world"`
std::string quoted(const std::set<std::string>& pieces) {
  std::string shown;
  for (const std::string& piece : pieces) shown += fmt::format("{}\"{}\"", shown.empty() ? "" : ", ", piece);
  return shown;
}

bool loses(const ByteLevelBpe& tokenizer, std::string_view text) {
  return tokenizer.decode(tokenizer.encode(text, {.add_special_tokens = false}).ids, false) != text;
}

bool knows_all_bytes(const ByteLevelBpe& tokenizer) {
  for (const std::string& byte : byte_characters())
    if (!tokenizer.find(byte)) return false;
  return true;
}

}  // namespace

void UnknownTokens::add(const Tokenizer& tokenizer, const Encoding& encoding, const std::string& text,
                        const std::string& second) {
  const int64_t unknown = tokenizer.special().unk;
  bool in_first = false, behind_first = false;  // not every tokenizer tells the texts of a pair apart by type_ids
  for (size_t i = 0; i < encoding.size(); ++i) {
    if (encoding.special_tokens_mask[i]) {
      behind_first = in_first;
      continue;
    }
    in_first = true;
    ++all_;
    if (unknown < 0 || encoding.ids[i] != unknown) continue;
    const Range at = encoding.offsets[i];
    const std::string& from = behind_first || encoding.type_ids[i] == 1 ? second : text;
    const std::string piece = from.substr(std::min<size_t>(at.begin, from.size()), at.end - at.begin);
    const std::string& token = tokenizer.token(unknown);
    if (piece == token) continue;  // asked for by name
    ++unknown_;
    stands_for_them_ = token;
    if (some_.size() < kShown) some_.insert(clipped(piece, 30));
  }
}

std::string UnknownTokens::note() const {
  if (unknown_ == 0) return "";
  return fmt::format("{} of {} tokens {} unknown to the model, which reads \"{}\" in their place: {}",
                     grouped(unknown_), grouped(all_), unknown_ == 1 ? "is" : "are", stands_for_them_, quoted(some_));
}

std::string lost_characters_note(const ByteLevelBpe& tokenizer, std::string_view text) {
  if (knows_all_bytes(tokenizer)) return "";
  std::map<std::string, bool, std::less<>> lost;  // of the characters looked at
  int64_t all = 0, count = 0;
  std::set<std::string> some;
  while (!text.empty()) {  // line by line: a list of all characters would take much more than the text
    const std::string_view line = text.substr(0, std::min(text.find('\n'), text.size() - 1) + 1);
    text.remove_prefix(line.size());
    for (const std::string_view character : code_points(line)) {
      ++all;
      auto known = lost.find(character);
      if (known == lost.end()) known = lost.emplace(character, loses(tokenizer, character)).first;
      if (!known->second) continue;
      ++count;
      if (some.size() < kShown) some.emplace(character);
    }
  }
  if (count == 0) return "";
  return fmt::format("{} of {} {} unknown to the tokenizer, which loses {}: {}", grouped(count),
                     counted(all, "character"), count == 1 ? "is" : "are", count == 1 ? "it" : "them", quoted(some));
}

}  // namespace tape::text
