#include "models/gguf/gguf.h"

#include "tests/fuzz/target.h"
#include "tests/fuzz/targets/same_tensors.h"

namespace tape::fuzz {

/// A whole file: its metadata and values round-trip through a written file.
void fuzz_gguf(Bytes bytes) {
  const std::string folder = empty_folder();
  const std::string given = put_file(folder + "/given.gguf", text_of(bytes));
  const auto read = accepted([&] { return load_gguf(given); });
  if (!read) return;
  GgufMetadata metadata;
  for (const auto& [key, value] : read->metadata)
    if (key != "general.alignment") metadata.emplace_back(key, value);
  std::vector<GgufTensor> tensors;
  for (const auto& [name, values] : read->tensors) tensors.push_back({name, values});
  save_gguf(folder + "/written.gguf", metadata, tensors);
  const GgufFile again = load_gguf(folder + "/written.gguf");
  expect_same_tensors(again.tensors, read->tensors);
  expect(again.metadata.size() == metadata.size(), "a metadata entry is lost");
}

}  // namespace tape::fuzz
