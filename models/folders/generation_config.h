#pragma once

#include <algorithm>

#include <nlohmann/json_fwd.hpp>

#include "../decoders/causal_lm.h"
#include "../decoding/target_start.h"
#include "config_reader.h"
#include "family.h"

/// generation_config.json, where transformers since 4.26 stores the defaults of generate().
namespace tape::models::hugging_face {

/// Its values for a target's first and last tokens.
struct TargetIds {
  std::optional<int64_t> decoder_start = {};
  std::optional<int64_t> forced_bos = {};
  std::vector<int64_t> ends = {};
};

/// nullopt if the folder has no such file. Throws the errors of ConfigReader.
std::optional<ConfigReader> open_generation_config(const std::string& folder);
TargetIds read_target_ids(const ConfigReader& file);

/// Completes a configuration from the file, as transformers does: how targets begin if config.json does not set it, and
/// the forced first token and the end in any case. If there are several end tokens, config.json's is used if it is
/// among them.
template <class Config>
Config with_target_ids(Config c, const std::optional<ConfigReader>& file, bool start_is_known) {
  if (file) {
    const TargetIds ids = read_target_ids(*file);
    c.forced_bos = ids.forced_bos;
    if (!ids.ends.empty() && std::ranges::find(ids.ends, c.eos_id) == ids.ends.end()) c.eos_id = ids.ends.front();
    if (!start_is_known) c.bos_id = ids.decoder_start.value_or(c.bos_id);
  }
  return c;
}

/// Search defaults of a model from that file or from a config.json. Throws Error (config) for an invalid value.
SearchDefaults read_search_defaults(const ConfigReader& file, const EncoderDecoderOptions& options);

/// Gives a decoder-only model's configuration the end tokens of the file, all or none, as transformers does, and its
/// start token if it has one.
template <class Config>
Config with_end_tokens(Config c, const std::optional<ConfigReader>& file) {
  if (!file) return c;
  c.eos_ids = file->has("eos_token_id") ? file->integers("eos_token_id") : std::vector<int64_t>();
  if (file->has("bos_token_id")) c.bos_id = file->whole("bos_token_id");
  return c;
}

/// Defaults of a decoder-only model from generation_config.json or config.json: no_repeat_ngram_size and
/// min_new_tokens. The caller chooses the sampling options; keys for them, and others that affect the text, are
/// reported as not followed. Throws Error (config) for an invalid value.
SearchDefaults read_generation_defaults(const ConfigReader& file);

/// Sets a loaded model's search defaults from generation_config.json if present, or else config.json. `forced_eos` is
/// the default if neither sets it.
void read_search(CausalLM& model, const std::optional<ConfigReader>& file, const ConfigReader& config, bool forced_eos);
void read_search(EncoderDecoder& model, const std::optional<ConfigReader>& file, const ConfigReader& config,
                 bool forced_eos);

/// A model's generation_config.json and config.json, where older versions look for how targets begin.
FolderTextFiles texts_of(nlohmann::ordered_json config, const CausalLM& model, const SaveOptions& options);
FolderTextFiles texts_of(nlohmann::ordered_json config, const EncoderDecoder& model, const SaveOptions& options);

}  // namespace tape::models::hugging_face
