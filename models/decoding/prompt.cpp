#include "models/decoding/prompt.h"

namespace tape::models {

std::vector<int64_t> prompt_ids(const text::Tokenizer& tokenizer, std::string_view text) {
  text::Encoding encoding = tokenizer.encode(text);
  size_t size = encoding.size();
  while (size > 0 && encoding.special_tokens_mask[size - 1] && encoding.ids[size - 1] != tokenizer.special().bos)
    --size;
  encoding.ids.resize(size);
  return encoding.ids;
}

}  // namespace tape::models
