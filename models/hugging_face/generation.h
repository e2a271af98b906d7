#pragma once

#include <nlohmann/json_fwd.hpp>

#include "../config_reader.h"
#include "../decoding/target_start.h"

/// generation_config.json, where transformers since 4.26 keeps what its generate() does.
namespace tape::models::hugging_face {

/// What it says of a target's first tokens.
struct TargetIds {
  std::optional<int64_t> decoder_start = {};
  std::optional<int64_t> forced_bos = {};
};

/// Nothing where the folder has no such file. Errors as of ConfigReader.
std::optional<ConfigReader> open_generation_config(const std::string& folder);
TargetIds read_target_ids(const ConfigReader& file);

/// Gives a configuration that was read what the file says besides: how targets begin where config.json does not, and
/// what they say first whatever config.json does, as transformers does.
template <class Config>
Config with_target_ids(Config c, const std::optional<ConfigReader>& file, bool start_is_known) {
  if (file) {
    const TargetIds ids = read_target_ids(*file);
    c.forced_bos = ids.forced_bos;
    if (!start_is_known) c.bos_id = ids.decoder_start.value_or(c.bos_id);
  }
  return c;
}

/// How its model is to be searched, from that file, or from a config.json. Error (config) for a value that means
/// nothing.
SearchDefaults read_search_defaults(const ConfigReader& file, const EncoderDecoderOptions& options);

/// The file's text for a model.
std::string generation_config_json(const EncoderDecoder& model, const TargetStart& start);

/// Writes the same of targets into config.json, where older releases look for it.
void write_target_start(nlohmann::ordered_json& config, const TargetStart& start);

inline constexpr const char* kGenerationConfig = "generation_config.json";

}  // namespace tape::models::hugging_face
