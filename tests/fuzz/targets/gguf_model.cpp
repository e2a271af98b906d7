#include "models/gguf/import.h"

#include "tests/fuzz/target.h"
#include "tests/fuzz/targets/same_tensors.h"
#include "text/tokenizers/load_tokenizer.h"

namespace tape::fuzz {

/// A whole file converted to a folder, which has the file's model and a working tokenizer.
void fuzz_gguf_model(Bytes bytes) {
  const std::string folder = empty_folder();
  const std::string given = put_file(folder + "/given.gguf", text_of(bytes));
  const std::string made = folder + "/made";
  if (!accepted([&] { models::import_gguf(given, made); })) return;
  const models::AnyModel read = models::load_gguf_model(given), again = models::load_model(made);
  expect_same_tensors(models::module_of(again).state_dict(), models::module_of(read).state_dict());
  const auto tokenizer = text::load_tokenizer(made);
  for (const int64_t id : tokenizer->encode("ab a \xC3\xA4\n<s>").ids)
    expect(id >= 0 && id < tokenizer->vocab_size(), "id {} is not in a vocabulary of {}", id, tokenizer->vocab_size());
}

}  // namespace tape::fuzz
