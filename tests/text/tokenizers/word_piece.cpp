#include "text/tokenizers/word_piece.h"
#include "text/tokenizers/load_tokenizer.h"

#include <gmock/gmock.h>

#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"
#include "text/tokenizers/tokenizer.h"

namespace tape::text {
namespace {

using testing::ElementsAre;

/// Ids:                                   0        1        2        3        4         5       6       7
const std::vector<std::string> vocabulary{"[PAD]",  "[UNK]", "[CLS]", "[SEP]",        "[MASK]", "time",
                                          "##ly",   "flies", "fl",    "##ies",        "un",     "##aff",
                                          "##able", ",",     "e",     "\xE4\xB8\xAD", "a"};

TEST(WordPiece, FindsTheLongestMatch) {
  const WordPiece tokenizer(vocabulary);
  EXPECT_THAT(tokenizer.encode("Time FLIES, unaffable").ids, ElementsAre(2, 5, 7, 13, 10, 11, 12, 3));
  EXPECT_THAT(tokenizer.encode("timely", {.add_special_tokens = false}).ids, ElementsAre(5, 6));
  EXPECT_THAT(tokenizer.encode("timex", {.add_special_tokens = false}).ids, ElementsAre(1)) << "unknown as a whole";
}

TEST(WordPiece, CleansLikeBert) {
  const WordPiece tokenizer(vocabulary);
  const auto ids = [&](std::string_view text) { return tokenizer.encode(text, {.add_special_tokens = false}).ids; };
  EXPECT_THAT(ids("\xC3\x89 e\xCC\x81"), ElementsAre(14, 14)) << "accents are stripped";
  EXPECT_THAT(ids("a\xE4\xB8\xAD"
                  "a"),
              ElementsAre(16, 15, 16))
      << "spaces around CJK";
  EXPECT_THAT(ids(std::string_view("ti\0me", 5)), ElementsAre(5)) << "NUL is dropped";
  EXPECT_THAT(ids("ti\xFFme"), ElementsAre(5)) << "so are invalid bytes";
  EXPECT_THAT(ids("time\xC2\xA0time\ttime"), ElementsAre(5, 5, 5));
  EXPECT_THAT(ids(std::string(100, 'a')), ElementsAre(1));
  EXPECT_TRUE(ids("").empty());
  EXPECT_THAT(WordPiece(vocabulary, {.lowercase = false}).encode("Time", {.add_special_tokens = false}).ids,
              ElementsAre(1));
}

TEST(WordPiece, ReturnsOffsets) {
  const WordPiece tokenizer(vocabulary);
  const Encoding encoding = tokenizer.encode("\xC3\x89 timely");
  EXPECT_THAT(encoding.ids, ElementsAre(2, 14, 5, 6, 3));
  EXPECT_THAT(encoding.offsets, ElementsAre(Range{0, 0}, Range{0, 2}, Range{3, 7}, Range{7, 9}, Range{0, 0}));
  EXPECT_THAT(encoding.special_tokens_mask, ElementsAre(1, 0, 0, 0, 1));
}

TEST(WordPiece, EncodesPairs) {
  const WordPiece tokenizer(vocabulary);
  const Encoding pair = tokenizer.encode_pair("time", "flies time");
  EXPECT_THAT(pair.ids, ElementsAre(2, 5, 3, 7, 5, 3));
  EXPECT_THAT(pair.type_ids, ElementsAre(0, 0, 0, 1, 1, 1));
  EXPECT_THAT(tokenizer.encode_pair("time", "flies time", {.max_length = 5}).ids, ElementsAre(2, 5, 3, 7, 3));
  EXPECT_THAT(tokenizer.encode_pair("a a a", "a", {.max_length = 5, .truncation = Truncation::only_first}).ids,
              ElementsAre(2, 16, 3, 16, 3));
}

TEST(WordPiece, PadsABatch) {
  const WordPiece tokenizer(vocabulary);
  const std::vector<std::string> texts{"time flies", "a"};
  const auto batch = tokenizer.encode_batch(texts);
  EXPECT_THAT(batch[1].ids, ElementsAre(2, 16, 3, 0));
  EXPECT_THAT(batch[1].attention_mask, ElementsAre(1, 1, 1, 0));
  EXPECT_THAT(tokenizer.encode_batch(texts, {}, {.to = Padding::fixed, .length = 6, .side = Side::left})[1].ids,
              ElementsAre(0, 0, 0, 2, 16, 3));
}

TEST(WordPiece, DecodesToText) {
  const WordPiece tokenizer(vocabulary);
  EXPECT_EQ(tokenizer.decode(tokenizer.encode("timely flies").ids), "timely flies");
}

TEST(WordPiece, LoadsWhatItSaved) {
  const TemporaryFolder folder;
  const WordPiece tokenizer(vocabulary, {.lowercase = false});
  tokenizer.save(folder.path());
  const auto read = load_tokenizer(folder.path());
  EXPECT_EQ(read->vocab_size(), tokenizer.vocab_size());
  EXPECT_EQ(read->encode("Time timely").ids, tokenizer.encode("Time timely").ids);
  EXPECT_EQ(read->special().mask, 4);
}

TEST(WordPiece, RefusesADuplicateToken) {
  EXPECT_TAPE_ERROR(WordPiece({"[UNK]", "a", "a"}), ErrorKind::format, "WordPiece: duplicate token \"a\"");
}

}  // namespace
}  // namespace tape::text
