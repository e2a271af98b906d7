// The special tokens named in a folder's files, and how transformers 5.23 encodes a text with them.
#include <fmt/format.h>

#include "tests/support/errors.h"
#include "tests/text/tokenizers/tokenizer_fixture.h"

namespace tape::text {
namespace {

constexpr const char* kWords = R"({
  "added_tokens": [{"id": 0, "content": "<s>", "single_word": false, "lstrip": false, "rstrip": false,
                    "normalized": false, "special": true},
                   {"id": 1, "content": "</s>", "single_word": false, "lstrip": false, "rstrip": false,
                    "normalized": false, "special": true}],
  "normalizer": null, "pre_tokenizer": {"type": "Whitespace"}, "post_processor": null, "decoder": null,
  "model": {"type": "WordLevel", "unk_token": "[UNK]",
            "vocab": {"<s>": 0, "</s>": 1, "<pad>": 2, "<|end|>": 3, "one": 4, "two": 5, "[UNK]": 6}}})";

struct NamedTokens {
  const char *config, *map, *added;
  int64_t bos, eos, pad;
  std::vector<int64_t> ids;
  const char* decoded;
};

const std::vector<NamedTokens>& cases() {
  static const std::vector<NamedTokens> all{
      {R"({})", "", "", -1, -1, -1, {4, 6, 6, 6, 5, 6, 6, 6, 1}, "one [UNK] [UNK] [UNK] two [UNK] [UNK] [UNK]"},
      {R"({"bos_token": "<s>", "eos_token": "</s>"})",
       "",
       "",
       0,
       1,
       -1,
       {4, 6, 6, 6, 5, 6, 6, 6, 1},
       "one [UNK] [UNK] [UNK] two [UNK] [UNK] [UNK]"},
      {R"({"bos_token": "<s>", "eos_token": "</s>"})",
       R"({"eos_token": "<|end|>", "pad_token": "<pad>"})",
       "",
       0,
       3,
       2,
       {4, 3, 5, 6, 6, 6, 1},
       "one two [UNK] [UNK] [UNK]"},
      {R"({"bos_token": "<s>", "eos_token": "</s>", "added_tokens_decoder": {"0": {"content": "<s>", "special": true}, "1": {"content": "</s>", "special": true}}})",
       R"({"eos_token": "<|end|>", "pad_token": "<pad>"})",
       "",
       0,
       1,
       -1,
       {4, 6, 6, 6, 5, 6, 6, 6, 1},
       "one [UNK] [UNK] [UNK] two [UNK] [UNK] [UNK]"},
      {R"({})",
       R"({"eos_token": "<|end|>", "bos_token": "<s>"})",
       "",
       0,
       3,
       -1,
       {4, 3, 5, 6, 6, 6, 1},
       "one two [UNK] [UNK] [UNK]"},
      {R"({"eos_token": "</s>", "added_tokens_decoder": {"400": {"content": "<new>", "special": true, "normalized": false}}})",
       "",
       "",
       -1,
       1,
       -1,
       {4, 6, 6, 6, 5, 7, 1},
       "one [UNK] [UNK] [UNK] two"},
      {R"({"eos_token": "</s>", "added_tokens_decoder": {"3": {"content": "<|end|>", "lstrip": true, "rstrip": true, "normalized": false, "single_word": false, "special": true}}})",
       "",
       "",
       -1,
       1,
       -1,
       {4, 3, 5, 6, 6, 6, 1},
       "one two [UNK] [UNK] [UNK]"},
      {R"({"eos_token": "<new>"})", "", "", -1, 7, -1, {4, 6, 6, 6, 5, 7, 1}, "one [UNK] [UNK] [UNK] two"},
      {R"({"extra_special_tokens": {"image_token": "<new>"}})",
       "",
       "",
       -1,
       -1,
       -1,
       {4, 6, 6, 6, 5, 7, 1},
       "one [UNK] [UNK] [UNK] two"},
      {R"({"boi_token": "<new>"})", "", "", -1, -1, -1, {4, 6, 6, 6, 5, 7, 1}, "one [UNK] [UNK] [UNK] two"},
      {R"({"additional_special_tokens": ["<|end|>", "one"]})",
       "",
       "",
       -1,
       -1,
       -1,
       {4, 3, 5, 6, 6, 6, 1},
       "two [UNK] [UNK] [UNK]"},
      {R"({"eos_token": "</s>"})",
       R"({"additional_special_tokens": ["<new>"]})",
       "",
       -1,
       1,
       -1,
       {4, 6, 6, 6, 5, 7, 1},
       "one [UNK] [UNK] [UNK] two"},
      {R"({})", "", R"({"<new>": 7})", -1, -1, -1, {4, 6, 6, 6, 5, 7, 1}, "one [UNK] [UNK] [UNK] two <new>"},
      {R"({"eos_token": "</s>"})",
       R"({"eos_token": null})",
       "",
       -1,
       -1,
       -1,
       {4, 6, 6, 6, 5, 6, 6, 6, 1},
       "one [UNK] [UNK] [UNK] two [UNK] [UNK] [UNK]"},
      {R"({"eos_token": "</s>"})",
       R"({"pad_token": {"content": "<|end|>", "lstrip": true, "rstrip": false, "normalized": false, "single_word": false}})",
       "",
       -1,
       1,
       3,
       {4, 3, 5, 6, 6, 6, 1},
       "one two [UNK] [UNK] [UNK]"},
  };
  return all;
}

void write_files(const TemporaryFolder& folder, const NamedTokens& each) {
  write_text(folder / "tokenizer.json", kWords);
  Json config = Json::parse(each.config);
  config["tokenizer_class"] = "PreTrainedTokenizerFast";
  write_text(folder / "tokenizer_config.json", config.dump());
  if (*each.map != '\0') write_text(folder / "special_tokens_map.json", each.map);
  if (*each.added != '\0') write_text(folder / "added_tokens.json", each.added);
}

void expect_as(const Tokenizer& tokenizer, const NamedTokens& each) {
  EXPECT_EQ(tokenizer.special().bos, each.bos);
  EXPECT_EQ(tokenizer.special().eos, each.eos);
  EXPECT_EQ(tokenizer.special().pad, each.pad);
  EXPECT_EQ(tokenizer.encode("one <|end|> two <new> </s>").ids, each.ids);
  EXPECT_EQ(tokenizer.decode(each.ids), each.decoded);
}

TEST(SpecialTokens, AreExactlyThoseThatTheFilesName) {
  ASSERT_EQ(cases().size(), 15u);
  for (const NamedTokens& each : cases()) {
    SCOPED_TRACE(fmt::format("{} {} {}", each.config, each.map, each.added));
    const TemporaryFolder folder, saved;
    write_files(folder, each);
    const auto tokenizer = load_tokenizer(folder.path());
    expect_as(*tokenizer, each);
    tokenizer->save(saved.path());
    expect_as(*load_tokenizer(saved.path()), each);
  }
}

TEST(SpecialTokens, DefaultToThoseOfTheClassInTheVocabulary) {
  const TemporaryFolder folder;
  write_files(folder, {"{}", "", "", 0, 0, 0, {}, ""});
  const auto special_of = [&folder](const char* config) {
    write_text(folder / "tokenizer_config.json", config);
    return load_tokenizer(folder.path())->special();
  };
  const SpecialTokens roberta = special_of(R"({"tokenizer_class": "RobertaTokenizerFast"})");
  EXPECT_EQ(roberta.bos, 0);
  EXPECT_EQ(roberta.eos, 1);
  EXPECT_EQ(roberta.pad, 2);
  EXPECT_EQ(roberta.mask, -1);
  EXPECT_EQ(load_tokenizer(folder.path())->vocab_size(), 7);
  EXPECT_EQ(special_of(R"({"tokenizer_class": "RobertaTokenizerFast", "pad_token": null})").pad, -1);
  write_text(folder / "config.json", R"({"model_type": "t5"})");
  EXPECT_EQ(special_of("{}").pad, 2);
  EXPECT_EQ(special_of("{}").bos, -1);
}

TEST(SpecialTokens, IncludeThePaddingTokenOfTokenizerJson) {
  const TemporaryFolder folder;
  Json file = Json::parse(kWords);
  file["padding"] = {{"pad_token", "<pad>"}, {"pad_id", 2}};
  write_text(folder / "tokenizer.json", file.dump());
  EXPECT_EQ(load_tokenizer(folder.path())->special().pad, 2);
  write_text(folder / "tokenizer_config.json", R"({"pad_token": "</s>"})");
  EXPECT_EQ(load_tokenizer(folder.path())->special().pad, 1);
}

TEST(SpecialTokens, AreRequiredForPadding) {
  const TemporaryFolder folder;
  write_files(folder, cases().front());
  const std::vector<std::string> texts{"one", "one two"};
  EXPECT_TAPE_ERROR(load_tokenizer(folder.path())->encode_batch(texts), ErrorKind::config,
                    "pad: the tokenizer has no padding token");
}

TEST(SpecialTokens, HaveNoSpaceBeforePunctuationWithCleanUp) {
  const TemporaryFolder folder;
  Json file = Json::parse(kWords);
  file["model"]["vocab"] = {{"<s>", 0}, {"</s>", 1}, {"one", 2}, {".", 3}, {"[UNK]", 4}};
  write_text(folder / "tokenizer.json", file.dump());
  const std::vector<int64_t> ids{2, 3};
  EXPECT_EQ(load_tokenizer(folder.path())->decode(ids), "one .");
  write_text(folder / "tokenizer_config.json", R"({"clean_up_tokenization_spaces": true})");
  EXPECT_EQ(load_tokenizer(folder.path())->decode(ids), "one.");
}

}  // namespace
}  // namespace tape::text
