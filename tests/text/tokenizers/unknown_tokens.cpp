#include "text/tokenizers/unknown_tokens.h"

#include <gtest/gtest.h>

#include "text/tokenizers/characters.h"
#include "text/tokenizers/train_byte_level_bpe.h"

namespace tape::text {
namespace {

std::string lost_characters_note(const ByteLevelBpe& tokenizer, std::string_view text) {
  DroppedCharacters lost(tokenizer);
  const size_t half = text.size() / 2;  // a character boundary below
  lost.add(text.substr(0, half));
  lost.add(text.substr(half));
  return lost.note();
}

TEST(UnknownTokens, NamesTheCharactersThatAByteLevelTokenizerDrops) {
  const auto tokenizer = character_tokenizer("abc é\n");
  EXPECT_EQ(lost_characters_note(*tokenizer, "cab\né a"), "");
  EXPECT_EQ(lost_characters_note(*tokenizer, "abx"),
            "1 of 3 characters is unknown to the tokenizer, which drops it: \"x\"");
  // ê and é have the same first byte, so a part of ê is kept.
  EXPECT_EQ(lost_characters_note(*tokenizer, "xêx\nzzab"),
            "5 of 8 characters are unknown to the tokenizer, which drops them: \"x\", \"z\", \"ê\"");
  EXPECT_EQ(lost_characters_note(*tokenizer, ""), "");
}

TEST(UnknownTokens, AreNoneForATokenizerWithAllBytes) {
  const std::string lines[] = {"abc"};
  EXPECT_EQ(lost_characters_note(*train_byte_level_bpe(lines, {.vocab_size = 300}), "\xff漢"), "");
}

}  // namespace
}  // namespace tape::text
