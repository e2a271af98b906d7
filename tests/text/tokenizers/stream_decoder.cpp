#include "text/tokenizers/stream_decoder.h"

#include <fmt/format.h>
#include "text/tokenizers/load_tokenizer.h"

#include "base/utf8.h"
#include "tests/support/errors.h"
#include "tests/support/fixtures.h"
#include "text/tokenizers/byte_level_bpe.h"

namespace tape::text {
namespace {

std::unique_ptr<Tokenizer> tokenizer(const char* name) {
  return load_tokenizer(fixture_path(fmt::format("tokenizers/{}", name)));
}

const char* const kTexts[] = {"one two three", "naïve café 漢字 🙂👩‍👩‍👧 end", "a  b\n\nc ", "…",
                              "🙂"};

TEST(StreamDecoder, ReturnsTheWholeTextInWholeCharacters) {
  for (const char* name : {"gpt2", "spm_bpe", "unigram", "spm_bpe_json", "roberta_json"}) {
    const auto t = tokenizer(name);
    for (const std::string text : kTexts) {
      const Encoding encoding = t->encode(text, {.add_special_tokens = false});
      StreamDecoder decoder(*t);
      std::string all;
      for (const int64_t id : encoding.ids) {
        const std::string part = decoder.push(id);
        EXPECT_TRUE(valid_utf8(part)) << name << ": " << text;
        all += part;
      }
      all += decoder.finish();
      EXPECT_EQ(all, t->decode(encoding.ids)) << name;
    }
  }
}

TEST(StreamDecoder, ReturnsWordsAsTheyArrive) {
  const auto t = tokenizer("gpt2");
  const Encoding encoding = t->encode("one two");
  StreamDecoder decoder(*t);
  std::string all;
  for (size_t i = 0; i < encoding.size(); ++i) {
    all += decoder.push(encoding.ids[i]);
    EXPECT_EQ(all, t->decode(std::span(encoding.ids).first(i + 1)));
  }
}

TEST(StreamDecoder, JoinsToThePrecedingTokens) {
  const auto t = tokenizer("unigram");
  const Encoding all = t->encode("one two three", {.add_special_tokens = false});
  const std::string whole = t->decode(all.ids);
  for (size_t split = 1; split < all.size(); ++split) {
    const std::vector<int64_t> before(all.ids.begin(), all.ids.begin() + static_cast<int64_t>(split));
    StreamDecoder decoder(*t, before);
    std::string rest;
    for (size_t i = split; i < all.size(); ++i) rest += decoder.push(all.ids[i]);
    EXPECT_EQ(fmt::format("{}{}", t->decode(before), rest + decoder.finish()), whole);
  }
}

TEST(StreamDecoder, KeepsSpacesThatAreTokens) {
  for (const char* name : {"spm_bpe", "unigram", "spm_bpe_json", "t5"}) {
    const auto t = tokenizer(name);
    const int64_t space = t->find("\u2581").value();
    int64_t word = 0;
    while (word == space || !t->token(word).starts_with("\u2581")) ++word;
    const std::vector<int64_t> ids{word, space, word, space, space, word, space, space};
    for (size_t split = 0; split < ids.size(); ++split) {
      const std::vector<int64_t> before(ids.begin(), ids.begin() + static_cast<int64_t>(split));
      StreamDecoder decoder(*t, before);
      std::string all = t->decode(before);
      for (size_t i = split; i < ids.size(); ++i) all += decoder.push(ids[i]);
      EXPECT_EQ(all + decoder.finish(), t->decode(ids)) << name << " after " << split;
    }
  }
}

TEST(StreamDecoder, ReplacesInvalidBytes) {
  const auto t = tokenizer("gpt2");
  // One token per byte: a lead byte alone, continuation bytes alone, then a whole character.
  const std::string bytes = "\xE6\xBCx\x80\x80\x80\x80\xF0\x9F\x99\x82\xE6";
  StreamDecoder decoder(*t);
  std::string all, last;
  for (const char byte : bytes) {
    const Encoding one = t->encode(std::string(1, byte), {.add_special_tokens = false});
    ASSERT_EQ(one.size(), 1u);
    last = decoder.push(one.ids[0]);
    EXPECT_TRUE(valid_utf8(last));
    all += last;
  }
  EXPECT_EQ(last, "") << "it might continue";
  EXPECT_EQ(all, "\uFFFDx\uFFFD\uFFFD\uFFFD\uFFFD🙂");
  EXPECT_EQ(decoder.finish(), "\uFFFD");
  EXPECT_EQ(decoder.finish(), "");
}

TEST(StreamDecoder, RefusesAnUnknownId) {
  const auto t = tokenizer("gpt2");
  StreamDecoder decoder(*t);
  EXPECT_TAPE_ERROR(decoder.push(-1), ErrorKind::index,
                    fmt::format("decode: id -1 at position 0 is not in 0..{}", t->vocab_size() - 1));
}

}  // namespace
}  // namespace tape::text
