#include "text/corpus/overlapping_pieces.h"

#include <algorithm>

#include <fmt/format.h>

#include <gtest/gtest.h>

#include "tests/support/fixtures.h"
#include "tests/text/tokenizers/tokenizer_fixture.h"
#include "text/corpus/number_words.h"
#include "text/tokenizers/sentence_piece.h"

namespace tape::text {
namespace {

/// Splits a text between characters into pieces of `size` bytes or slightly more.
NextPiece cut_to_pieces(std::string_view text, size_t size) {
  return [text, size, at = size_t{0}]() mutable -> std::optional<std::string_view> {
    if (at == text.size()) return std::nullopt;
    size_t end = std::min(at + size, text.size());
    while (end < text.size() && !is_utf8_lead_byte(text[end])) ++end;
    const size_t begin = std::exchange(at, end);
    return text.substr(begin, end - begin);
  };
}

/// Ids of a text encoded piece by piece.
std::vector<int64_t> joined_ids(const Tokenizer& tokenizer, NextPiece next) {
  OverlappingPieces pieces(std::move(next));
  std::vector<OverlappingPiece> all;
  std::vector<Encoding> encodings;
  while (auto piece = pieces.next()) {
    encodings.push_back(tokenizer.encode(piece->text, {.add_special_tokens = false}));
    if (!all.empty()) join(all.back(), encodings.end()[-2], *piece, encodings.back());
    all.push_back(std::move(*piece));
  }
  std::vector<int64_t> ids;
  for (const Encoding& encoding : encodings) {
    EXPECT_EQ(encoding.type_ids.size(), encoding.size());
    EXPECT_EQ(encoding.offsets.size(), encoding.size());
    EXPECT_EQ(encoding.attention_mask.size(), encoding.size());
    EXPECT_EQ(encoding.special_tokens_mask.size(), encoding.size());
    ids.insert(ids.end(), encoding.ids.begin(), encoding.ids.end());
  }
  return ids;
}

/// Words, line ends, runs of spaces, letters that span tokens, and 6,000 bytes of Chinese without a space.
std::string long_text() {
  std::string text = "  ";
  for (int64_t i = 0; text.size() < 30'000; ++i)
    text += fmt::format("{}{}", english_number(i * i % 977),
                        i % 13 == 0  ? ".\n\n   "
                        : i % 7 == 0 ? " \u00bd \ufb01 e\u0301\t"
                        : i % 3 == 0 ? "!\n"
                                     : " ");
  for (int64_t i = 0; i < 2'000; ++i) text += i % 11 == 0 ? "\u4e8c" : i % 3 == 0 ? "\u6587" : "\u4e2d";
  return text + " the end \n";
}

std::vector<std::pair<std::string, std::unique_ptr<Tokenizer>>> kinds() {
  std::vector<std::pair<std::string, std::unique_ptr<Tokenizer>>> out;
  for (const char* file : {"unigram/spiece.model", "spm_bpe/tokenizer.model"})
    out.emplace_back(file, std::make_unique<SentencePiece>(fixture_path(fmt::format("tokenizers/{}", file))));
  for (const char* name : {"bert", "gpt2", "families/llama2", "families/mistral", "families/gemma", "families/t5",
                           "families/albert", "families/deberta_v3", "families/llama3"})
    out.emplace_back(name, load_fixture(name));
  return out;
}

TEST(OverlappingPieces, JoinToTheIdsOfTheWholeText) {
  const std::string text = long_text();
  for (const auto& [name, tokenizer] : kinds()) {
    const std::vector<int64_t> whole = tokenizer->encode(text, {.add_special_tokens = false}).ids;
    for (const size_t size : {1'100U, 2'500U, 4'097U, 20'000U})
      EXPECT_EQ(joined_ids(*tokenizer, cut_to_pieces(text, size)), whole) << name << ", pieces of " << size;
  }
}

/// The sentencepiece library prepends a space to each text.
TEST(OverlappingPieces, AreNeededBecauseSeparatePiecesHaveOtherIds) {
  const std::string text = long_text();
  const SentencePiece tokenizer(fixture_path("tokenizers/spm_bpe/tokenizer.model"));
  std::vector<int64_t> ids;
  for (NextPiece next = cut_to_pieces(text, 2'500); const auto piece = next();) {
    const Encoding encoding = tokenizer.encode(*piece, {.add_special_tokens = false});
    ids.insert(ids.end(), encoding.ids.begin(), encoding.ids.end());
  }
  EXPECT_NE(ids, tokenizer.encode(text, {.add_special_tokens = false}).ids);
}

TEST(OverlappingPieces, OverlapByWholeCharacters) {
  std::string euros;
  while (euros.size() < 5'000) euros += "\u20ac";
  OverlappingPieces pieces(cut_to_pieces(euros, 2'000));
  std::string all;
  size_t before = 0;
  while (const auto piece = pieces.next()) {
    EXPECT_EQ(piece->lead % 3, 0U);
    EXPECT_LE(piece->lead, OverlappingPieces::kOverlap);
    EXPECT_EQ(piece->lead > 1'000, before > 0);
    all += piece->text.substr(piece->lead);
    before = all.size();
  }
  EXPECT_EQ(all, euros);
  EXPECT_FALSE(pieces.next());
}

/// If the pieces have no token in common, each keeps the tokens that begin in its own part.
TEST(OverlappingPieces, AreSplitBetweenPiecesWithoutACommonToken) {
  const OverlappingPiece first{.text = "abcd"}, second{.text = "cdef", .lead = 2};
  const auto encoding = [](std::vector<int64_t> ids, std::vector<Range> offsets) {
    const size_t n = ids.size();
    return Encoding{std::move(ids), std::vector<int64_t>(n), std::vector<int64_t>(n, 1), std::move(offsets),
                    std::vector<uint8_t>(n)};
  };
  Encoding one = encoding({1, 2}, {{0, 1}, {1, 4}}), two = encoding({7, 8, 9}, {{0, 1}, {1, 3}, {3, 4}});
  join(first, one, second, two);
  EXPECT_EQ(one.ids, (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(two.ids, (std::vector<int64_t>{9}));
  // The same token at the same offset, "c" of both; all members are trimmed.
  one = encoding({1, 2, 3, 4}, {{0, 1}, {1, 2}, {2, 3}, {3, 4}});
  two = encoding({3, 5}, {{0, 1}, {1, 4}});
  join(first, one, second, two);
  EXPECT_EQ(one.ids, (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(two.ids, (std::vector<int64_t>{3, 5}));
  EXPECT_EQ(one.offsets.size(), 2U);
}

}  // namespace
}  // namespace tape::text
