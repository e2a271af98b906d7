#include "tests/fuzz/targets/tokenizer_invariants.h"

namespace tape::fuzz {

/// vocab.json, merges.txt, tokenizer_config.json, a text.
void fuzz_byte_level_bpe(Bytes bytes) {
  fuzz_tokenizer_files(bytes, {{"vocab.json", "merges.txt", "tokenizer_config.json"}});
}

}  // namespace tape::fuzz
