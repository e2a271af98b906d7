#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "../../base/file.h"

namespace tape::text {

/// Bytes per token in a file: 2, or 4 for a vocabulary of more than 65,536 tokens.
int64_t token_bytes(int64_t vocab_size);

/// A raw file of little-endian token ids: uint16 as in nanoGPT, or uint32 for larger vocabularies. Tokens are read on
/// demand, so the file may be larger than memory and the address space.
class TokenFile {
 public:
  /// Throws Error (io) for a file that cannot be read, and Error (format) for one that ends inside a token.
  TokenFile(const std::string& file, int64_t vocab_size);

  const std::string& file() const { return file_.path(); }
  int64_t size() const { return size_; }
  /// Tokens [first, first + count), which must exist. Thread-safe.
  std::vector<int64_t> read(int64_t first, int64_t count) const;
  /// Checks the whole file. Throws Error (format) with the position of the first token outside the vocabulary.
  void check() const;

 private:
  InputFile file_;
  int64_t vocab_size_, width_, size_;
};

/// Receives ids, which must be in the vocabulary.
using TokenWriter = std::function<void(std::span<const int64_t> ids)>;
/// Replaces a token file with the ids that `give` writes, atomically like write_file().
void write_token_file(const std::string& file, int64_t vocab_size,
                      const std::function<void(const TokenWriter& write)>& give);

}  // namespace tape::text
