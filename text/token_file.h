#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "../base/file.h"

namespace tape::text {

/// Bytes of a token in a file: 2, or 4 where the vocabulary has more than 65,536 tokens.
int64_t token_bytes(int64_t vocab_size);

/// A file of token ids and nothing else, one behind the other, little-endian: uint16 as nanoGPT writes them, or uint32
/// where the vocabulary needs it. What is asked for is read when it is asked for, so that the file may be larger than
/// memory and than the address space.
class TokenFile {
 public:
  /// Error (io) for a file that cannot be read, (format) for one that ends within a token.
  TokenFile(const std::string& file, int64_t vocab_size);

  const std::string& file() const { return file_.path(); }
  int64_t size() const { return size_; }
  /// Tokens [first, first + count), which must be there. Reads from several threads at once.
  std::vector<int64_t> read(int64_t first, int64_t count) const;
  /// Reads all of it. Error (format) naming the first token that is not in the vocabulary, and where it stands.
  void check() const;

 private:
  InputFile file_;
  int64_t vocab_size_, width_, size_;
};

/// Takes ids, which must be in the vocabulary.
using TokenWriter = std::function<void(std::span<const int64_t> ids)>;
/// Replaces a token file by the ids that `give` writes, as write_file() does.
void write_token_file(const std::string& file, int64_t vocab_size,
                      const std::function<void(const TokenWriter& write)>& give);

}  // namespace tape::text
