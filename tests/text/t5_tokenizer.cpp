// Against transformers' slow T5Tokenizer: tests/fixtures/make_t5_tokenizer.py made what is expected.
#include "text/t5_tokenizer.h"

#include <filesystem>

#include "tests/support/errors.h"
#include "tests/text/tokenizer_fixture.h"

namespace tape::text {
namespace {

const Json& t5() { return fixture_json("t5_tokenizer.json"); }

void expect_as_transformers(const Tokenizer& tokenizer) {
  const Json &texts = t5().at("texts"), &pairs = t5().at("pair_texts");
  ASSERT_GT(texts.size(), 50u);
  for (size_t i = 0; i < texts.size(); ++i) {
    const std::vector<int64_t> wanted = ids_of(t5().at("single")[i]);
    EXPECT_EQ(tokenizer.encode(texts[i].get<std::string>()).ids, wanted) << texts[i];
    EXPECT_EQ(tokenizer.decode(wanted), t5().at("decoded")[i].get<std::string>()) << texts[i];
  }
  for (size_t i = 0; i < pairs.size(); ++i) {
    const Encoding got = tokenizer.encode_pair(pairs[i][0].get<std::string>(), pairs[i][1].get<std::string>());
    EXPECT_EQ(got.ids, ids_of(t5().at("pairs")[i])) << pairs[i];
    EXPECT_EQ(got.type_ids, std::vector<int64_t>(got.size(), 0));
  }
}

/// A folder that says no more than a configuration and the pieces.
void write_folder(const TemporaryFolder& folder, const std::string& config) {
  write_text(folder / "spiece.model", read_text(fixture_path("tokenizers/t5/spiece.model")));
  write_text(folder / "tokenizer_config.json", config);
}

TEST(T5Tokenizer, GivesTheIdsOfTransformers) { expect_as_transformers(*load_fixture("t5")); }

TEST(T5Tokenizer, NeedsNoListOfItsSentinels) {
  const TemporaryFolder folder;
  write_folder(folder, R"({"tokenizer_class": "T5TokenizerFast", "extra_ids": 7})");
  const auto tokenizer = load_tokenizer(folder.path());
  expect_as_transformers(*tokenizer);
  EXPECT_EQ(tokenizer->find("<extra_id_0>"), tokenizer->vocab_size() - 1);
  EXPECT_EQ(tokenizer->find("<extra_id_6>"), tokenizer->vocab_size() - 7);
  EXPECT_EQ(tokenizer->special().pad, 0);
  EXPECT_EQ(tokenizer->special().eos, 1);
  write_folder(folder, R"({"tokenizer_class": "T5TokenizerFast", "extra_ids": 100000})");
  EXPECT_EQ(load_tokenizer(folder.path())->vocab_size(), tokenizer->vocab_size() + 100'000 - 7)
      << "the most there may be";
}

TEST(T5Tokenizer, HasAHundredSentinelsWhereNoNumberIsGiven) {
  const TemporaryFolder folder;
  write_folder(folder, R"({"tokenizer_class": "T5Tokenizer"})");
  const auto tokenizer = load_tokenizer(folder.path());
  EXPECT_EQ(tokenizer->vocab_size(), load_fixture("t5")->vocab_size() + 93);
  EXPECT_EQ(tokenizer->token(tokenizer->vocab_size() - 100), "<extra_id_99>");
}

TEST(T5Tokenizer, TakesFurtherTokensBehindItsSentinels) {
  const TemporaryFolder folder;
  write_folder(folder, R"({"tokenizer_class": "T5Tokenizer", "extra_ids": 2, "additional_special_tokens": ["<new>"]})");
  const auto tokenizer = load_tokenizer(folder.path());
  EXPECT_EQ(tokenizer->find("<new>"), tokenizer->vocab_size() - 1);
  EXPECT_EQ(tokenizer->find("<extra_id_0>"), tokenizer->vocab_size() - 2);
  const std::vector<int64_t> ids = tokenizer->encode("one<new>").ids;
  EXPECT_EQ(ids[ids.size() - 2], tokenizer->find("<new>"));
}

TEST(T5Tokenizer, SavesWhatLoadsTheSame) {
  const TemporaryFolder folder;
  const auto tokenizer = load_fixture("t5");
  tokenizer->save(folder.path());
  const auto again = load_tokenizer(folder.path());
  expect_as_transformers(*again);
  EXPECT_EQ(again->vocab_size(), tokenizer->vocab_size());
  remove_tokenizer(folder.path());
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 0);
}

TEST(T5Tokenizer, RefusesTooManySentinelsAndIdsThatTwoTokensShare) {
  const TemporaryFolder folder;
  const auto refused = [&](const std::string& config, const std::string& sentence) {
    write_folder(folder, config);
    EXPECT_TAPE_ERROR(load_tokenizer(folder.path()), ErrorKind::format, sentence);
  };
  const std::string settings = folder / "tokenizer_config.json";
  refused(R"({"tokenizer_class": "T5Tokenizer", "extra_ids": 100001})",
          settings + ": extra_ids: must be from 0 to 100000, got 100001");
  refused(R"({"tokenizer_class": "T5Tokenizer", "added_tokens_decoder": {"300": {"content": "<new>"}}})",
          folder / "spiece.model" + ": tokens \"<new>\" and \"<extra_id_65>\" share id 300");
}

}  // namespace
}  // namespace tape::text
