#include "text/tokenizer_json.h"

#include <gtest/gtest.h>

#include "tests/text/tokenizer_fixture.h"

namespace tape::text {
namespace {

class OptionsOfTheConfig : public TokenizerFolder {
 protected:
  /// Loads the tokenizer.json of a fixture with other settings, directly and after saving; both must agree.
  std::vector<std::string> tokens(const std::string& fixture, const Json& settings, const std::string& text) const {
    write("tokenizer.json", read_text(fixture_path(fmt::format("tokenizers/{}/tokenizer.json", fixture))));
    write("tokenizer_config.json", settings.dump());
    const auto tokenizer = load_tokenizer(folder_.path());
    const std::vector<int64_t> ids = tokenizer->encode(text, {.add_special_tokens = false}).ids;
    const TemporaryFolder saved;
    tokenizer->save(saved.path());
    EXPECT_EQ(load_tokenizer(saved.path())->encode(text, {.add_special_tokens = false}).ids, ids);
    return tokenizer->tokens(ids);
  }
};

TEST_F(OptionsOfTheConfig, ReplaceThoseOfBertsNormalizer) {
  const auto read = [this](Json settings) {
    settings["tokenizer_class"] = "BertTokenizer";
    return tokens("bert_json", settings, "THE the");
  };
  const std::vector<std::string> lower = read(Json::object());
  EXPECT_EQ(lower.front(), "the");
  EXPECT_EQ(read({{"do_lower_case", true}}), lower);
  const std::vector<std::string> cased = read({{"do_lower_case", false}});
  EXPECT_NE(cased.front(), "the");
  EXPECT_EQ(cased.back(), "the");
  EXPECT_EQ(tokens("bert_json", {{"do_lower_case", false}}, "THE the"), lower) << "of no class";
  write("config.json", R"({"model_type": "bert"})");
  EXPECT_EQ(tokens("bert_json", {{"do_lower_case", false}}, "THE the"), cased);
}

TEST_F(OptionsOfTheConfig, ReplaceTheSpaceBeforeAText) {
  const auto read = [this](Json settings) {
    settings["tokenizer_class"] = "RobertaTokenizerFast";
    return tokens("roberta_json", settings, "one").front().starts_with("\xC4\xA0");
  };
  EXPECT_TRUE(read(Json::object()));
  EXPECT_TRUE(read({{"add_prefix_space", true}}));
  EXPECT_FALSE(read({{"add_prefix_space", false}}));
}

TEST_F(OptionsOfTheConfig, LanguagesApplyToAClassThatOnlyConfigJsonGives) {
  Json json = Json::parse(read_text(fixture_path("tokenizers/unigram_json/tokenizer.json")));
  const size_t size = json["model"]["vocab"].size();
  for (const char* name : {"de_DE", "fr_XX"})
    json["added_tokens"].push_back({{"id", size + (name[0] == 'f')}, {"content", name}, {"special", true}});
  write("tokenizer.json", json.dump());
  write("tokenizer_config.json", R"({"src_lang": "de_DE", "tgt_lang": "fr_XX"})");
  write("config.json", R"({"model_type": "mbart"})");
  const auto tokenizer = load_tokenizer(folder_.path());
  const TemporaryFolder saved;
  tokenizer->save(saved.path());
  const auto again = load_tokenizer(saved.path());
  for (const Tokenizer* const t : {tokenizer.get(), again.get()}) {
    EXPECT_EQ(t->token(t->encode("a").ids.back()), "de_DE");
    EXPECT_EQ(t->token(t->target().encode("a").ids.back()), "fr_XX");
    EXPECT_EQ(t->language(), static_cast<int64_t>(size));
  }
}

}  // namespace
}  // namespace tape::text
