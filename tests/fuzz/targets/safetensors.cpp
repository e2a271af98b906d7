#include "autograd/io/safetensors.h"

#include "tests/fuzz/target.h"
#include "tests/fuzz/targets/same_tensors.h"

namespace tape::fuzz {

/// A whole file: its content round-trips through a written file.
void fuzz_safetensors(Bytes bytes) {
  const std::string folder = empty_folder();
  const std::string given = put_file(folder + "/given.safetensors", text_of(bytes));
  const auto read = accepted([&] { return load_safetensors(given); });
  if (!read) return;
  const std::string written = folder + "/written.safetensors";
  save_safetensors(written, read->tensors, read->metadata);
  const SafetensorsFile again = load_safetensors(written);
  expect(again.metadata == read->metadata, "the metadata differs when read again");
  expect_same_tensors(again.tensors, read->tensors);
}

}  // namespace tape::fuzz
