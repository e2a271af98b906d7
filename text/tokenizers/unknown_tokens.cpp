#include "text/tokenizers/unknown_tokens.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/number_text.h"
#include "base/utf8.h"
#include "text/tokenizers/steps/byte_level.h"

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
  bool in_first = false, behind_first = false;  // since not every tokenizer sets type_ids for pairs
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
    if (piece == token) continue;  // the text contains the unknown token itself
    ++unknown_;
    unknown_token_ = token;
    if (examples_.size() < kShown) examples_.insert(clipped(piece, 30));
  }
}

std::string UnknownTokens::note() const {
  if (unknown_ == 0) return "";
  return fmt::format("{} of {} tokens {} unknown to the model and read as \"{}\": {}", grouped(unknown_), grouped(all_),
                     unknown_ == 1 ? "is" : "are", unknown_token_, quoted(examples_));
}

DroppedCharacters::DroppedCharacters(const ByteLevelBpe& tokenizer)
    : tokenizer_(tokenizer), knows_all_(knows_all_bytes(tokenizer)) {}

void DroppedCharacters::add(std::string_view text) {
  while (!knows_all_ && !text.empty()) {  // by lines, as a list of all characters would take far more memory
    const std::string_view line = text.substr(0, std::min(text.find('\n'), text.size() - 1) + 1);
    text.remove_prefix(line.size());
    for (const std::string_view character : code_points(line)) {
      ++all_;
      auto known = lost_.find(character);
      if (known == lost_.end()) known = lost_.emplace(character, loses(tokenizer_, character)).first;
      if (!known->second) continue;
      ++dropped_characters_;
      if (examples_.size() < kShown) examples_.emplace(character);
    }
  }
}

std::string DroppedCharacters::note() const {
  if (dropped_characters_ == 0) return "";
  return fmt::format("{} of {} {} unknown to the tokenizer, which drops {}: {}", grouped(dropped_characters_),
                     counted(all_, "character"), dropped_characters_ == 1 ? "is" : "are",
                     dropped_characters_ == 1 ? "it" : "them", quoted(examples_));
}

}  // namespace tape::text
