#include "models/tokenizer_fit.h"

#include "tests/support/errors.h"
#include "text/characters.h"

namespace tape::models {
namespace {

TEST(TokenizerFit, EveryTokenNeedsARow) {
  const auto tokenizer = text::character_tokenizer("abc");
  const int64_t size = tokenizer->vocab_size();
  check_tokenizer_fits("folder", *tokenizer, "vocab_size", size);
  check_tokenizer_fits("folder", *tokenizer, "vocab_size", size + 5);
  EXPECT_TAPE_ERROR(check_tokenizer_fits("folder", *tokenizer, "src_vocab", size - 1), ErrorKind::config,
                    fmt::format("folder: the tokenizer has {} tokens, the model {} (src_vocab)", size, size - 1));
}

}  // namespace
}  // namespace tape::models
