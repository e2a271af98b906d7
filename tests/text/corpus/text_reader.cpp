#include "text/corpus/text_reader.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/errors.h"
#include "tests/text/tokenizers/tokenizer_fixture.h"
#include "text/corpus/line_reader.h"
#include "text/corpus/number_words.h"

namespace tape::text {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using namespace std::string_literals;

class TextFiles : public TokenizerFolder {
 protected:
  std::vector<std::string> pieces(const std::string& name, CharacterRange range = {}) const {
    TextReader reader(path(name), range);
    std::vector<std::string> all;
    while (const auto piece = reader.next()) all.emplace_back(*piece);
    return all;
  }
  std::string whole(const std::string& name, CharacterRange range = {}) const {
    std::string all;
    for (const std::string& piece : pieces(name, range)) all += piece;
    return all;
  }
};

TEST_F(TextFiles, AreReadWithoutByteOrderMarksAndCarriageReturns) {
  write("a", "\xEF\xBB\xBF\u00e4\u00f6\u00fc\u20ac\U0001F600\r\n\r567\0"s);
  EXPECT_THAT(pieces("a"), ElementsAre("\u00e4\u00f6\u00fc\u20ac\U0001F600\n\r567\0"s));
  EXPECT_EQ(whole("a", {.end = 5}), "\u00e4\u00f6\u00fc\u20ac\U0001F600");
  EXPECT_EQ(whole("a", {.begin = 5}), "\n\r567\0"s);
  EXPECT_EQ(whole("a", {.begin = 3, .end = 6}), "\u20ac\U0001F600\n");
  std::vector<std::string> notes;
  EXPECT_EQ(count_characters(path("a"), notes), 11);
  EXPECT_THAT(notes, ElementsAre(fmt::format("{}: byte order mark removed", path("a")),
                                 fmt::format("{}: carriage returns removed from 1 line", path("a")),
                                 fmt::format("{}: 1 NUL character kept", path("a"))));
  write("empty", "\xEF\xBB\xBF");
  EXPECT_THAT(pieces("empty"), IsEmpty());
  EXPECT_TAPE_ERROR(count_characters(path("empty"), notes), ErrorKind::config,
                    fmt::format("{}: the file is empty", path("empty")));
}

/// Characters of every length and CRLFs at every block boundary.
TEST_F(TextFiles, AreTheSameWhereverBlocksEnd) {
  std::string text, clean;
  for (int64_t i = 0; text.size() < 3 << 20; ++i) {
    const std::string words = english_number(i % 1000) + " \u00e4\u20ac\U0001F600"s.substr(0, i % 3 == 0 ? 3 : 10);
    text += words + ".\r\n";
    clean += words + ".\n";
  }
  for (int shift = 0; shift < 4; ++shift) {
    write("a", std::string(static_cast<size_t>(shift), 'x') + text);
    const std::string expected = std::string(static_cast<size_t>(shift), 'x') + clean;
    ASSERT_EQ(whole("a"), expected) << shift;
    LineReader lines(path("a"));
    std::string joined;
    while (const auto line = lines.next()) (joined += *line) += '\n';
    ASSERT_EQ(joined, expected) << shift;
    EXPECT_EQ(lines.crlf_lines(), lines.number());
  }
  const std::vector<std::string> cut = pieces("a");
  ASSERT_GE(cut.size(), 3U);
  for (size_t i = 0; i + 1 < cut.size(); ++i) {
    EXPECT_LE(cut[i].size(), size_t{1} << 20);
    EXPECT_TRUE(cut[i].ends_with("\n"));
  }
  const auto half = static_cast<int64_t>(clean.size() / 3);
  EXPECT_EQ(whole("a", {.end = half}) + whole("a", {.begin = half}), whole("a"));
}

TEST_F(TextFiles, AreSplitEvenWithoutLines) {
  write(
      "words", std::string(100, '\n') + [] {
        std::string text;
        while (text.size() < 3 << 20) text += "word and ";
        return text;
      }());
  const std::vector<std::string> words = pieces("words");
  ASSERT_GE(words.size(), 3U);
  EXPECT_TRUE(words[1].starts_with(" ")) << words[1].substr(0, 10);
  std::string euros;
  while (euros.size() < 3 << 20) euros += "\u20ac";
  write("euros", euros);
  EXPECT_EQ(whole("euros"), euros);
  for (const std::string& piece : pieces("euros")) EXPECT_EQ(piece.size() % 3, 0U);
}

TEST_F(TextFiles, NameLineAndByteOfInvalidUtf8InEveryBlock) {
  for (const size_t before : {size_t{2}, (size_t{1} << 18) - 1, size_t{1} << 18, size_t{700'000}}) {
    std::string text;
    while (text.size() + 10 < before) text += "nine byt\n";
    const auto line = std::ranges::count(text, '\n') + 1;
    const size_t rest = before - text.size();
    text += std::string(rest, 'x') + "\xE2\x82" + std::string(1000, 'y');
    write("a", text);
    const std::string sentence = fmt::format("{}: line {}, byte {}: 0xE2 is not valid UTF-8 (byte {} of the file)",
                                             path("a"), line, rest + 1, before + 1);
    EXPECT_TAPE_ERROR(whole("a"), ErrorKind::format, sentence);
  }
  write("cut", "a\n\xE2\x82");
  EXPECT_TAPE_ERROR(whole("cut"), ErrorKind::format,
                    fmt::format("{}: line 2, byte 1: 0xE2 is not valid UTF-8 (byte 3 of the file)", path("cut")));
  write("utf16", "\xFF\xFEo\0n\0"s);
  EXPECT_TAPE_ERROR(whole("utf16"), ErrorKind::format,
                    fmt::format("{}: line 1, byte 1: the text is UTF-16, expected UTF-8", path("utf16")));
}

/// The guarantee for byte-level models.
TEST_F(TextFiles, HavePiecesWithTheIdsOfTheWhole) {
  std::string text;
  for (int64_t i = 0; text.size() < 5 << 19; ++i)
    text += fmt::format("{}{}{}{}", english_number(i % 977),
                        i % 5 == 0   ? ".\n\n  "
                        : i % 3 == 0 ? "!\n"
                                     : " ",
                        i % 7 == 0 ? "\u4e2d\u6587\n" : "", i % 11 == 0 ? "It's 1234567,\t\n \n" : "");
  write("a", text);
  for (const char* name : {"gpt2", "families/llama3", "families/gpt4o", "families/qwen", "families/gpt_neox"}) {
    const auto tokenizer = load_fixture(name);
    std::vector<int64_t> ids;
    for (const std::string& piece : pieces("a")) {
      const std::vector<int64_t> more = tokenizer->encode(piece, {.add_special_tokens = false}).ids;
      ids.insert(ids.end(), more.begin(), more.end());
    }
    EXPECT_EQ(ids, tokenizer->encode(text, {.add_special_tokens = false}).ids) << name;
  }
}

TEST(TrainingPart, IsAllExceptTheLastFraction) {
  EXPECT_EQ(training_split_size(1'115'394, 0.1, "a", "character"), 1'003'854) << "nanoGPT: int(n * 0.9)";
  EXPECT_EQ(training_split_size(4, 0.5, "a", "document"), 2);
  EXPECT_TAPE_ERROR(training_split_size(1, 0.1, "a", "character"), ErrorKind::config,
                    "a: too short to keep a fraction of 0.1 for validation: 1 character");
  for (const double fraction : {0.0, 1.0, -0.5, std::nan("")})
    EXPECT_TAPE_ERROR(training_split_size(9, fraction, "a", "character"), ErrorKind::config,
                      fmt::format("a: valid_fraction must be between 0 and 1, got {}", fraction));
}

}  // namespace
}  // namespace tape::text
