#include "text/tokenizers/byte_level_bpe.h"

#include <gmock/gmock.h>

#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"
#include "text/tokenizers/load_tokenizer.h"
#include "text/tokenizers/tokenizer.h"
#include "text/tokenizers/train_byte_level_bpe.h"

namespace tape::text {
namespace {

using testing::ElementsAre;

std::unique_ptr<ByteLevelBpe> trained(int64_t size) {
  const std::vector<std::string> lines{"low low low lower lowest", "new newer newest wide wider",
                                       "low new lowest newest"};
  return train_byte_level_bpe(lines, {.vocab_size = size});
}

std::vector<std::string> tokens_of(const Tokenizer& tokenizer, std::string_view text) {
  return tokenizer.tokens(tokenizer.encode(text).ids);
}

TEST(ByteLevelBpe, SplitsWordsByTheirMerges) {
  const ByteLevelBpe tokenizer({"l", "o", "w", "\xC4\xA0", "lo", "low", "\xC4\xA0low"},
                               {{"l", "o"}, {"lo", "w"}, {"\xC4\xA0", "low"}});
  EXPECT_THAT(tokens_of(tokenizer, "low lo wol low"),
              ElementsAre("low", "\xC4\xA0", "lo", "\xC4\xA0", "w", "o", "l", "\xC4\xA0low"));
  EXPECT_THAT(tokenizer.encode("low low").offsets, ElementsAre(Range{0, 3}, Range{3, 7}));
}

TEST(ByteLevelBpe, LearnsFrequentPairsFirst) {
  const auto tokenizer = trained(262);
  // 257 tokens are the bytes and <|endoftext|>; five merges follow, first "o w", which occurs in 8 words.
  ASSERT_EQ(tokenizer->merges().size(), 5u);
  EXPECT_EQ(tokenizer->vocab_size(), 262);
  EXPECT_GT(tokens_of(*trained(262), "lowest").size(), tokens_of(*trained(280), "lowest").size());
}

TEST(ByteLevelBpe, RoundTripsAnyBytes) {
  const auto tokenizer = trained(270);
  for (const std::string& text :
       {std::string("low newest"), std::string("  two  blanks "), std::string("a\0b", 3),
        std::string("\xFF\xFE broken \xC3"),
        std::string("\xF0\x9F\x91\xA9\xE2\x80\x8D\xF0\x9F\x91\xA7 \xE4\xB8\xAD\xE6\x96\x87 e\xCC\x81"),
        std::string("don't I'll\r\n\ttab"), std::string(), std::string(100'000, 'w')})
    EXPECT_EQ(tokenizer->decode(tokenizer->encode(text).ids), text);
}

TEST(ByteLevelBpe, LoadsWhatItSaved) {
  const TemporaryFolder folder;
  const auto tokenizer = trained(275);
  tokenizer->save(folder.path());
  const auto read = load_tokenizer(folder.path());
  for (const char* text : {"lowest of the new", "wider, wide; \xC3\xA9"})
    EXPECT_EQ(read->encode(text).ids, tokenizer->encode(text).ids);
}

TEST(ByteLevelBpe, RefusesAMergeOfUnknownTokens) {
  EXPECT_TAPE_ERROR(ByteLevelBpe({"l", "o"}, {{"l", "x"}}), ErrorKind::format,
                    "ByteLevelBpe: merge 0 \"l x\": \"x\" is not in the vocabulary");
  EXPECT_THROW(trained(100), Error) << "too small for the bytes";
}

}  // namespace
}  // namespace tape::text
