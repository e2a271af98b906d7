#include "text/tokenizers/tokenizer_json.h"

#include <filesystem>

#include <gtest/gtest.h>

#include "base/path.h"
#include "tests/text/tokenizers/tokenizer_fixture.h"
#include "text/tokenizers/folder/class_options.h"

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

TEST_F(OptionsOfTheConfig, ReplaceTheBlankBeforeAText) {
  const std::string text = "a\xC3\xA9";
  const auto first = [&](const char* tokenizer_class, Json settings) {
    settings["tokenizer_class"] = tokenizer_class;
    return tokens("unigram_json", settings, text).front().starts_with("\xE2\x96\x81");
  };
  for (const char* name : {"LlamaTokenizer", "XLMRobertaTokenizer", "CamembertTokenizer", "AlbertTokenizer"}) {
    EXPECT_TRUE(first(name, Json::object())) << name;
    EXPECT_TRUE(first(name, {{"add_prefix_space", true}})) << name;
    EXPECT_FALSE(first(name, {{"add_prefix_space", false}})) << name;
  }
  EXPECT_TRUE(first("PreTrainedTokenizerFast", {{"add_prefix_space", false}}));
  EXPECT_TRUE(first("DebertaV2Tokenizer", {{"add_prefix_space", false}})) << "only before the first word";
}

TEST_F(OptionsOfTheConfig, AddAndRemoveNormalizers) {
  Json file = Json::parse(R"({"normalizer": {"type": "Sequence", "normalizers": [
    {"type": "Replace", "pattern": {"String": "a"}, "content": "b"}, {"type": "Lowercase"}]},
    "pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "Metaspace", "replacement": "_"}]}})");
  const auto types = [&](const char* part, const char* list) {
    std::string all;
    for (const Json& step : file[part][list]) all += step["type"].get<std::string>() + " ";
    return all;
  };
  TokenizerConfig config;
  EXPECT_FALSE(replace_options(file, "AlbertTokenizer", config));
  config.do_lower_case = true;
  EXPECT_FALSE(replace_options(file, "AlbertTokenizer", config));
  config.keep_accents = false;
  EXPECT_TRUE(replace_options(file, "AlbertTokenizer", config));
  EXPECT_EQ(types("normalizer", "normalizers"), "Replace NFKD StripAccents Lowercase ");
  config.do_lower_case = false, config.keep_accents = true;
  EXPECT_TRUE(replace_options(file, "AlbertTokenizer", config));
  EXPECT_EQ(types("normalizer", "normalizers"), "Replace ");
  config.do_lower_case = true, config.split_by_punct = true;
  EXPECT_TRUE(replace_options(file, "DebertaV2Tokenizer", config));
  EXPECT_EQ(types("normalizer", "normalizers"), "Lowercase Replace ");
  EXPECT_EQ(types("pre_tokenizer", "pretokenizers"), "Punctuation Metaspace ");
}

TEST_F(OptionsOfTheConfig, ThatOnlyOthersReadAreKept) {
  const Json kept{{"chat_template", "{{ messages }}"},
                  {"model_max_length", 128},
                  {"padding_side", "left"},
                  {"model_input_names", {"input_ids", "attention_mask"}}};
  for (const char* name : {"roberta_json", "gpt2", "bert"}) {
    const TemporaryFolder from, to;
    std::filesystem::copy(fixture_path(fmt::format("tokenizers/{}", name)), from / "a");
    const std::string file = from / "a/tokenizer_config.json";
    Json config = path_exists(file) ? Json::parse(read_text(file)) : Json::object();
    config.update(kept);
    write_text(file, config.dump());
    const auto saved = [&](const std::string& folder) {
      load_tokenizer(folder)->save(to.path());
      return Json::parse(read_text(to / "tokenizer_config.json"));
    };
    Json written = saved(from / "a");
    for (const auto& [key, value] : kept.items()) EXPECT_EQ(written.at(key), value) << name << ' ' << key;
    EXPECT_EQ(saved(to.path()), written) << name;
    write_text(from / "a/chat_template.jinja", "{{ other }}");
    write_text(to / "chat_template.jinja", "of an earlier tokenizer");
    EXPECT_EQ(saved(from / "a").at("chat_template"), "{{ other }}") << name;
    EXPECT_FALSE(path_exists(to / "chat_template.jinja")) << name;
  }
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
