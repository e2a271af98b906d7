#include "text/tokenizers/characters.h"

#include <gmock/gmock.h>

#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"
#include "text/tokenizers/load_tokenizer.h"

namespace tape::text {
namespace {

using testing::ElementsAre;

std::vector<std::string> characters_of(const Tokenizer& tokenizer, std::string_view text) {
  std::vector<std::string> out;
  for (const int64_t id : tokenizer.encode(text).ids) out.push_back(tokenizer.decode(std::vector<int64_t>{id}));
  return out;
}

TEST(CharacterTokenizer, HasOneTokenPerCharacterInCodePointOrder) {
  const auto tokenizer = character_tokenizer("cab\n a");
  EXPECT_EQ(tokenizer->vocab_size(), 6);  // "\n", " ", "a", "b", "c" and <|endoftext|>
  EXPECT_THAT(tokenizer->encode("\n abc").ids, ElementsAre(0, 1, 2, 3, 4));
  EXPECT_EQ(tokenizer->special().eos, 5);
}

TEST(CharacterTokenizer, KeepsMultibyteCharactersWhole) {
  const std::string text = "na\u00efve \u4e2d\u6587\u4e2d \U0001F600";
  const auto tokenizer = character_tokenizer(text);
  EXPECT_THAT(characters_of(*tokenizer, "\u00ef\u6587\U0001F600e\u4e2d"),
              ElementsAre("\u00ef", "\u6587", "\U0001F600", "e", "\u4e2d"));
  EXPECT_EQ(tokenizer->decode(tokenizer->encode(text).ids), text);
}

TEST(CharacterTokenizer, SplitsOrDropsUnseenCharacters) {
  // U+4E2E shares its first two bytes with U+4E2D; "x" shares none.
  const auto tokenizer = character_tokenizer("a\u4e2d");
  EXPECT_EQ(tokenizer->decode(tokenizer->encode("axa").ids), "aa");
  EXPECT_EQ(tokenizer->encode("\u4e2e").size(), 1u);  // the two bytes are one token, the third has none
}

TEST(CharacterTokenizer, LoadsAsItWasSaved) {
  const std::string text = "two lines\nand \u00e4\u00f6\u00fc";
  const auto tokenizer = character_tokenizer(text);
  const TemporaryFolder folder;
  tokenizer->save(folder.path());
  EXPECT_EQ(load_tokenizer(folder.path())->encode(text).ids, tokenizer->encode(text).ids);
}

TEST(CharacterTokenizer, RefusesAnEmptyText) {
  EXPECT_TAPE_ERROR(character_tokenizer(""), ErrorKind::config, "character_tokenizer: the text is empty");
}

}  // namespace
}  // namespace tape::text
