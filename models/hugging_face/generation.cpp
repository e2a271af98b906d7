#include "models/hugging_face/generation.h"

#include <filesystem>

#include "base/file.h"
#include "models/config_reader.h"

namespace tape::models::hugging_face {

std::optional<TargetIds> read_target_ids(const std::string& folder) {
  const std::string file = fmt::format("{}/{}", folder, kGenerationConfig);
  if (!std::filesystem::exists(file)) return std::nullopt;
  const ConfigReader config(read_text(file), file);
  const auto id = [&](const char* key) { return config.has(key) ? std::optional(config.whole(key)) : std::nullopt; };
  return TargetIds{.decoder_start = id("decoder_start_token_id"), .forced_bos = id("forced_bos_token_id")};
}

void write_target_start(nlohmann::ordered_json& config, const TargetStart& start) {
  config["decoder_start_token_id"] = start.bos;
  if (start.forced_bos) config["forced_bos_token_id"] = *start.forced_bos;
}

std::string generation_config_json(const EncoderDecoderOptions& o, const TargetStart& start) {
  nlohmann::ordered_json json{{"eos_token_id", o.eos_id}, {"pad_token_id", o.padding_id}};
  write_target_start(json, start);
  return fmt::format("{}\n", json.dump(2));
}

}  // namespace tape::models::hugging_face
