#include "tests/fuzz/targets/tokenizer_invariants.h"

namespace tape::fuzz {

/// tokenizer.json, tokenizer_config.json, a text.
void fuzz_tokenizer_json(Bytes bytes) { fuzz_tokenizer_files(bytes, {{"tokenizer.json", "tokenizer_config.json"}}); }

}  // namespace tape::fuzz
