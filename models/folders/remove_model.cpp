// Removes a saved model from a folder.

#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include <fmt/format.h>

#include "base/path.h"
#include "models/folders/folder.h"
#include "models/folders/weights.h"

namespace tape::models {

namespace {

/// Whether a folder is named like a module of a sentence encoder: "1_Pooling".
bool is_module_folder(const std::string& name) {
  const size_t digits = name.find_first_not_of("0123456789");
  if (digits == 0 || digits == std::string::npos || name[digits] != '_') return false;
  const std::string type = name.substr(digits + 1);
  return type == "Pooling" || type == "Dense" || type == "LayerNorm" || type == "Dropout" || type == "Normalize";
}

}  // namespace

void remove_model(const std::string& folder) {
  remove_weights(folder);
  std::vector<std::string> names{"config.json",
                                 "generation_config.json",
                                 "adapter_config.json",
                                 "adapter_model.safetensors",
                                 "modules.json",
                                 "sentence_bert_config.json",
                                 "config_sentence_transformers.json"};
  // A listed folder may also contain a user's files.
  if (path_exists(folder))
    for (const std::string& name : folder_entries(folder))
      if (is_module_folder(name) && is_folder(join_path(folder, name)))
        names.insert(names.end(), {name + "/config.json", name + "/model.safetensors", name});
  // Folders come after their contents.
  for (const std::string& name : names) {
    const std::string path = fmt::format("{}/{}", folder, name);
    std::error_code failed;
    std::filesystem::remove(path, failed);
    if (failed && failed != std::errc::directory_not_empty)  // our files are gone; the rest is the user's
      raise(ErrorKind::io, "{}: cannot remove: {}", path, failed.message());
  }
}

}  // namespace tape::models
