#include "text/corpus/padding_in_texts.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/number_text.h"

namespace tape::text {

void PaddingInTexts::remove(Encoding& encoding, int64_t padding_id) {
  if (std::ranges::count(encoding.ids, padding_id) == 0) return;
  padding_id_ = padding_id;
  const Encoding all = std::exchange(encoding, {});
  for (size_t i = 0; i < all.size(); ++i) {
    if (all.ids[i] == padding_id) {
      ++removed_;
      continue;
    }
    encoding.ids.push_back(all.ids[i]);
    encoding.type_ids.push_back(all.type_ids[i]);
    encoding.attention_mask.push_back(all.attention_mask[i]);
    encoding.offsets.push_back(all.offsets[i]);
    encoding.special_tokens_mask.push_back(all.special_tokens_mask[i]);
  }
}

std::string PaddingInTexts::note(const Tokenizer& tokenizer) const {
  if (removed_ == 0) return "";
  return fmt::format("{} within texts {} ignored: \"{}\"", counted(removed_, "padding token"),
                     removed_ == 1 ? "is" : "are", tokenizer.token(padding_id_));
}

}  // namespace tape::text
