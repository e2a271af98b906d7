// Compares with the tokenizers package; tests/fixtures/make_families.py writes the expected values.
#include <gmock/gmock.h>

#include <fmt/format.h>

#include "tests/text/tokenizers/tokenizer_fixture.h"

namespace tape::text {
namespace {

const Json& fixture() { return fixture_json("tokenizer_families.json"); }

class Families : public testing::TestWithParam<std::string> {
 protected:
  const Json& expected() const { return fixture().at("kinds").at(GetParam()); }
  const std::unique_ptr<Tokenizer> tokenizer_ = load_fixture(fmt::format("families/{}", GetParam()));
  const std::vector<std::string> texts_ = fixture().at("texts").get<std::vector<std::string>>();
};

TEST_P(Families, MatchIdsAndOffsets) {
  ASSERT_EQ(texts_.size(), expected().at("ids").size());
  ASSERT_GT(texts_.size(), 50u);
  for (size_t i = 0; i < texts_.size(); ++i) {
    const Encoding got = tokenizer_->encode(texts_[i]);
    EXPECT_EQ(got.ids, ids_of(expected().at("ids")[i])) << texts_[i];
    std::vector<uint32_t> offsets;
    for (const Range& range : got.offsets) offsets.insert(offsets.end(), {range.begin, range.end});
    EXPECT_EQ(offsets, expected().at("offsets")[i].get<std::vector<uint32_t>>()) << texts_[i];
  }
}

TEST_P(Families, MatchPairs) {
  const Json& pairs = fixture().at("pair_texts");
  for (size_t i = 0; i < pairs.size(); ++i) {
    const Encoding got = tokenizer_->encode_pair(pairs[i][0].get<std::string>(), pairs[i][1].get<std::string>());
    EXPECT_EQ(got.ids, ids_of(expected().at("pairs")[i])) << pairs[i];
    EXPECT_EQ(got.type_ids, ids_of(expected().at("pair_type_ids")[i])) << pairs[i];
  }
}

// Invalid UTF-8 is preserved; the package writes U+FFFD instead.
TEST_P(Families, MatchDecodedText) {
  for (size_t i = 0; i < texts_.size(); ++i) {
    const std::string wanted = expected().at("decoded")[i].get<std::string>();
    if (wanted.find("\xEF\xBF\xBD") == std::string::npos) {
      EXPECT_EQ(tokenizer_->decode(ids_of(expected().at("ids")[i])), wanted) << texts_[i];
    }
  }
}

TEST_P(Families, ReadInvalidUtf8AsReplacementCharacters) {
  for (const std::string bytes : {"a\xFF b", "\xE2\x96", "x\xC3 \xF0\x9F\x98y 12\x80"}) {
    const Encoding got = tokenizer_->encode(bytes);
    for (const Range& range : got.offsets) {
      EXPECT_LE(range.begin, range.end);
      EXPECT_LE(range.end, bytes.size());
    }
  }
}

std::vector<std::string> names() {
  std::vector<std::string> out;
  for (const auto& [name, value] : fixture().at("kinds").items()) out.push_back(name);
  return out;
}

INSTANTIATE_TEST_SUITE_P(Today, Families, testing::ValuesIn(names()), [](const auto& test) { return test.param; });

}  // namespace
}  // namespace tape::text
