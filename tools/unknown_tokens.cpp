#include "tools/unknown_tokens.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/number_text.h"
#include "base/utf8.h"

namespace tape::tools {
namespace {

constexpr size_t kShown = 5;

}  // namespace

void UnknownTokens::add(const text::Tokenizer& tokenizer, const text::Encoding& encoding, const std::string& text,
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
    const text::Range at = encoding.offsets[i];
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
  std::string shown;
  for (const std::string& piece : some_) shown += fmt::format("{}\"{}\"", shown.empty() ? "" : ", ", piece);
  return fmt::format("{} of {} tokens {} unknown to the model, which reads \"{}\" in their place: {}",
                     grouped(unknown_), grouped(all_), unknown_ == 1 ? "is" : "are", stands_for_them_, shown);
}

}  // namespace tape::tools
