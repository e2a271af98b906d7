#include "text/number_words_tokenizer.h"
#include "text/load_tokenizer.h"

#include <gmock/gmock.h>

#include "tests/support/temporary_folder.h"
#include "tests/text/tokenizer_fixture.h"
#include "text/number_words.h"

namespace tape::text {
namespace {

using testing::ElementsAre;

NumberWordsTokenizer tokenizer() {
  return NumberWordsTokenizer(Vocabulary(german_tokens()), Vocabulary(english_tokens()));
}

TEST(NumberWordsTokenizer, GivesTheIdsThatTheTaskIsTrainedWith) {
  const auto german = tokenizer();
  const Vocabulary morphemes(german_tokens()), words(english_tokens());
  for (const int64_t number : {0, 7, 43, 101, 21'000, 987'654}) {
    std::vector<int64_t> expected = morphemes.encode(split_german(german_number(number)));
    expected.push_back(Vocabulary::eos);
    const Encoding encoding = german.encode(german_number(number));
    EXPECT_EQ(encoding.ids, expected) << number;
    EXPECT_EQ(german.decode(encoding.ids), german_number(number));
    const std::string english = english_number(number);
    const Encoding said = german.target().encode(english, {.add_special_tokens = false});
    EXPECT_EQ(said.ids, words.encode(split_english(english))) << number;
    EXPECT_EQ(german.target().decode(said.ids), english);
  }
}

TEST(NumberWordsTokenizer, KnowsWhereTokensComeFrom) {
  const auto german = tokenizer();
  EXPECT_THAT(german.encode("dreiundvierzig").offsets,
              ElementsAre(Range{0, 4}, Range{4, 7}, Range{7, 14}, Range{0, 0}));
  EXPECT_THAT(german.encode("dreitausenddrei").offsets,
              ElementsAre(Range{0, 4}, Range{4, 11}, Range{11, 15}, Range{0, 0}));
  const Encoding english = german.target().encode(" forty-three  thousand");
  EXPECT_THAT(english.offsets, ElementsAre(Range{1, 6}, Range{6, 7}, Range{7, 12}, Range{14, 22}, Range{0, 0}));
  EXPECT_THAT(english.special_tokens_mask, ElementsAre(0, 0, 0, 0, 1));
  const Encoding broken = german.encode("drei\xff\xfevier");
  EXPECT_THAT(broken.offsets, ElementsAre(Range{0, 4}, Range{4, 6}, Range{6, 10}, Range{0, 0}));
  EXPECT_EQ(broken.ids[1], Vocabulary::unk);
  EXPECT_THAT(german.encode("").ids, ElementsAre(Vocabulary::eos));
}

TEST(NumberWordsTokenizer, HasTwoSides) {
  const auto german = tokenizer();
  EXPECT_NE(&german.target(), &german);
  EXPECT_EQ(&german.target().target(), &german.target());
  EXPECT_EQ(german.vocab_size(), std::ssize(german_tokens()) + 4);
  EXPECT_EQ(german.target().vocab_size(), std::ssize(english_tokens()) + 4);
  EXPECT_EQ(german.find("und"), Vocabulary(german_tokens()).id("und"));
  EXPECT_EQ(german.find("and"), std::nullopt);
  EXPECT_EQ(german.special().eos, Vocabulary::eos);
  EXPECT_EQ(german.decode(std::vector<int64_t>{1, 3, 2, 0}), "<unk>");
  EXPECT_EQ(german.explain("drei")[1], fmt::format("tokens: drei ({})", *german.find("drei")));
}

TEST(NumberWordsTokenizer, IsReadFromAFolderAsAnyOther) {
  const TemporaryFolder folder;
  tokenizer().save(folder.path());
  const auto loaded = load_tokenizer(folder.path());
  EXPECT_EQ(loaded->encode("einundzwanzig").ids, tokenizer().encode("einundzwanzig").ids);
  EXPECT_EQ(loaded->target().encode("twenty-one").ids, tokenizer().target().encode("twenty-one").ids);
}

}  // namespace
}  // namespace tape::text
