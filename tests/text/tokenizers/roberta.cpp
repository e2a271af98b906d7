// Compares with transformers; tests/fixtures/make_roberta.py writes the expected values.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "tests/text/tokenizers/tokenizer_fixture.h"
#include "text/tokenizers/byte_level_bpe.h"

namespace tape::text {
namespace {

class Roberta : public TokenizerFolder {
 protected:
  static const Json& fixture() { return fixture_json("roberta.json"); }
  /// vocab.json and merges.txt of the fixture with other settings.
  std::unique_ptr<Tokenizer> with(const Json& settings) const {
    for (const char* name : {"vocab.json", "merges.txt"})
      write(name, read_text(fixture_path(fmt::format("tokenizers/roberta/{}", name))));
    write("tokenizer_config.json", settings.dump());
    return load_tokenizer(folder_.path());
  }
};

void expect_equal(const Tokenizer& tokenizer, const Json& fixture, const Json& expected) {
  const Json &texts = fixture.at("texts"), &pairs = fixture.at("pair_texts");
  ASSERT_GT(texts.size(), 60u);
  for (size_t i = 0; i < texts.size(); ++i) {
    const Encoding got = tokenizer.encode(texts[i].get<std::string>());
    EXPECT_EQ(got.ids, ids_of(expected.at("ids")[i])) << texts[i];
    if (!expected.contains("offsets")) continue;
    EXPECT_EQ(got.offsets, ranges_of(expected.at("offsets")[i])) << texts[i];
    EXPECT_EQ(tokenizer.decode(got.ids), expected.at("decoded")[i].get<std::string>()) << texts[i];
  }
  for (size_t i = 0; i < pairs.size(); ++i) {
    const Encoding got = tokenizer.encode_pair(pairs[i][0].get<std::string>(), pairs[i][1].get<std::string>());
    EXPECT_EQ(got.ids, ids_of(expected.at("pairs")[i].at("ids"))) << pairs[i];
    EXPECT_EQ(got.type_ids, ids_of(expected.at("pairs")[i].at("type_ids"))) << pairs[i];
    EXPECT_EQ(got.special_tokens_mask, expected.at("pairs")[i].at("special").get<std::vector<uint8_t>>()) << pairs[i];
  }
}

TEST_F(Roberta, MatchesTransformersForAllSettings) {
  ASSERT_EQ(fixture().at("cases").size(), 7u);
  for (const Json& expected : fixture().at("cases")) {
    SCOPED_TRACE(expected.at("settings").dump());
    const auto tokenizer = with(expected.at("settings"));
    expect_equal(*tokenizer, fixture(), expected);
    const TemporaryFolder saved;
    tokenizer->save(saved.path());
    expect_equal(*load_tokenizer(saved.path()), fixture(), expected);
  }
}

TEST_F(Roberta, IsFoundByTheModelTypeInTheConfig) {
  const Json& expected = fixture().at("cases")[0];
  for (const char* type : {"roberta", "bart"}) {
    SCOPED_TRACE(type);
    write("config.json", Json{{"model_type", type}}.dump());
    const auto tokenizer = with(Json::object());
    expect_equal(*tokenizer, fixture(), expected);
    const TemporaryFolder saved;
    tokenizer->save(saved.path());
    expect_equal(*load_tokenizer(saved.path()), fixture(), expected);
  }
}

TEST_F(Roberta, AlsoTrimsOffsetsInsideASequence) {
  Json json = Json::parse(read_text(fixture_path("tokenizers/roberta_json/tokenizer.json")));
  const auto read = [&] {
    write("tokenizer.json", json.dump());
    return load_tokenizer(folder_.path())->encode(" one  two");
  };
  const Encoding alone = read();
  json["post_processor"] = {{"type", "Sequence"}, {"processors", {json["post_processor"]}}};
  const Encoding in_sequence = read();
  EXPECT_EQ(in_sequence.ids, alone.ids);
  EXPECT_EQ(in_sequence.offsets, alone.offsets);
  json["post_processor"]["processors"][0]["trim_offsets"] = false;
  EXPECT_NE(read().offsets, alone.offsets);
}

TEST_F(Roberta, HasItsSpecialTokens) {
  const auto tokenizer = load_fixture("roberta");
  EXPECT_EQ(tokenizer->special().cls, 0);
  EXPECT_EQ(tokenizer->special().pad, 1);
  EXPECT_EQ(tokenizer->special().sep, 2);
  EXPECT_EQ(tokenizer->special().unk, 3);
  EXPECT_EQ(tokenizer->special().mask, tokenizer->vocab_size() - 1);
}

}  // namespace
}  // namespace tape::text
