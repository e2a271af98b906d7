#include "text/corpus/token_file.h"

#include <cstring>

#include "tests/fuzz/target.h"

namespace tape::fuzz {

/// A vocabulary size in three bytes, then a file of its tokens.
void fuzz_token_file(Bytes bytes) {
  if (bytes.size() < 3) return;
  int64_t vocab = 0;
  std::memcpy(&vocab, bytes.data(), 3);
  const std::string path = put_file(empty_folder() + "/ids.bin", text_of(bytes.subspan(3)));
  accepted([&] {
    const text::TokenFile file(path, vocab);
    expect(file.size() * text::token_bytes(vocab) == std::ssize(bytes) - 3, "{} tokens in {} bytes", file.size(),
           bytes.size() - 3);
    file.check();
    const std::vector<int64_t> ids = file.read(0, file.size());
    for (const int64_t id : ids) expect(id >= 0 && id < vocab, "id {} is accepted with a vocabulary of {}", id, vocab);
    const std::string again = empty_folder() + "/again.bin";
    text::write_token_file(again, vocab, [&](const text::TokenWriter& write) { write(ids); });
    expect(text::TokenFile(again, vocab).read(0, std::ssize(ids)) == ids, "the written ids differ");
  });
}

}  // namespace tape::fuzz
