#include "train/data/tokenizer_checksum.h"

#include <fmt/format.h>

#include "base/file.h"
#include "base/path.h"
#include "base/temporary_file.h"
#include "text/hash.h"
#include "text/tokenizers/folder/config.h"
#include "text/tokenizers/load_tokenizer.h"

namespace tape::train {

namespace {

/// tokenizer_config.json without keys like the chat template.
std::string config_of_ids(const std::string& folder) {
  text::TokenizerConfig config = text::read_tokenizer_config(folder, {});
  config.other_keys.clear();
  return text::tokenizer_config_json(config);
}

}  // namespace

std::string tokenizer_checksum(const text::Tokenizer& tokenizer) {
  // Saved twice, since a file that a tokenizer came without is only there after the first time.
  const ScratchFolder first, folder;
  tokenizer.save(first.path());
  text::load_tokenizer(first.path())->save(folder.path());
  Hash hash;
  for (const std::string& name : folder_entries(folder.path())) {
    const std::string bytes =
        name == "tokenizer_config.json" ? config_of_ids(folder.path()) : read_text(join_path(folder.path(), name));
    for (const std::string& part : {name, fmt::format("{}", bytes.size()), bytes}) hash.add(part.data(), part.size());
  }
  return fmt::format("{:016x}", hash.value());
}

}  // namespace tape::train
