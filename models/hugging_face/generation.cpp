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

std::string generation_config_json(const EncoderDecoderOptions& o) {
  nlohmann::ordered_json json{
      {"decoder_start_token_id", o.bos_id}, {"eos_token_id", o.eos_id}, {"pad_token_id", o.padding_id}};
  if (o.forced_bos) json["forced_bos_token_id"] = *o.forced_bos;
  return fmt::format("{}\n", json.dump(2));
}

}  // namespace tape::models::hugging_face
