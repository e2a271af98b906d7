// Compares with transformers; tests/fixtures/make_multilingual.py writes the expected values.
#include "text/tokenizers/fairseq.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "tests/support/errors.h"
#include "tests/text/tokenizers/tokenizer_fixture.h"
#include "text/tokenizers/folder/fairseq_languages.h"

namespace tape::text {
namespace {

const Json& multilingual() { return fixture_json("multilingual.json"); }

/// A copy of a fixture folder with changes to its tokenizer_config.json.
std::string changed(const TemporaryFolder& to, const std::string& name, const Json& changes) {
  const std::string from = fixture_path(fmt::format("tokenizers/{}", name));
  using Options = std::filesystem::copy_options;
  std::filesystem::copy(from, to.path(), Options::recursive | Options::overwrite_existing);
  Json config = Json::parse(read_text(to / "tokenizer_config.json"));
  config.merge_patch(changes);
  write_text(to / "tokenizer_config.json", config.dump());
  return to.path();
}

void expect_ids(const Tokenizer& tokenizer, const Json& texts, const Json& ids) {
  ASSERT_EQ(texts.size(), ids.size());
  ASSERT_GT(texts.size(), 50u);
  for (size_t i = 0; i < texts.size(); ++i)
    EXPECT_EQ(tokenizer.encode(texts[i].get<std::string>()).ids, ids_of(ids[i])) << texts[i];
}

void expect_agrees(const Tokenizer& tokenizer, const char* key) {
  const Json &expected = multilingual().at(key), &texts = multilingual().at("texts"),
             &pairs = multilingual().at("pair_texts");
  expect_ids(tokenizer, texts, expected.at("single"));
  if (expected.contains("target")) expect_ids(tokenizer.target(), texts, expected.at("target"));
  for (size_t i = 0; i < pairs.size(); ++i) {
    const Encoding got = tokenizer.encode_pair(pairs[i][0].get<std::string>(), pairs[i][1].get<std::string>());
    EXPECT_EQ(got.ids, ids_of(expected.at("pairs")[i])) << pairs[i];
    EXPECT_EQ(got.type_ids, std::vector<int64_t>(got.size(), 0));
  }
}

void expect_decodes(const Tokenizer& tokenizer, const char* key) {
  const Json& expected = multilingual().at(key);
  for (size_t i = 0; i < expected.at("single").size(); ++i)
    EXPECT_EQ(tokenizer.decode(ids_of(expected.at("single")[i])), expected.at("decoded")[i].get<std::string>()) << i;
}

class FairseqKinds : public testing::TestWithParam<const char*> {};

TEST_P(FairseqKinds, MatchTheIdsOfTransformers) {
  const auto tokenizer = load_fixture(GetParam());
  expect_agrees(*tokenizer, GetParam());
  // transformers does not match M2M100's language tokens in a text.
  if (std::string_view(GetParam()) != "m2m100") expect_decodes(*tokenizer, GetParam());
}

TEST(Fairseq, HasALanguagePerSide) {
  const auto tokenizer = load_fixture("m2m100");
  ASSERT_TRUE(tokenizer->language() && tokenizer->target().language());
  EXPECT_EQ(*tokenizer->language(), tokenizer->encode("one").ids.front());
  EXPECT_EQ(*tokenizer->target().language(), tokenizer->target().encode("one").ids.front());
  EXPECT_NE(*tokenizer->language(), *tokenizer->target().language());
  EXPECT_FALSE(load_fixture("xlm_roberta")->language());
}

TEST_P(FairseqKinds, RoundTripThroughSaveAndLoad) {
  const TemporaryFolder folder;
  load_fixture(GetParam())->save(folder.path());
  const auto again = load_tokenizer(folder.path());
  expect_agrees(*again, GetParam());
  EXPECT_EQ(again->special().mask, load_fixture(GetParam())->special().mask);
}

INSTANTIATE_TEST_SUITE_P(All, FairseqKinds, testing::Values("xlm_roberta", "mbart", "mbart50", "nllb", "m2m100"));

TEST(Fairseq, MatchesTheLanguageTokensThatM2M100sConfigurationLists) {
  Json languages = Json::array();
  const auto plain = load_fixture("m2m100");
  const auto english = plain->encode("").ids.front();
  for (int64_t id = english; id < plain->vocab_size(); ++id) languages.push_back(plain->token(id));
  for (int64_t id = english - 1; plain->token(id).starts_with("__"); --id) languages.push_back(plain->token(id));
  ASSERT_EQ(languages.size(), 100u);
  const TemporaryFolder folder;
  const auto listed = load_tokenizer(changed(folder, "m2m100", {{"additional_special_tokens", languages}}));
  expect_agrees(*listed, "m2m100_listed");
  expect_decodes(*listed, "m2m100_listed");
}

TEST(Fairseq, PutsNllbsLanguageAfterTheTextInLegacyMode) {
  const TemporaryFolder folder;
  expect_agrees(*load_tokenizer(changed(folder, "nllb", {{"legacy_behaviour", true}})), "nllb_legacy");
}

TEST(Fairseq, NeedsIdsInTheConfigurationOnlyForNllb) {
  for (const char* name : {"xlm_roberta", "mbart", "mbart50", "m2m100"}) {
    const TemporaryFolder folder;
    expect_agrees(*load_tokenizer(changed(folder, name, {{"added_tokens_decoder", nullptr}})), name);
  }
  const TemporaryFolder folder;
  changed(folder, "nllb", {{"added_tokens_decoder", nullptr}, {"additional_special_tokens", nullptr}});
  std::filesystem::remove(folder / "special_tokens_map.json");
  EXPECT_TAPE_ERROR(load_tokenizer(folder.path()), ErrorKind::format,
                    folder / "tokenizer_config.json" + ": unknown language \"eng_Latn\"; the tokenizer has none");
}

TEST(Fairseq, ReturnsTheOffsetsOfItsPieces) {
  const auto tokenizer = load_fixture("xlm_roberta");
  const Encoding got = tokenizer->encode("one <mask> two");
  ASSERT_EQ(tokenizer->token(got.ids[0]), "<s>");
  EXPECT_EQ(got.offsets[0], (Range{0, 0}));
  EXPECT_EQ(got.offsets[1].begin, 0u);
  const auto mask = std::ranges::find(got.ids, tokenizer->special().mask) - got.ids.begin();
  ASSERT_LT(mask, std::ssize(got.ids));
  EXPECT_EQ(got.offsets[static_cast<size_t>(mask)], (Range{3, 10}));  // includes the space before it
  EXPECT_EQ(got.offsets[got.size() - 2].end, 14u);
}

TEST(Fairseq, HasOneSideWithoutATargetLanguage) {
  const TemporaryFolder folder;
  const auto tokenizer = load_tokenizer(changed(folder, "m2m100", {{"src_lang", "fr"}, {"tgt_lang", nullptr}}));
  EXPECT_EQ(tokenizer->token(tokenizer->encode("one").ids.front()), "__fr__");
  EXPECT_EQ(&tokenizer->target(), tokenizer.get());
}

TEST(Fairseq, LoadsAndSavesTheRequestedLanguages) {
  const std::string folder = fixture_path("tokenizers/m2m100");
  const auto tokenizer = load_tokenizer(folder, {.source = "fr", .target = "ja"});
  EXPECT_EQ(tokenizer->token(tokenizer->encode("one").ids.front()), "__fr__");
  EXPECT_EQ(tokenizer->token(tokenizer->target().encode("one").ids.front()), "__ja__");
  EXPECT_EQ(tokenizer->target().language(), tokenizer->find("__ja__"));
  EXPECT_THROW(load_tokenizer(folder, {.target = "tlh"}), Error);
  EXPECT_TAPE_ERROR(
      load_tokenizer(fixture_path("tokenizers/gpt2"), {.target = "de"}), ErrorKind::config,
      fixture_path("tokenizers/gpt2") + ": the tokenizer has no languages to choose from (requested \"de\")");
}

// transformers 5 writes only tokenizer.json, whose template is for one language.
TEST(Fairseq, ChoosesLanguagesInATokenizerJson) {
  Json file = Json::parse(read_text(fixture_path("tokenizers/unigram_json/tokenizer.json")));
  const auto size = static_cast<int64_t>(load_fixture("unigram_json")->vocab_size());
  for (const auto& [id, token] : {std::pair<int64_t, const char*>{size, "eng_Latn"}, {size + 1, "deu_Latn"}})
    file["added_tokens"].push_back({{"id", id}, {"content", token}, {"special", true}});
  const TemporaryFolder folder;
  write_text(folder / "tokenizer.json", file.dump());
  Json config{{"tokenizer_class", "NllbTokenizerFast"}, {"eos_token", "</s>"}, {"tgt_lang", "deu_Latn"}};
  write_text(folder / "tokenizer_config.json", config.dump());
  const auto tokenizer = load_tokenizer(folder.path());
  const Tokenizer& target = tokenizer->target();
  EXPECT_EQ(tokenizer->language(), size);
  EXPECT_EQ(target.language(), size + 1);
  const std::vector<int64_t> ids = target.encode("one two").ids;
  EXPECT_EQ(ids.front(), size + 1);
  EXPECT_EQ(target.token(ids.back()), "</s>");
  EXPECT_EQ(target.decode(ids), "one two");
  EXPECT_EQ(target.explain("one").front(), tokenizer->explain("one").front());
  EXPECT_TRUE(target.is_special(size) && target.find("deu_Latn") && target.vocab_size() == size + 2);
  const auto other = load_tokenizer(folder.path(), {.source = "deu_Latn", .target = "eng_Latn"});
  EXPECT_EQ(other->encode("one").ids.front(), size + 1);
  EXPECT_EQ(other->target().encode("one").ids.front(), size);
  const TemporaryFolder saved;
  target.save(saved.path());
  EXPECT_EQ(load_tokenizer(saved.path())->target().encode("one two").ids, ids);
  other->save(saved.path());
  EXPECT_EQ(load_tokenizer(saved.path())->language(), size + 1) << "the requested languages";
  EXPECT_EQ(load_tokenizer(saved.path())->target().language(), size);
  config["legacy_behaviour"] = true;
  write_text(folder / "tokenizer_config.json", config.dump());
  EXPECT_EQ(load_tokenizer(folder.path())->encode("one").ids.back(), size);
  EXPECT_TAPE_ERROR(load_tokenizer(folder.path(), {.target = "de"}), ErrorKind::format,
                    folder / "tokenizer.json" + ": unknown language \"de\"; the tokenizer has eng_Latn, deu_Latn");
}

class MalformedFairseq : public testing::Test {
 protected:
  void expect_refused(const std::string& name, const Json& changes, const std::string& sentence) {
    changed(folder_, name, changes);
    EXPECT_TAPE_ERROR(load_tokenizer(folder_.path()), ErrorKind::format, folder_.path() + "/" + sentence);
  }
  const TemporaryFolder folder_;
};

TEST_F(MalformedFairseq, NamesTheInvalidSetting) {
  const std::string config = "tokenizer_config.json: ";
  std::string languages;
  for (const char c : languages::kM2M100) languages += c == ' ' ? std::string(", ") : std::string(1, c);
  expect_refused("m2m100", {{"src_lang", "tlh"}}, config + "unknown language \"tlh\"; the tokenizer has " + languages);
  expect_refused("m2m100", {{"language_codes", "all"}},
                 config + "language_codes: must be m2m100 or wmt21, got \"all\"");
  expect_refused("m2m100", {{"mask_token", "<mask>"}}, config + "the token \"<mask>\" has no id");
  expect_refused("m2m100", {{"unk_token", "<no>"}}, "vocab.json: \"<no>\" is not in the vocabulary");
  changed(folder_, "xlm_roberta", {{"eos_token", nullptr}});
  Json settings = Json::parse(read_text(folder_ / "tokenizer_config.json"));
  settings["eos_token"] = nullptr;
  write_text(folder_ / "tokenizer_config.json", settings.dump());
  EXPECT_TAPE_ERROR(load_tokenizer(folder_.path()), ErrorKind::format,
                    folder_.path() + "/" + config + "eos_token is required, but no file defines it");
}

TEST_F(MalformedFairseq, NamesAModelThatIsNotFairseqs) {
  changed(folder_, "xlm_roberta", Json::object());
  write_text(folder_ / "sentencepiece.bpe.model", read_text(fixture_path("tokenizers/unigram/spiece.model")));
  EXPECT_TAPE_ERROR(load_tokenizer(folder_.path()), ErrorKind::format,
                    folder_ / "sentencepiece.bpe.model" + ": piece 0 must be <unk>, as in fairseq's models");
}

}  // namespace
}  // namespace tape::text
