// What takes a model away from a folder.

#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include "models/folder.h"
#include "models/weights.h"

namespace tape::models {

void remove_model(const std::string& folder) {
  remove_weights(folder);
  // Folders after what lies in them.
  for (const char* name : {"config.json", "generation_config.json", "adapter_config.json", "adapter_model.safetensors",
                           "modules.json", "sentence_bert_config.json", "config_sentence_transformers.json",
                           "1_Pooling/config.json", "1_Pooling", "2_Normalize"}) {
    const std::string path = fmt::format("{}/{}", folder, name);
    std::error_code failed;
    std::filesystem::remove(path, failed);
    if (failed && failed != std::errc::directory_not_empty)  // a user's file: what we wrote there is gone
      raise(ErrorKind::io, "{}: cannot remove: {}", path, failed.message());
  }
}

}  // namespace tape::models
