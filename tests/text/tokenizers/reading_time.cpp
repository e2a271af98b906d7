// Readers, encoders and trainers take O(n log n) time for any input.
#include <functional>

#include <fmt/format.h>

#include "tests/support/growth.h"
#include "tests/text/tokenizers/tokenizer_fixture.h"
#include "text/corpus/corpus.h"
#include "text/tokenizers/byte_level_bpe.h"
#include "text/tokenizers/train_byte_level_bpe.h"

namespace tape::text {
namespace {

/// Letters with a very long period.
std::string letters(size_t count, uint32_t kinds) {
  std::string out;
  uint64_t state = 1;
  for (size_t i = 0; i < count; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    out.push_back(static_cast<char>('a' + (state >> 33) % kinds));
  }
  return out;
}

std::string repeated(const std::string& text, size_t bytes) {
  std::string out;
  while (out.size() < bytes) out += text;
  return out;
}

TEST(ReadingTime, IsAlmostLinearInTheLengthOfAWordForTraining) {
  for (const uint32_t kinds : {1u, 4u})
    expect_almost_linear(30'000, [kinds](size_t size) {
      const std::vector<std::string> lines{letters(size, kinds)};
      train_byte_level_bpe(lines, {.vocab_size = 400});
    });
}

TEST(ReadingTime, IsAlmostLinearInTheLengthOfAWordForEncoding) {
  const std::vector<std::string> lines{letters(20'000, 4)};
  const auto tokenizer = train_byte_level_bpe(lines, {.vocab_size = 600});
  expect_almost_linear(30'000, [&](size_t size) { tokenizer->encode(letters(size, 4)); });
}

TEST(ReadingTime, IsAlmostLinearInTheTextForEveryTokenizer) {
  for (const char* name :
       {"bert", "bert_json", "gpt2", "roberta_json", "unigram", "spm_bpe", "unigram_json", "spm_bpe_json", "marian",
        "xlm_roberta", "m2m100", "families/llama3", "families/gpt4o", "families/deepseek", "families/falcon",
        "families/clip", "families/albert", "families/gemma"}) {
    const auto tokenizer = load_fixture(name);
    for (const char* text :
         {"a", " ", "\u0301", "a\u0301\u0316", "<mask>", "[SEP] ", "</s>", ">><<", "'", "\xFF", "日"}) {
      SCOPED_TRACE(fmt::format("{}: {}", name, text));
      expect_almost_linear(2000, [&](size_t size) {
        const std::vector<int64_t> ids = tokenizer->encode(repeated(text, size)).ids;
        tokenizer->decode(ids);
      });
    }
  }
}

TEST(ReadingTime, IsAlmostLinearInARunOfUnknownCharactersForSentencePiece) {
  for (const char* name : {"unigram", "spm_bpe", "marian", "xlm_roberta", "m2m100"}) {
    const auto tokenizer = load_fixture(name);
    for (const char* text : {"\xFF", "த"}) {
      SCOPED_TRACE(fmt::format("{}: {}", name, text));
      expect_almost_linear(20'000, [&](size_t size) { tokenizer->encode(repeated(text, size)); });
    }
  }
}

class ReadingTimeOfFiles : public TokenizerFolder {
 protected:
  /// Writes `content(size)` to a file and loads the tokenizer of the folder.
  void expect_loads(const std::string& file, size_t size, const std::function<std::string(size_t)>& content) const {
    expect_almost_linear(size, [&](size_t count) {
      write(file, content(count));
      load_tokenizer(folder_.path());
    });
  }
};

TEST_F(ReadingTimeOfFiles, IsAlmostLinearInAddedTokens) {
  write("vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n");
  expect_loads("tokenizer_config.json", 1500, [](size_t count) {
    Json added = Json::object();
    for (size_t i = 0; i < count; ++i) added[fmt::format("{}", 5 + i)] = {{"content", fmt::format("<{}>", i)}};
    return Json{{"added_tokens_decoder", added}}.dump();
  });
  write("tokenizer_config.json", "{}");
  expect_loads("tokenizer_config.json", 1500, [](size_t count) {
    Json names = Json::array();
    for (size_t i = 0; i < count; ++i) names.push_back(fmt::format("<{}>", i));
    return Json{{"additional_special_tokens", names}}.dump();
  });
}

TEST_F(ReadingTimeOfFiles, IsAlmostLinearInTheVocabulary) {
  expect_loads("vocab.txt", 5000, [](size_t count) {
    std::string out = "[UNK]\n";
    for (size_t i = 0; i < count; ++i) out += fmt::format("{}\n", i);
    return out;
  });
}

TEST_F(ReadingTimeOfFiles, IsAlmostLinearInTheLinesOfACorpus) {
  expect_almost_linear(20'000, [&](size_t lines) {
    write("corpus", repeated("a\r\n", 3 * lines));
    read_lines(path("corpus"));
  });
}

}  // namespace
}  // namespace tape::text
