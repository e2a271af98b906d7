#include "text/tokenizers/steps/sentence_piece_model.h"

#include <random>

#include <fmt/format.h>

#include <gtest/gtest.h>

#include "base/file.h"
#include "tests/support/fixtures.h"

namespace tape::text {
namespace {

using Splits = std::vector<std::tuple<uint32_t, std::string, uint32_t, uint32_t>>;

Splits split_by_library(const SentencePieceModel& model, std::string_view text) {
  Splits found;
  const auto pieces = model.processor().EncodeAsImmutableProto(text);
  for (const auto& piece : pieces.pieces()) found.emplace_back(piece.id(), piece.piece(), piece.begin(), piece.end());
  return found;
}

Splits split_by_model(const SentencePieceModel& model, std::string_view text) {
  std::vector<std::pair<uint32_t, std::string>> named;
  std::vector<Piece> pieces;
  model.split(text, pieces, [&](uint32_t id, const std::string& piece) {
    named.emplace_back(id, piece);
    return id;
  });
  Splits found;
  for (size_t i = 0; i < pieces.size(); ++i)
    found.emplace_back(named[i].first, named[i].second, pieces[i].begin, pieces[i].end);
  return found;
}

/// Runs of words, spaces, unknown characters, combining characters and invalid bytes.
std::string mixed_text(size_t size, std::mt19937& draw) {
  const std::vector<std::string> parts{"the house ", "ein Haus", " ",        "  ",   "\t",     "1,234", "漢",
                                       "字",         "🙂",       "த",        "ழ்",    "\u0301", "é",     "ﬁ",
                                       "①",          "\xFF",     "\xE6\xBC", "\x80", "<0x41>", "▁"};
  std::string text;
  while (text.size() < size) {
    const std::string& part = parts[draw() % parts.size()];
    for (size_t run = draw() % 4 ? 1 : 1 + draw() % 300; run > 0; --run) text += part;
  }
  return text;
}

TEST(SentencePieceModel, SplitsLongRunsLikeTheLibrary) {
  std::mt19937 draw(1);
  for (const char* name : {"unigram/spiece.model", "spm_bpe/tokenizer.model", "marian/source.spm", "t5/spiece.model",
                           "xlm_roberta/sentencepiece.bpe.model", "m2m100/sentencepiece.bpe.model"}) {
    const SentencePieceModel model(read_text(fixture_path(fmt::format("tokenizers/{}", name))), name);
    for (const size_t size : {0U, 100U, 600U, 5'000U, 20'000U})
      for (int text_number = 0; text_number < 5; ++text_number) {
        SCOPED_TRACE(fmt::format("{}, text {} of some {} bytes", name, text_number, size));
        const std::string text = mixed_text(size, draw);
        ASSERT_EQ(split_by_model(model, text), split_by_library(model, text));
      }
  }
}

}  // namespace
}  // namespace tape::text
