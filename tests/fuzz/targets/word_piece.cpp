#include "tests/fuzz/targets/tokenizer_invariants.h"

namespace tape::fuzz {

/// vocab.txt, tokenizer_config.json, special_tokens_map.json, added_tokens.json, a text.
void fuzz_word_piece(Bytes bytes) {
  fuzz_tokenizer_files(bytes, {{"vocab.txt", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json"}});
}

}  // namespace tape::fuzz
