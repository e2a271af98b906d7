#include "train/data/token_store.h"

#include <algorithm>

#include <fmt/format.h>

#include <gtest/gtest.h>

#include "base/number_text.h"
#include "tests/support/files.h"
#include "tests/support/fixtures.h"
#include "tests/support/temporary_folder.h"
#include "text/corpus/number_words.h"
#include "text/corpus/token_file.h"
#include "text/tokenizers/load_tokenizer.h"
#include "text/tokenizers/sentence_piece.h"

namespace tape::train {
namespace {

/// A text of several pieces, with line ends between sentences or without any spaces.
std::string text_of_megabytes(bool lines) {
  std::string text;
  for (int64_t i = 0; text.size() < 5 << 19; ++i)
    text += text::english_number(i * i % 977) + (!lines ? "\u4e2d" : i % 9 == 0 ? ".\n" : " ");
  return text;
}

/// A space that a tokenizer prepends to each text is prepended to the whole text only, not to its pieces. (Hugging
/// Face's unigram is tested with shorter texts: it sums log probabilities in f32, which loses precision over
/// megabytes.)
TEST(TokenizedText, HasTheIdsOfTheTextEncodedAsAWhole) {
  const TemporaryFolder folder;
  std::vector<std::unique_ptr<text::Tokenizer>> tokenizers;
  tokenizers.push_back(std::make_unique<text::SentencePiece>(fixture_path("tokenizers/spm_bpe/tokenizer.model")));
  for (const char* name : {"llama2", "mistral", "deberta_v3"})
    tokenizers.push_back(text::load_tokenizer(fixture_path(fmt::format("tokenizers/families/{}", name))));
  for (const bool lines : {true, false}) {
    const std::string text = text_of_megabytes(lines);
    write_text(folder / "text.txt", text);
    for (const auto& tokenizer : tokenizers) {
      std::vector<std::string> notes;
      tokenize_to_file({.file = folder / "text.txt"}, *tokenizer, folder / "ids", notes);
      const text::TokenFile ids(folder / "ids", tokenizer->vocab_size());
      const std::vector<int64_t> whole = tokenizer->encode(text, {.add_special_tokens = false}).ids;
      ASSERT_EQ(ids.size(), std::ssize(whole));
      EXPECT_EQ(ids.read(0, ids.size()), whole);
    }
  }
}

/// Unknown tokens where pieces overlap are counted once, too.
TEST(TokenizedText, CountsUnknownTokensOnce) {
  const TemporaryFolder folder;
  const auto tokenizer = text::load_tokenizer(fixture_path("tokenizers/bert"));
  std::string text;
  while (text.size() < 3 << 20) text += "one two \u2603\n";
  write_text(folder / "text.txt", text);
  std::vector<std::string> notes;
  tokenize_to_file({.file = folder / "text.txt"}, *tokenizer, folder / "ids", notes);
  const text::TokenFile ids(folder / "ids", tokenizer->vocab_size());
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_EQ(ids.size(), 3 * std::ranges::count(text, '\n'));
  EXPECT_NE(notes[0].find(fmt::format("{} of {} tokens", grouped(ids.size() / 3), grouped(ids.size()))),
            std::string::npos)
      << notes[0];
}

}  // namespace
}  // namespace tape::train
