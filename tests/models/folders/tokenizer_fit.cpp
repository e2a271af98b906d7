#include "models/folders/tokenizer_fit.h"

#include <fmt/format.h>

#include "base/file.h"
#include "tests/support/errors.h"
#include "tests/support/files.h"
#include "tests/support/temporary_folder.h"
#include "text/tokenizers/characters.h"
#include "text/tokenizers/load_tokenizer.h"

namespace tape::models {
namespace {

TEST(TokenizerFit, RequiresARowForEveryToken) {
  const auto tokenizer = text::character_tokenizer("abc");
  const int64_t size = tokenizer->vocab_size();
  check_tokenizer_fits("folder", *tokenizer, "vocab_size", size);
  check_tokenizer_fits("folder", *tokenizer, "vocab_size", size + 5);
  EXPECT_TAPE_ERROR(
      check_tokenizer_fits("folder", *tokenizer, "src_vocab", size - 1), ErrorKind::config,
      fmt::format("folder: the tokenizer has {} tokens, but the model has {} (src_vocab)", size, size - 1));
}

// Added tokens have ids after the vocabulary, for which a model may have no rows.
TEST(TokenizerFit, CountsAddedTokens) {
  const TemporaryFolder folder;
  write_text(folder / "vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n");
  check_tokenizer_fits("folder", *text::load_tokenizer(folder.path()), "vocab_size", 5);
  write_text(folder / "tokenizer_config.json", R"({"additional_special_tokens": ["<new>"]})");
  const auto tokenizer = text::load_tokenizer(folder.path());
  EXPECT_EQ(tokenizer->encode("<new>").ids, (std::vector<int64_t>{2, 5, 3}));
  EXPECT_TAPE_ERROR(check_tokenizer_fits("folder", *tokenizer, "vocab_size", 5), ErrorKind::config,
                    "folder: the tokenizer has 6 tokens, but the model has 5 (vocab_size)");
}

}  // namespace
}  // namespace tape::models
