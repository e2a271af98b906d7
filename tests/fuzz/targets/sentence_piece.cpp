#include "text/tokenizers/sentence_piece.h"

#include "tests/fuzz/targets/tokenizer_invariants.h"
#include "text/tokenizers/steps/sentence_piece_check.h"

namespace tape::fuzz {

/// A model file that is validated before the sentencepiece library sees it, and loaded if it passes.
void fuzz_sentence_piece(Bytes bytes) {
  const std::string file(text_of(bytes));
  const auto table = accepted([&] { return text::read_sentence_piece(file, "model"); });
  if (!table) return;
  const auto model = accepted([&] { return text::SentencePiece::from_bytes(file, "model"); });
  if (!model) return;
  expect((*model)->vocab_size() == std::ssize(table->pieces), "{} pieces became {}", table->pieces.size(),
         (*model)->vocab_size());
  check_tokenizer_invariants(**model, "Unknown wörds, 12 of them: \xff\xc3.", "", false);
}

}  // namespace tape::fuzz
