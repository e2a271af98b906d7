#include <algorithm>
#include <map>

#include "autograd/random.h"
#include "tests/support/errors.h"
#include "tests/text/tokenizers/tokenizer_fixture.h"
#include "text/tokenizers/byte_level_bpe.h"
#include "text/tokenizers/sentence_piece.h"
#include "text/tokenizers/steps/word_models.h"
#include "text/tokenizers/train_byte_level_bpe.h"
#include "text/tokenizers/train_sentence_piece.h"

namespace tape::text {
namespace {

std::vector<std::string> corpus() {
  return tokenizer_fixture().at("trained").at("corpus").get<std::vector<std::string>>();
}

TEST(TrainByteLevelBpe, LearnsThePackagesMerges) {
  auto lines = corpus();
  const auto expected = tokenizer_fixture().at("trained").at("merges").get<Merges>();
  ASSERT_GT(expected.size(), 200u);
  const auto tokenizer = train_byte_level_bpe(lines, {.vocab_size = 600});
  EXPECT_EQ(tokenizer->merges(), expected);
  EXPECT_EQ(tokenizer->vocab_size(), static_cast<int64_t>(257 + expected.size()));
  EXPECT_EQ(tokenizer->token(0), "<|endoftext|>");
  EXPECT_EQ(tokenizer->special().eos, 0);
  std::reverse(lines.begin(), lines.end());
  EXPECT_EQ(train_byte_level_bpe(lines, {.vocab_size = 600})->merges(), expected);
}

TEST(TrainByteLevelBpe, StopsAtItsLimits) {
  const std::vector<std::string> lines{"abab abab", "abc"};
  EXPECT_EQ(train_byte_level_bpe(lines, {.vocab_size = 258})->merges(), (Merges{{"a", "b"}}));
  EXPECT_EQ(train_byte_level_bpe(lines, {.vocab_size = 1000, .min_frequency = 5})->merges(), (Merges{{"a", "b"}}));
  EXPECT_TRUE(train_byte_level_bpe(lines, {.vocab_size = 1000, .min_frequency = 6})->merges().empty());
  EXPECT_EQ(train_byte_level_bpe(lines, {.vocab_size = 257})->vocab_size(), 257);
}

TEST(TrainByteLevelBpe, KeepsSpecialTokensWhole) {
  const auto tokenizer = train_byte_level_bpe(corpus(), {.vocab_size = 300, .special_tokens = {"<eos>", "<pad>"}});
  EXPECT_EQ(tokenizer->encode("<pad>one<eos>").ids.front(), 1);
  EXPECT_EQ(tokenizer->encode("<pad>one<eos>").ids.back(), 0);
  EXPECT_EQ(tokenizer->decode(tokenizer->encode("<pad>one<eos>").ids), "one");
  // The first one begins and ends texts.
  const SpecialTokens special = tokenizer->special();
  EXPECT_EQ(special.bos, 0);
  EXPECT_EQ(special.eos, 0);
}

TEST(TrainByteLevelBpe, LearnsNoTokenTooLongToLoad) {
  const std::vector<std::string> lines{std::string(400'000, 'a')};
  const auto tokenizer = train_byte_level_bpe(lines, {.vocab_size = 400});
  size_t longest = 0;
  for (int64_t id = 0; id < tokenizer->vocab_size(); ++id) longest = std::max(longest, tokenizer->token(id).size());
  EXPECT_EQ(longest, 65'536u);  // twice that is more than 100,000
  const TemporaryFolder folder;
  tokenizer->save(folder.path());
  EXPECT_EQ(load_tokenizer(folder.path())->encode(lines[0]).ids, tokenizer->encode(lines[0]).ids);
}

TEST(TrainByteLevelBpe, MergesOverlappingPairsFromTheLeft) {
  const std::vector<std::string> lines{"aaaaa"};
  const auto tokenizer = train_byte_level_bpe(lines, {.vocab_size = 1000, .min_frequency = 1});
  EXPECT_EQ(tokenizer->merges(), (Merges{{"a", "a"}, {"aa", "a"}, {"aa", "aaa"}}));
}

TEST(TrainByteLevelBpe, BreaksTiesByLowerIds) {
  const std::vector<std::string> lines{"cb", "ba", "ca", "ab"};
  const auto tokenizer = train_byte_level_bpe(lines, {.vocab_size = 1000, .min_frequency = 1});
  EXPECT_EQ(tokenizer->merges(), (Merges{{"a", "b"}, {"b", "a"}, {"c", "a"}, {"c", "b"}}));
}

/// Reference implementation: recounts all pairs for each merge.
Merges merges_by_counting(const std::vector<std::string>& lines) {
  std::map<std::string, int> ids;
  std::vector<std::vector<std::string>> words;
  for (const std::string& line : lines) {
    words.emplace_back();
    for (const char letter : line) words.back().emplace_back(1, letter);
  }
  for (char letter = 'a'; letter <= 'z'; ++letter) ids.emplace(std::string(1, letter), letter);
  Merges merges;
  for (;;) {
    std::map<std::pair<int, int>, std::pair<int, std::pair<std::string, std::string>>> pairs;
    for (const auto& word : words)
      for (size_t i = 0; i + 1 < word.size(); ++i) {
        auto& [count, tokens] = pairs[{ids.at(word[i]), ids.at(word[i + 1])}];
        --count;
        tokens = {word[i], word[i + 1]};
      }
    if (pairs.empty()) return merges;
    const auto best = std::min_element(pairs.begin(), pairs.end(), [](const auto& a, const auto& b) {
      return a.second.first < b.second.first;  // ties go to the first pair, the one with lower ids
    });
    const auto [left, right] = best->second.second;
    merges.emplace_back(left, right);
    ids.emplace(left + right, 1000 + static_cast<int>(merges.size()));
    for (auto& word : words)
      for (size_t i = 0; i + 1 < word.size(); ++i)
        if (word[i] == left && word[i + 1] == right) {
          word[i] += right;
          word.erase(word.begin() + static_cast<std::ptrdiff_t>(i) + 1);
        }
  }
}

TEST(TrainByteLevelBpe, MatchesAFullRecount) {
  Generator draws(3);
  for (int round = 0; round < 40; ++round) {
    std::vector<std::string> lines;
    for (int word = 0; word < 12; ++word) {
      lines.emplace_back();
      const int64_t length = 1 + draws.below(10);
      for (int64_t i = 0; i < length; ++i) lines.back() += static_cast<char>('a' + draws.below(3));
    }
    EXPECT_EQ(train_byte_level_bpe(lines, {.vocab_size = 2000, .min_frequency = 1})->merges(),
              merges_by_counting(lines))
        << "round " << round;
  }
}

TEST(TrainByteLevelBpe, RefusesAnEmptyCorpusAndSizesOutOfRange) {
  const std::vector<std::string> none, empty{"", ""}, one{"one"};
  EXPECT_TAPE_ERROR(train_byte_level_bpe(none), ErrorKind::config,
                    "train_byte_level_bpe: the corpus is empty (0 lines)");
  EXPECT_TAPE_ERROR(train_byte_level_bpe(empty), ErrorKind::config,
                    "train_byte_level_bpe: the corpus is empty (2 lines)");
  EXPECT_TAPE_ERROR(train_byte_level_bpe(one, {.vocab_size = 256}), ErrorKind::config,
                    "train_byte_level_bpe: vocab_size 256 is less than 256 bytes and 1 special tokens");
  EXPECT_TAPE_ERROR(train_byte_level_bpe(one, {.vocab_size = 1 << 25}), ErrorKind::config,
                    "train_byte_level_bpe: vocab_size 33554432 is more than 16777216");
  EXPECT_TAPE_ERROR(train_byte_level_bpe(one, {.min_frequency = -1}), ErrorKind::config,
                    "train_byte_level_bpe: min_frequency must not be negative, got -1");
  EXPECT_TAPE_ERROR(train_byte_level_bpe(one, {.special_tokens = {"<a>", "<a>"}}), ErrorKind::config,
                    "train_byte_level_bpe: special token \"<a>\" is a duplicate");
  EXPECT_TAPE_ERROR(train_byte_level_bpe(one, {.special_tokens = {""}}), ErrorKind::config,
                    "train_byte_level_bpe: special token \"\" is empty");
}

TEST(TrainSentencePiece, TrainsBothKindsWithoutOutput) {
  const auto lines = corpus();
  for (const auto kind : {SentencePieceKind::unigram, SentencePieceKind::bpe}) {
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    const auto tokenizer = train_sentencepiece(lines, {.vocab_size = 100, .kind = kind});
    const auto again = train_sentencepiece(lines, {.vocab_size = 100, .kind = kind});
    EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
    EXPECT_EQ(again->bytes(), tokenizer->bytes());
    EXPECT_EQ(tokenizer->vocab_size(), 100);
    EXPECT_EQ(tokenizer->special().pad, 0);
    EXPECT_EQ(tokenizer->special().eos, 1);
    EXPECT_EQ(tokenizer->special().unk, 2);
    EXPECT_EQ(tokenizer->special().bos, -1);
    for (const std::string& line : lines) {
      const Encoding got = tokenizer->encode(line);
      EXPECT_EQ(tokenizer->decode(got.ids), line);
      EXPECT_LT(got.size(), line.size());
    }
  }
}

TEST(TrainSentencePiece, UsesTheGivenIdsAndSymbols) {
  const auto tokenizer = train_sentencepiece(corpus(), {.vocab_size = 400,
                                                        .kind = SentencePieceKind::bpe,
                                                        .byte_fallback = true,
                                                        .normalization = "identity",
                                                        .pad_id = 3,
                                                        .eos_id = 2,
                                                        .unk_id = 0,
                                                        .bos_id = 1,
                                                        .symbols = {"<a,b>", "\"q\""},
                                                        .encode = {.add_bos = true, .add_eos = true}});
  EXPECT_EQ(tokenizer->special().bos, 1);
  const Encoding got = tokenizer->encode("one<a,b>\"q\" 語");
  EXPECT_EQ(got.ids.front(), 1);
  EXPECT_EQ(got.ids.back(), 2);
  EXPECT_NE(std::find(got.ids.begin(), got.ids.end(), tokenizer->find("<a,b>").value()), got.ids.end());
  EXPECT_NE(std::find(got.ids.begin(), got.ids.end(), tokenizer->find("\"q\"").value()), got.ids.end());
  EXPECT_EQ(tokenizer->decode(got.ids), "one<a,b>\"q\" 語");
}

TEST(TrainSentencePiece, RefusesAnEmptyCorpusAndSizesOutOfRange) {
  const std::vector<std::string> none, blank{" ", "\t"}, lines = corpus();
  EXPECT_TAPE_ERROR(train_sentencepiece(none), ErrorKind::config, "train_sentencepiece: the corpus is empty (0 lines)");
  EXPECT_TAPE_ERROR(train_sentencepiece(blank), ErrorKind::config,
                    "train_sentencepiece: the corpus is empty (2 lines)");
  EXPECT_TAPE_ERROR(train_sentencepiece(lines, {.vocab_size = 0}), ErrorKind::config,
                    "train_sentencepiece: vocab_size must be from 1 to 16777216, got 0");
  EXPECT_TAPE_ERROR(train_sentencepiece(lines, {.character_coverage = 2}), ErrorKind::config,
                    "train_sentencepiece: character_coverage must be from 0.98 to 1, got 2");
  EXPECT_TAPE_ERROR(train_sentencepiece(lines, {.unk_id = -1}), ErrorKind::config,
                    "train_sentencepiece: unk_id is required, got -1");
  EXPECT_TAPE_ERROR(train_sentencepiece(lines, {.normalization = "nfd"}), ErrorKind::config,
                    "train_sentencepiece: normalization must be nmt_nfkc, nmt_nfkc_cf, nfkc, nfkc_cf or identity, got "
                    "\"nfd\"");
  EXPECT_THROW(train_sentencepiece(lines, {.vocab_size = 20}), Error);
  EXPECT_THROW(train_sentencepiece(lines, {.vocab_size = 100'000}), Error);
  EXPECT_THROW(train_sentencepiece(lines, {.vocab_size = 100, .symbols = {""}}), Error);
  EXPECT_THROW(train_sentencepiece(lines, {.vocab_size = 100, .pad_id = 1}), Error);
}

}  // namespace
}  // namespace tape::text
