#pragma once

#include <algorithm>

#include <nlohmann/json_fwd.hpp>

#include "../decoders/causal_lm.h"
#include "../decoding/target_start.h"
#include "config_reader.h"
#include "family.h"

/// generation_config.json, where transformers since 4.26 keeps what its generate() does.
namespace tape::models::hugging_face {

/// What it says of a target's first tokens and its last.
struct TargetIds {
  std::optional<int64_t> decoder_start = {};
  std::optional<int64_t> forced_bos = {};
  std::vector<int64_t> ends = {};
};

/// Nothing where the folder has no such file. Errors as of ConfigReader.
std::optional<ConfigReader> open_generation_config(const std::string& folder);
TargetIds read_target_ids(const ConfigReader& file);

/// Gives a configuration that was read what the file says besides: how targets begin where config.json does not, and
/// what they say first and how they end whatever config.json does, as transformers does. Of several ends one is taken,
/// config.json's where it is among them.
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

/// How its model is to be searched, from that file, or from a config.json. Error (config) for a value that means
/// nothing.
SearchDefaults read_search_defaults(const ConfigReader& file, const EncoderDecoderOptions& options);

/// Gives a configuration of a decoder-only model the ends of the file, all of them or none, as transformers does, and
/// its beginning where it has one.
template <class Config>
Config with_ends(Config c, const std::optional<ConfigReader>& file) {
  if (!file) return c;
  c.eos_ids = file->has("eos_token_id") ? file->integer_ops("eos_token_id") : std::vector<int64_t>();
  if (file->has("bos_token_id")) c.bos_id = file->whole("bos_token_id");
  return c;
}

/// What of generation_config.json, or of config.json, holds for a decoder-only model where its caller does not say
/// otherwise: no_repeat_ngram_size and min_new_tokens. How tokens are drawn is the caller's; keys of it, and others
/// that change the text, are among those not followed. Error (config) for a value that means nothing.
SearchDefaults read_generation_defaults(const ConfigReader& file);

/// Gives a model that was read how its folder wants it searched, by generation_config.json where there is one, else by
/// config.json. `forced_eos`: whether a target that is too long is ended where neither says anything.
void read_search(CausalLM& model, const std::optional<ConfigReader>& file, const ConfigReader& config, bool forced_eos);
void read_search(EncoderDecoder& model, const std::optional<ConfigReader>& file, const ConfigReader& config,
                 bool forced_eos);

/// generation_config.json of a model, and its config.json, in which older releases look for how targets begin.
FolderTexts texts_of(nlohmann::ordered_json config, const CausalLM& model, const SaveOptions& options);
FolderTexts texts_of(nlohmann::ordered_json config, const EncoderDecoder& model, const SaveOptions& options);

}  // namespace tape::models::hugging_face
