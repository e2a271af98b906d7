#include "tests/fuzz/targets/tokenizer_invariants.h"
#include "text/tokenizers/characters.h"
#include "text/tokenizers/train_byte_level_bpe.h"
#include "text/tokenizers/word_piece.h"

namespace tape::fuzz {
namespace {

const text::WordPiece& words() {
  static const text::WordPiece tokenizer(
      {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "##b", "the", "un", "##known", "é", "中", ".", "1", "##1"});
  return tokenizer;
}

}  // namespace

/// Any text through valid tokenizers: bytes round-trip if each has a token, and a tokenizer trained on the text
/// restores it.
void fuzz_text_encoding(Bytes bytes) {
  const std::string text(text_of(bytes));
  const auto back = [&](const text::Tokenizer& tokenizer) {
    return tokenizer.decode(tokenizer.encode(text).ids, false);
  };
  check_tokenizer_invariants(words(), text, "", false);
  if (text.empty()) return;
  const std::string lines[] = {text, text};
  const auto learned = text::train_byte_level_bpe(lines, {.vocab_size = 300});
  expect(back(*learned) == text, "the text does not round-trip through a tokenizer trained on it");
  check_tokenizer_invariants(*learned, text, "", false);
  const auto characters = text::character_tokenizer(text);
  expect(back(*characters) == text, "the text does not round-trip through a character tokenizer");
  check_tokenizer_invariants(*characters, text, "", false);
}

}  // namespace tape::fuzz
