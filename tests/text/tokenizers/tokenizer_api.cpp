#include <gmock/gmock.h>
#include <thread>

#include <fmt/format.h>

#include "tests/support/errors.h"
#include "tests/text/tokenizers/tokenizer_fixture.h"
#include "text/tokenizers/byte_level_bpe.h"
#include "text/tokenizers/patterns/unicode.h"
#include "text/tokenizers/patterns/word_patterns.h"
#include "text/tokenizers/steps/added_tokens.h"
#include "text/tokenizers/steps/decoder.h"
#include "text/tokenizers/steps/normalizer.h"
#include "text/tokenizers/steps/word_models.h"
#include "text/tokenizers/word_piece.h"

namespace tape::text {
namespace {

using testing::ElementsAre;

/// Ids: [PAD] 0, [UNK] 1, [CLS] 2, [SEP] 3, [MASK] 4, time 5, flies 6, ##s 7, fly 8, like 9, , 10
WordPiece small(const WordPieceOptions& options = {}) {
  return WordPiece({"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "time", "flies", "##s", "fly", "like", ","}, options);
}

TEST(WordPiece, FindsTheLongestMatchAndMarksAddedTokens) {
  const WordPiece tokenizer = small();
  const Encoding got = tokenizer.encode("Time FLYs, likely");
  EXPECT_THAT(got.ids, ElementsAre(2, 5, 8, 7, 10, 1, 3));
  EXPECT_THAT(got.special_tokens_mask, ElementsAre(1, 0, 0, 0, 0, 0, 1));
  EXPECT_THAT(got.offsets, ElementsAre(Range{0, 0}, Range{0, 4}, Range{5, 8}, Range{8, 9}, Range{9, 10}, Range{11, 17},
                                       Range{0, 0}));
  EXPECT_THAT(tokenizer.encode("time", {.add_special_tokens = false}).ids, ElementsAre(5));
  EXPECT_THAT(tokenizer.tokens(got.ids), ElementsAre("[CLS]", "time", "fly", "##s", ",", "[UNK]", "[SEP]"));
  EXPECT_EQ(tokenizer.decode(got.ids), "time flys,");
  EXPECT_EQ(tokenizer.decode(got.ids, false), "[CLS] time flys, [UNK] [SEP]");
}

TEST(WordPiece, DropsInvalidBytes) {
  const WordPiece tokenizer = small();
  EXPECT_THAT(tokenizer.encode("ti\xFFme \xC3").ids, ElementsAre(2, 5, 3));
  EXPECT_THAT(tokenizer.encode("ti\xFFme").offsets, ElementsAre(Range{0, 0}, Range{0, 5}, Range{0, 0}));
  EXPECT_THAT(tokenizer.encode(std::string_view("ti\0me", 5)).ids, ElementsAre(2, 5, 3));
}

TEST(WordPiece, LimitsTheLengthOfAWord) {
  const WordPiece tokenizer({"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "é", "##é"},
                            {.strip_accents = false, .max_word_characters = 3});
  EXPECT_THAT(tokenizer.encode("ééé éééé").ids, ElementsAre(2, 5, 6, 6, 1, 3));
}

TEST(WordPiece, AppendsMissingSpecialTokens) {
  const WordPiece tokenizer({"time", "[UNK]"});
  EXPECT_EQ(tokenizer.vocab_size(), 6);
  EXPECT_THAT(tokenizer.encode("time [MASK]").ids,
              ElementsAre(tokenizer.special().cls, 0, tokenizer.special().mask, tokenizer.special().sep));
  EXPECT_THAT(tokenizer.tokens(std::vector<int64_t>{2, 3, 4, 5}), ElementsAre("[SEP]", "[PAD]", "[CLS]", "[MASK]"));
}

TEST(WordPiece, ConvertsBetweenTokensAndIds) {
  const WordPiece tokenizer = small();
  EXPECT_EQ(tokenizer.find("fly"), 8);
  EXPECT_EQ(tokenizer.find("ly"), std::nullopt);
  EXPECT_EQ(tokenizer.token(7), "##s");
  EXPECT_TRUE(tokenizer.is_special(2));
  EXPECT_FALSE(tokenizer.is_special(5));
  EXPECT_TAPE_ERROR(tokenizer.token(11), ErrorKind::index, "token: id 11 is not in 0..10");
  EXPECT_TAPE_ERROR(tokenizer.decode(std::vector<int64_t>{5, -1}), ErrorKind::index,
                    "decode: id -1 at position 1 is not in 0..10");
  EXPECT_TAPE_ERROR(tokenizer.decode(std::vector<int64_t>{11}), ErrorKind::index,
                    "decode: id 11 at position 0 is not in 0..10");
}

TEST(Padding, ExtendsShorterEncodings) {
  const WordPiece tokenizer = small();
  const std::vector<std::string> texts{"time", "time flies like"};
  auto batch = tokenizer.encode_batch(texts);
  EXPECT_THAT(batch[0].ids, ElementsAre(2, 5, 3, 0, 0));
  EXPECT_THAT(batch[0].attention_mask, ElementsAre(1, 1, 1, 0, 0));
  EXPECT_THAT(batch[0].type_ids, ElementsAre(0, 0, 0, 0, 0));
  EXPECT_THAT(batch[0].special_tokens_mask, ElementsAre(1, 0, 1, 1, 1));
  EXPECT_EQ(batch[0].offsets.back(), (Range{0, 0}));
  EXPECT_THAT(batch[1].ids, ElementsAre(2, 5, 6, 9, 3));
  batch = tokenizer.encode_batch(texts, {}, {.to = Padding::fixed, .length = 4, .side = Side::left});
  EXPECT_THAT(batch[0].ids, ElementsAre(0, 2, 5, 3));
  EXPECT_THAT(batch[0].attention_mask, ElementsAre(0, 1, 1, 1));
  EXPECT_EQ(batch[1].size(), 5u);
  batch = tokenizer.encode_batch(texts, {}, {.multiple_of = 4});
  EXPECT_EQ(batch[0].size(), 8u);
  EXPECT_EQ(batch[1].size(), 8u);
  const auto pairs = tokenizer.encode_pair_batch(texts, texts);
  EXPECT_THAT(pairs[0].ids, ElementsAre(2, 5, 3, 5, 3, 0, 0, 0, 0));
  EXPECT_THAT(pairs[0].type_ids, ElementsAre(0, 0, 0, 1, 1, 0, 0, 0, 0));
  EXPECT_TRUE(tokenizer.encode_batch({}).empty());
}

TEST(Padding, RefusesLengthsOutOfRangeAndTokenizersWithoutPadding) {
  const WordPiece tokenizer = small();
  const std::vector<std::string> one{"time"}, two{"time", "time flies"};
  EXPECT_TAPE_ERROR(tokenizer.encode_pair_batch(one, two), ErrorKind::shape,
                    "encode_pair_batch: 1 first texts but 2 second texts");
  EXPECT_TAPE_ERROR(tokenizer.encode_batch(two, {}, {.length = -1}), ErrorKind::config,
                    "pad: length must not be negative, got -1");
  EXPECT_TAPE_ERROR(tokenizer.encode_batch(two, {}, {.multiple_of = 0}), ErrorKind::config,
                    "pad: multiple_of must be at least 1, got 0");
  const auto gpt = load_fixture("gpt2");
  EXPECT_TAPE_ERROR(gpt->encode_batch(two), ErrorKind::config, "pad: the tokenizer has no padding token");
  EXPECT_EQ(gpt->encode_batch(two, {}, {.to = Padding::none}).size(), 2u);
}

TEST(Truncating, RefusesLengthsThatAreTooShort) {
  const WordPiece tokenizer = small();
  EXPECT_TAPE_ERROR(tokenizer.encode("time", {.max_length = -2}), ErrorKind::config,
                    "encode: max_length must not be negative, got -2");
  EXPECT_TAPE_ERROR(tokenizer.encode("time", {.max_length = 1}), ErrorKind::config,
                    "encode: max_length 1 is less than the 2 tokens added");
  EXPECT_TAPE_ERROR(tokenizer.encode("time", {.max_length = 5, .truncation = Truncation::none}), ErrorKind::config,
                    "encode: max_length 5 requires truncation, which is none");
  EXPECT_TAPE_ERROR(tokenizer.encode("time time", {.max_length = 3, .truncation = Truncation::only_second}),
                    ErrorKind::config, "encode: truncation only_second needs a second text");
  EXPECT_TAPE_ERROR(tokenizer.encode_pair("time", "time time", {.max_length = 4, .truncation = Truncation::only_first}),
                    ErrorKind::config, "encode: must remove 2 tokens, but the first text has only 1 (max_length 4)");
}

TEST(ByteLevelBpe, KeepsEveryByte) {
  const auto tokenizer = load_fixture("gpt2");
  std::string all;
  for (int i = 0; i < 256; ++i) all.push_back(static_cast<char>(i));
  const std::vector<std::string> texts{
      all,         all + all, "\xED\xA0\x80 lone surrogate", "cut \xE2\x82", "\xF8\x88\x80\x80\x80", "a\r\nb\r\n",
      "\uFEFFbom", "",        std::string(3, '\0')};
  for (const std::string& text : texts) {
    const Encoding got = tokenizer->encode(text);
    EXPECT_EQ(tokenizer->decode(got.ids), text);
    uint32_t at = 0;
    for (const Range& range : got.offsets) {
      EXPECT_LE(range.begin, at);
      EXPECT_GE(range.end, at);
      at = range.end;
    }
    EXPECT_EQ(at, text.size());
  }
}

TEST(ByteLevelBpe, TakesLinearTimeForLongTexts) {
  const auto tokenizer = load_fixture("gpt2");
  const std::string text(2'000'000, 'e');  // one word: quadratic time would take hours
  EXPECT_EQ(tokenizer->decode(tokenizer->encode(text).ids), text);
}

TEST(ByteLevelBpe, EncodesFromSeveralThreads) {
  const auto tokenizer = load_fixture("gpt2");
  const auto texts = tokenizer_fixture().at("texts").get<std::vector<std::string>>();
  std::vector<std::thread> threads;
  std::vector<int> wrong(4);
  for (size_t t = 0; t < wrong.size(); ++t)
    threads.emplace_back([&, t] {
      for (int pass = 0; pass < 20; ++pass)
        for (size_t i = 0; i < texts.size(); ++i)
          wrong[t] +=
              tokenizer->encode(texts[i]).ids != ids_of(tokenizer_fixture().at("gpt2").at("single")[i].at("ids"));
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(wrong, ElementsAre(0, 0, 0, 0));
}

TEST(Gpt2Pattern, MatchesTheFirstAlternative) {
  const auto words = [](std::string_view text) {
    std::vector<std::string> out;
    for (; !text.empty(); text.remove_prefix(gpt2_word(text))) out.emplace_back(text.substr(0, gpt2_word(text)));
    return out;
  };
  EXPECT_THAT(words("we'll I'd 'sx ''s"), ElementsAre("we", "'ll", " I", "'d", " '", "sx", " ''", "s"));
  EXPECT_THAT(words("a  b   \n c"), ElementsAre("a", " ", " b", "   \n", " c"));
  EXPECT_THAT(words("x \t"), ElementsAre("x", " \t"));
  EXPECT_THAT(words("3.14abc"), ElementsAre("3", ".", "14", "abc"));
  EXPECT_THAT(words("\xC2\xA0x"), ElementsAre("\xC2\xA0", "x"));
  EXPECT_THAT(words("a\xFF\xFE b"), ElementsAre("a", "\xFF\xFE", " b"));
}

TEST(Utf8, SplitsInvalidSequencesLikePython) {
  EXPECT_EQ(replace_invalid_utf8("a\xE2\x82z"), "a\uFFFDz");
  EXPECT_EQ(replace_invalid_utf8("\xF0\x9F\x98"), "\uFFFD");
  EXPECT_EQ(replace_invalid_utf8("\xED\xA0\x80"), "\uFFFD\uFFFD\uFFFD");
  EXPECT_EQ(replace_invalid_utf8("\xC0\xAF\xF5"), "\uFFFD\uFFFD\uFFFD");
  EXPECT_EQ(replace_invalid_utf8("\xF4\x90\x80\x80"), "\uFFFD\uFFFD\uFFFD\uFFFD");
  EXPECT_EQ(replace_invalid_utf8("é€😀"), "é€😀");
}

TEST(Explain, ShowsEachStep) {
  EXPECT_THAT(small().explain("Time flys"),
              ElementsAre("text: Time flys", "normalized: time flys", "words: |time| |flys|", "  time -> time (5)",
                          "  flys -> fly (8) ##s (7)", "tokens: time (5) fly (8) ##s (7)"));
  const ByteLevelBpe bpe({"a", "b", "c", "ab", "abc", "<|endoftext|>"}, {{"a", "b"}, {"ab", "c"}});
  EXPECT_THAT(bpe.explain("abcab<|endoftext|>"),
              ElementsAre("text: abcab<|endoftext|>", "words: |abcab|", "  a b c a b", "    merge 0: a + b",
                          "  ab c a b", "    merge 0: a + b", "  ab c ab", "    merge 1: ab + c", "  abc ab",
                          "added token <|endoftext|> (5)", "tokens: abc (4) ab (3) <|endoftext|> (5)"));
  const auto unigram = load_fixture("unigram")->explain("one two");
  ASSERT_GE(unigram.size(), 3u);
  EXPECT_THAT(unigram[1], testing::StartsWith("split 1, log probability -"));
  EXPECT_THAT(unigram.back(), testing::StartsWith("tokens: "));
}

/// The ids of a word.
std::vector<int64_t> ids_of_word(const WordModel& model, const std::string& word) {
  std::vector<Piece> pieces;
  const std::vector<Range> words{{0, static_cast<uint32_t>(word.size())}};
  model.split(word, words, pieces);
  std::vector<int64_t> ids;
  for (const Piece& piece : pieces) ids.push_back(piece.id);
  return ids;
}

TEST(UnigramModel, RanksUnknownBelowEveryToken) {
  const TokenTable vocabulary(TokenTable::numbered({"<unk>", "a", "b", "bx"}), {}, "here");
  const auto model = unigram_model(vocabulary, {0, -1, -20, -40}, {.unk_id = 0}, "here");
  EXPECT_EQ(ids_of_word(*model, "bx"), (std::vector<int64_t>{3}));
  EXPECT_EQ(ids_of_word(*model, "bya"), (std::vector<int64_t>{2, 0, 1}));
}

TEST(BpeModel, AcceptsTheFirstTokenAsTheUnknownToken) {
  const TokenTable vocabulary(TokenTable::numbered({"<unk>", "a", "b", "ab"}), {}, "here");
  const auto ids = [&](bool fuse_unk) {
    const BpeModelOptions options{.bytes = false, .unk_token = "<unk>", .fuse_unk = fuse_unk};
    return ids_of_word(*bpe_model(vocabulary, {{"a", "b"}}, options, "here"), "abxyax");
  };
  EXPECT_EQ(ids(true), (std::vector<int64_t>{3, 0, 1, 0}));
  EXPECT_EQ(ids(false), (std::vector<int64_t>{3, 0, 0, 1, 0}));
}

TEST(ByteFallbackDecoder, ConvertsEveryByte) {
  std::vector<std::string> tokens{"<0x00>", "<0x0A>", "<0xGG>", "<0xFF>", "a"};
  byte_fallback_decoder()(tokens);
  EXPECT_EQ(tokens, (std::vector<std::string>{std::string("\0\n", 2), "<0xGG>", "\uFFFD", "a"}));
}

TEST(ByteOfToken, IsDefinedOnlyForByteTokens) {
  EXPECT_EQ(byte_of_token("<0x00>"), 0);
  EXPECT_EQ(byte_of_token("<0x4a>"), 0x4A);
  EXPECT_EQ(byte_of_token("<0xF9>"), 0xF9);
  for (const char* token :
       {"", "<0x4A", "<0x4A>>", "<0x4A)", "<1x4A>", "[0x4A>", "<0x4G>", "<0x@9>", "<0x/9>", "<0x9:>"})
    EXPECT_EQ(byte_of_token(token), -1) << token;
}

TEST(CharClass, ContainsTheBlocksOfIdeographs) {
  // First and last code point of each block in the tokenizers package.
  const std::pair<char32_t, char32_t> blocks[] = {{0x3400, 0x4DBF},   {0x4E00, 0x9FFF},   {0xF900, 0xFAFF},
                                                  {0x20000, 0x2A6DF}, {0x2A700, 0x2B81F}, {0x2B920, 0x2CEAF},
                                                  {0x2F800, 0x2FA1F}};
  const auto is_ideograph = [](char32_t point) { return (char_class(point) & kIdeograph) != 0; };
  for (const auto& [first, last] : blocks) {
    EXPECT_TRUE(is_ideograph(first) && is_ideograph(last)) << static_cast<uint32_t>(first);
    EXPECT_FALSE(is_ideograph(first - 1) || is_ideograph(last + 1)) << static_cast<uint32_t>(first);
  }
}

TEST(StripNormalizer, RemovesWhiteSpaceOnlyAtTheEnds) {
  const auto stripped = [](const std::string& text, bool left, bool right) {
    Normalized normalized(text);
    strip_normalizer(left, right)(normalized);
    return normalized.text;
  };
  EXPECT_EQ(stripped("a b", true, true), "a b");
  EXPECT_EQ(stripped(" \t　a b\n ", true, true), "a b");
  EXPECT_EQ(stripped(" é ", true, false), "é ");
  EXPECT_EQ(stripped(" é ", false, true), " é");
  EXPECT_EQ(stripped(" a ", false, false), " a ");
  EXPECT_EQ(stripped(" \n", true, true), "");
  EXPECT_EQ(stripped("", true, true), "");
}

TEST(NormalizerSequence, RefusesTooManySteps) {
  const auto sequence_of = [](size_t steps) {
    std::vector<Normalizer> all;
    for (size_t i = 0; i < steps; ++i) all.push_back(prepend_normalizer("a"));
    return normalizer_sequence(std::move(all));
  };
  Normalized text("b");
  sequence_of(100)(text);
  EXPECT_EQ(text.text, std::string(100, 'a') + "b");
  EXPECT_TAPE_ERROR(sequence_of(101), ErrorKind::config,
                    "normalizer: a sequence has 101 steps, at most 100 are supported");
}

TEST(NormalizerSequence, RefusesATextThatGrowsWithoutBound) {
  std::vector<Normalizer> doubling;
  for (int i = 0; i < 60; ++i) doubling.push_back(replace_normalizer(literal_pattern("a"), "aa"));
  Normalized text("a");
  EXPECT_TAPE_ERROR(normalizer_sequence(std::move(doubling))(text), ErrorKind::config,
                    "normalizer: makes more than 1048576 bytes of 1");
  Normalized many(std::string(1000, 'a'));
  EXPECT_TAPE_ERROR(replace_normalizer(literal_pattern("a"), std::string(10'000, 'b'))(many), ErrorKind::config,
                    "normalizer: makes more than 1048576 bytes of 1000");
}

TEST(AddedTokens, StripWhiteSpaceOnTheGivenSides) {
  const auto parts = [](bool lstrip, bool rstrip) {
    AddedTokens tokens;
    tokens.add({.content = "<m>", .id = 7, .lstrip = lstrip, .rstrip = rstrip}, "<m>");
    std::vector<AddedTokens::Part> found;
    const std::string text = "a  <m>  b <m> ";
    tokens.split(text, found);
    std::string shown;
    for (const AddedTokens::Part& part : found) {
      const std::string piece = text.substr(part.range.begin, part.range.end - part.range.begin);
      shown += part.id == 7 ? fmt::format("[{}]", piece) : piece;
    }
    return shown;
  };
  EXPECT_EQ(parts(false, false), "a  [<m>]  b [<m>] ");
  EXPECT_EQ(parts(true, false), "a[  <m>]  b[ <m>] ");
  EXPECT_EQ(parts(false, true), "a  [<m>  ]b [<m> ]");
  EXPECT_EQ(parts(true, true), "a[  <m>  ]b[ <m> ]");
}

}  // namespace
}  // namespace tape::text
