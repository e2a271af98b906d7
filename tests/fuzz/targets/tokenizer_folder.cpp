#include <array>

#include "tests/fuzz/targets/tokenizer_invariants.h"

namespace tape::fuzz {

/// Tokenizer folders of several files: a byte selects the kind, then the files, then a text.
void fuzz_tokenizer_folder(Bytes bytes) {
  constexpr std::array marian{"source.spm", "target.spm", "vocab.json", "tokenizer_config.json"};
  constexpr std::array fairseq{"sentencepiece.bpe.model", "vocab.json", "tokenizer_config.json",
                               "special_tokens_map.json"};
  constexpr std::array plain{"spiece.model", "tokenizer_config.json"};
  if (bytes.empty()) return;
  const Bytes files = bytes.subspan(1);
  switch (std::to_integer<char>(bytes[0])) {
    case 'm':
      return fuzz_tokenizer_files(files, marian);
    case 'f':
      return fuzz_tokenizer_files(files, fairseq);
    case 's':
      return fuzz_tokenizer_files(files, plain, false);
    default:
      return;
  }
}

}  // namespace tape::fuzz
