#include "text/vocabulary.h"

#include "base/file.h"
#include "tests/fuzz/target.h"

namespace tape::fuzz {

/// A vocabulary's file: each token is found at its line, and the file that is written is read as the same tokens.
void fuzz_vocabulary(Bytes bytes) {
  const std::string folder = empty_folder(), given = put_file(folder + "/given.txt", text_of(bytes));
  const auto read = unless_refused([&] { return text::Vocabulary::load(given); });
  if (!read) return;
  for (int64_t id = 0; id < read->size(); ++id)
    expect(read->id(read->token(id)) == id, "token {} is found at {}", id, read->id(read->token(id)));
  const std::string written = folder + "/written.txt", again = folder + "/again.txt";
  read->save(written);
  text::Vocabulary::load(written).save(again);
  expect(read_text(written) == read_text(again), "what was written reads as another vocabulary");
}

}  // namespace tape::fuzz
