// Compares with the Python packages; tests/fixtures/make_tokenizers.py writes the expected values.
#include "base/file.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include <gmock/gmock.h>

#include "tests/support/errors.h"
#include "tests/support/files.h"
#include "tests/support/fixtures.h"
#include "tests/support/temporary_folder.h"
#include "tests/text/tokenizers/tokenizer_fixture.h"
#include "text/tokenizers/load_tokenizer.h"
#include "text/tokenizers/marian.h"
#include "text/tokenizers/sentence_piece.h"
#include "text/tokenizers/word_piece.h"

namespace tape::text {
namespace {

struct Case {
  const char* expected;  // key in the fixture
  const char* folder;
};

class AgainstPackages : public testing::TestWithParam<Case> {
 protected:
  const Json& expected() const { return tokenizer_fixture().at(GetParam().expected); }
  virtual std::unique_ptr<Tokenizer> load() const { return load_fixture(GetParam().folder); }
};

TEST_P(AgainstPackages, MatchesIdsAndOffsets) {
  const auto tokenizer = load();
  const Json &texts = tokenizer_fixture().at("texts"), &single = expected().at("single");
  ASSERT_EQ(texts.size(), single.size());
  ASSERT_GT(texts.size(), 50u);
  for (size_t i = 0; i < texts.size(); ++i) {
    const Encoding got = tokenizer->encode(texts[i].get<std::string>());
    EXPECT_EQ(got.ids, ids_of(single[i].at("ids"))) << texts[i];
    EXPECT_EQ(got.offsets, ranges_of(single[i].at("offsets"))) << texts[i];
  }
}

TEST_P(AgainstPackages, MatchesPairs) {
  const auto tokenizer = load();
  const Json &texts = tokenizer_fixture().at("pair_texts"), &pairs = expected().at("pairs");
  for (size_t i = 0; i < texts.size(); ++i) {
    const Encoding got = tokenizer->encode_pair(texts[i][0].get<std::string>(), texts[i][1].get<std::string>());
    EXPECT_EQ(got.ids, ids_of(pairs[i].at("ids"))) << texts[i];
    EXPECT_EQ(got.type_ids, ids_of(pairs[i].at("type_ids"))) << texts[i];
    EXPECT_EQ(got.offsets, ranges_of(pairs[i].at("offsets"))) << texts[i];
    EXPECT_EQ(got.special_tokens_mask, pairs[i].at("special").get<std::vector<uint8_t>>()) << texts[i];
    EXPECT_EQ(got.attention_mask, std::vector<int64_t>(got.size(), 1));
  }
}

TEST_P(AgainstPackages, MatchesDecodedText) {
  const auto tokenizer = load();
  const Json &single = expected().at("single"), &decoded = expected().at("decoded");
  for (size_t i = 0; i < single.size(); ++i)
    EXPECT_EQ(tokenizer->decode(ids_of(single[i].at("ids"))), decoded[i].get<std::string>()) << i;
}

TEST_P(AgainstPackages, EncodesBatchesLikeSingleTextsAndWithAWarmCache) {
  const auto tokenizer = load();
  const auto texts = tokenizer_fixture().at("texts").get<std::vector<std::string>>();
  for (int pass = 0; pass < 2; ++pass) {
    const auto batch = tokenizer->encode_batch(texts, {}, {.to = Padding::none});
    for (size_t i = 0; i < texts.size(); ++i) {
      EXPECT_EQ(batch[i].ids, ids_of(expected().at("single")[i].at("ids")));
      EXPECT_EQ(batch[i].offsets, ranges_of(expected().at("single")[i].at("offsets")));
    }
  }
}

TEST_P(AgainstPackages, RoundTripsThroughSaveAndLoad) {
  const auto tokenizer = load();
  const TemporaryFolder folder;
  tokenizer->save(folder.path());
  const auto again = load_tokenizer(folder.path());
  ASSERT_EQ(again->vocab_size(), tokenizer->vocab_size());
  for (const Json& text : tokenizer_fixture().at("texts")) {
    const Encoding a = tokenizer->encode(text.get<std::string>()), b = again->encode(text.get<std::string>());
    EXPECT_EQ(a.ids, b.ids);
    EXPECT_EQ(a.offsets, b.offsets);
  }
  EXPECT_EQ(again->special().pad, tokenizer->special().pad);
  EXPECT_EQ(again->special().unk, tokenizer->special().unk);
  write_text(folder.path() + "/notes.md", "mine");
  remove_tokenizer(folder.path());
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1) << "a tokenizer file";
}

TEST(TokenizerFiles, AreReadThroughLinksToCacheBlobsButNotThroughOthers) {
  namespace fs = std::filesystem;
  for (const char* kind : {"bert", "bert_json", "gpt2", "m2m100", "marian", "mbart", "roberta", "spm_bpe", "t5"}) {
    const std::string fixture = fixture_path(fmt::format("tokenizers/{}", kind));
    const TemporaryFolder cache;
    const std::string snapshot = cache / "entry/snapshots/1";
    fs::create_directories(snapshot);
    fs::copy(fixture, cache / "entry/blobs");
    for (const std::string& name : entries_of(fixture))
      fs::create_symlink("../../blobs/" + name, snapshot + "/" + name);
    EXPECT_NO_THROW(load_tokenizer(snapshot)) << kind;
    for (const std::string& name : entries_of(fixture)) {
      if (name == "special_tokens_map.json") continue;  // ignored with an added_tokens_decoder, which all of these have
      const TemporaryFolder folder;
      for (const std::string& other : entries_of(fixture))
        if (other != name) fs::copy(fixture + "/" + other, folder / other);
      fs::create_symlink(cache / ("entry/blobs/" + name), folder / name);
      EXPECT_TAPE_ERROR(load_tokenizer(folder.path()), ErrorKind::format,
                        folder / name + ": is a link that leaves the folder; copy the file there");
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, AgainstPackages,
                         testing::Values(Case{"bert", "bert"}, Case{"bert", "bert_json"}, Case{"gpt2", "gpt2"},
                                         Case{"roberta_json", "roberta_json"}, Case{"unigram_json", "unigram_json"},
                                         Case{"spm_bpe_json", "spm_bpe_json"}),
                         [](const auto& test) {
                           return fmt::format("{}_from_{}", test.param.expected, test.param.folder);
                         });

// Loaded without the tokens that the folder's configuration adds.
std::unique_ptr<Tokenizer> load_piece(const std::string& folder) {
  const std::string name = folder == "unigram" ? "spiece.model" : "tokenizer.model";
  return std::make_unique<SentencePiece>(fixture_path(fmt::format("tokenizers/{}/{}", folder, name)));
}

TEST(SentencePiece, MatchesThePackage) {
  for (const std::string name : {"unigram", "spm_bpe"}) {
    const auto tokenizer = load_piece(name);
    const Json &texts = tokenizer_fixture().at("texts"), &expected = tokenizer_fixture().at(name);
    for (size_t i = 0; i < texts.size(); ++i) {
      const Encoding got = tokenizer->encode(texts[i].get<std::string>());
      EXPECT_EQ(got.ids, ids_of(expected.at("single")[i].at("ids"))) << texts[i];
      EXPECT_EQ(got.offsets, ranges_of(expected.at("single")[i].at("offsets"))) << texts[i];
      EXPECT_EQ(tokenizer->decode(got.ids), expected.at("decoded")[i].get<std::string>()) << texts[i];
    }
  }
}

TEST(SentencePiece, AddsStartAndEndTokensOnRequest) {
  const SentencePiece plain(fixture_path("tokenizers/spm_bpe/tokenizer.model"));
  const SentencePiece both(fixture_path("tokenizers/spm_bpe/tokenizer.model"), {.add_bos = true, .add_eos = true});
  std::vector<int64_t> expected = plain.encode("one two").ids;
  expected.insert(expected.begin(), 1);
  expected.push_back(2);
  EXPECT_EQ(both.encode("one two").ids, expected);
  EXPECT_EQ(both.decode(expected), "one two");
  const Encoding pair = both.encode_pair("one", "two");
  EXPECT_EQ(pair.type_ids.front(), 0);
  EXPECT_EQ(pair.type_ids.back(), 1);
  EXPECT_EQ(std::count(pair.ids.begin(), pair.ids.end(), 1), 2);
}

TEST(WordPiece, AppliesTheConfiguration) {
  const std::string vocabulary = read_text(fixture_path("tokenizers/bert/vocab.txt"));
  const TemporaryFolder folder;
  write_text(folder / "vocab.txt", vocabulary);
  write_text(folder / "tokenizer_config.json", R"({"do_lower_case": false, "tokenize_chinese_chars": false})");
  const auto tokenizer = load_tokenizer(folder.path());
  const Json &texts = tokenizer_fixture().at("texts"), &single = tokenizer_fixture().at("bert_cased").at("single");
  for (size_t i = 0; i < texts.size(); ++i)
    EXPECT_EQ(tokenizer->encode(texts[i].get<std::string>()).ids, ids_of(single[i].at("ids"))) << texts[i];
}

TEST(WordPiece, TruncatesLikeThePackage) {
  const auto tokenizer = load_fixture("bert");
  int refused = 0;
  for (const Json& one : tokenizer_fixture().at("truncation")) {
    const std::string strategy = one.at("strategy");
    const EncodeOptions options{.max_length = one.at("length").get<int64_t>(),
                                .truncation = strategy == "longest_first" ? Truncation::longest_first
                                              : strategy == "only_first"  ? Truncation::only_first
                                                                          : Truncation::only_second,
                                .truncation_side = one.at("direction") == "left" ? Side::left : Side::right};
    const auto encode = [&] {
      const auto first = one.at("first").get<std::string>();
      if (one.at("second").is_null()) return tokenizer->encode(first, options);
      return tokenizer->encode_pair(first, one.at("second").get<std::string>(), options);
    };
    if (one.at("ids").is_null()) {
      ++refused;
      EXPECT_THROW(encode(), Error) << one;
    } else {
      EXPECT_EQ(encode().ids, ids_of(one.at("ids"))) << one;
    }
  }
  EXPECT_GT(refused, 0);
}

TEST(Marian, MatchesTransformersOnBothSides) {
  const std::string folder = fixture_path("tokenizers/marian");
  const auto tokenizer = Marian::load(folder);
  const Json& expected = tokenizer_fixture().at("marian");
  for (size_t i = 0; i < expected.at("texts").size(); ++i) {
    const auto text = expected.at("texts")[i].get<std::string>();
    EXPECT_EQ(tokenizer->encode(text).ids, ids_of(expected.at("source")[i])) << text;
    EXPECT_EQ(tokenizer->target().encode(text).ids, ids_of(expected.at("target")[i])) << text;
    EXPECT_EQ(tokenizer->decode(ids_of(expected.at("source")[i])), expected.at("source_text")[i].get<std::string>());
    EXPECT_EQ(tokenizer->decode(ids_of(expected.at("target")[i])), expected.at("target_text")[i].get<std::string>());
  }
}

TEST(Marian, SavesBothSides) {
  const auto tokenizer = load_fixture("marian");
  const TemporaryFolder folder;
  tokenizer->save(folder.path());
  const auto again = Marian::load(folder.path());
  const Json& expected = tokenizer_fixture().at("marian");
  for (size_t i = 0; i < expected.at("texts").size(); ++i) {
    const auto text = expected.at("texts")[i].get<std::string>();
    EXPECT_EQ(again->encode(text).ids, ids_of(expected.at("source")[i])) << text;
    EXPECT_EQ(again->target().encode(text).ids, ids_of(expected.at("target")[i])) << text;
  }
}

TEST(Marian, HasOffsetsAfterTheLanguage) {
  const auto tokenizer = load_fixture("marian");
  const std::string text = ">>de<< eins";
  const Encoding got = tokenizer->encode(text);
  EXPECT_EQ(tokenizer->token(got.ids[0]), ">>de<<");
  EXPECT_EQ(got.offsets[0], (Range{0, 6}));
  EXPECT_EQ(got.offsets[got.size() - 2].end, text.size());
  EXPECT_EQ(got.offsets.back(), (Range{0, 0}));
}

}  // namespace
}  // namespace tape::text
