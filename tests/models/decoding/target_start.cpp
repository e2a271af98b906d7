#include "models/decoding/target_start.h"

#include "models/encoder_decoders/bart.h"
#include "tests/support/temporary_folder.h"
#include "tests/text/tokenizers/tokenizer_fixture.h"
#include "text/tokenizers/load_tokenizer.h"

namespace tape::models {
namespace {

Bart model_with(std::optional<int64_t> forced_bos) {
  return Bart({.vocab = 9,
               .d_model = 4,
               .layers = 1,
               .heads = 1,
               .d_ff = 4,
               .decoder_layers = 1,
               .decoder_heads = 1,
               .decoder_d_ff = 4,
               .bos_id = 7,
               .forced_bos = forced_bos});
}

TEST(TargetStart, IsTheModelsIfTheTokenizerHasNoLanguages) {
  const auto tokenizer = text::load_fixture("t5");
  EXPECT_EQ(target_start(model_with(5), *tokenizer).bos, 7);
  EXPECT_EQ(target_start(model_with(5), *tokenizer).forced_bos, 5);
  EXPECT_FALSE(target_start(model_with({}), *tokenizer).forced_bos);
}

TEST(TargetStart, IncludesTheLanguageAsForcedBosOrBos) {
  for (const char* name : {"mbart50", "nllb", "m2m100"}) {
    const auto tokenizer = text::load_fixture(name);
    const TargetStart start = target_start(model_with({}), *tokenizer);
    EXPECT_EQ(start.bos, 7) << name;
    EXPECT_EQ(start.forced_bos, tokenizer->target().language()) << name;
  }
  const auto mbart = text::load_fixture("mbart");
  EXPECT_EQ(target_start(model_with({}), *mbart).bos, mbart->find("de_DE"));
  EXPECT_FALSE(target_start(model_with({}), *mbart).forced_bos);
}

TEST(TargetStart, IsTheModelsIfNoTargetLanguageIsSet) {
  const TemporaryFolder folder;
  const std::string from = fixture_path("tokenizers/nllb");
  std::filesystem::copy(from, folder.path(), std::filesystem::copy_options::recursive);
  std::string config = read_text(folder / "tokenizer_config.json");
  const size_t at = config.find("\"tgt_lang\"");
  ASSERT_NE(at, std::string::npos);
  config.replace(at, 10, "\"x\"");
  write_text(folder / "tokenizer_config.json", config);
  EXPECT_FALSE(target_start(model_with({}), *text::load_tokenizer(folder.path())).forced_bos);
}

}  // namespace
}  // namespace tape::models
