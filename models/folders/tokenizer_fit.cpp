#include "models/folders/tokenizer_fit.h"

#include "base/error.h"

namespace tape::models {

void check_tokenizer_fits(const std::string& folder, const text::Tokenizer& tokenizer, const char* key, int64_t vocab) {
  if (tokenizer.vocab_size() > vocab)
    raise(ErrorKind::config, "{}: the tokenizer has {} tokens, but the model has {} ({})", folder,
          tokenizer.vocab_size(), vocab, key);
}

}  // namespace tape::models
