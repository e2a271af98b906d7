#include "models/folders/generation_config.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/file.h"
#include "base/path.h"
#include "models/folders/config_keys.h"
#include "text/json.h"

namespace tape::models::hugging_face {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kGenerationConfig = "generation_config.json";

/// Reads a token count from one of two keys; the second also counts the token that starts a target.
std::optional<int64_t> count_of(const ConfigReader& file, const char* new_tokens, const char* length, int64_t least) {
  const bool given = file.has(new_tokens);
  const char* const key = given ? new_tokens : length;
  if (!file.has(key)) return std::nullopt;
  const int64_t count = file.whole(key);
  if (count < least) file.wrong(key, fmt::format("at least {}", least));
  return given ? count : count - 1;
}

int64_t at_least(const ConfigReader& file, const char* key, int64_t least, int64_t otherwise) {
  const int64_t value = file.whole(key, otherwise);
  if (value < least) file.wrong(key, fmt::format("at least {}", least));
  return value;
}

using NeutralKeys = std::vector<std::pair<const char*, Json>>;

/// Keys whose value differs from the one without effect; null and an empty list never have an effect.
std::vector<std::string> changing(const ConfigReader& file, const NeutralKeys& keys) {
  std::vector<std::string> found;
  for (const auto& [key, neutral] : keys)
    if (file.has(key) && !file.json().at(key).empty() && file.json().at(key) != neutral) found.emplace_back(key);
  return found;
}

/// Keys that affect transformers' generate() for models of any kind.
const NeutralKeys& common_keys() {
  static const auto& keys = *new const NeutralKeys{{"repetition_penalty", 1},
                                                   {"encoder_repetition_penalty", 1},
                                                   {"encoder_no_repeat_ngram_size", 0},
                                                   {"diversity_penalty", 0},
                                                   {"num_beam_groups", 1},
                                                   {"guidance_scale", 1},
                                                   {"penalty_alpha", 0},
                                                   {"renormalize_logits", false},
                                                   {"remove_invalid_values", false},
                                                   {"exponential_decay_length_penalty", {}},
                                                   {"suppress_tokens", {}},
                                                   {"begin_suppress_tokens", {}},
                                                   {"sequence_bias", {}},
                                                   {"force_words_ids", {}},
                                                   {"constraints", {}},
                                                   {"stop_strings", {}},
                                                   {"token_healing", false},
                                                   {"watermarking_config", {}},
                                                   {"dola_layers", {}},
                                                   {"max_time", {}}};
  return keys;
}

/// Further keys of transformers' generate() that a config.json may have.
const NeutralKeys& other_keys() {
  static const auto& keys = *new const NeutralKeys{{"do_sample", false},
                                                   {"temperature", 1},
                                                   {"top_k", 50},
                                                   {"top_p", 1},
                                                   {"min_p", {}},
                                                   {"typical_p", 1},
                                                   {"epsilon_cutoff", 0},
                                                   {"eta_cutoff", 0},
                                                   {"top_h", {}},
                                                   {"bad_words_ids", {}},
                                                   {"num_beams", 1},
                                                   {"length_penalty", 1},
                                                   {"min_length", 0},
                                                   {"max_length", {}},
                                                   {"max_new_tokens", {}},
                                                   {"early_stopping", false},
                                                   {"pad_token_id", {}},
                                                   {"forced_bos_token_id", {}},
                                                   {"forced_eos_token_id", {}},
                                                   {"eos_token_id", {}}};
  return keys;
}

/// The keys for transformers' generate() except those in `own`, as the text of a JSON object; empty if there is none.
std::string keys_to_keep(const std::optional<ConfigReader>& file, const ConfigReader& config,
                         const std::vector<std::string>& own) {
  Json kept = Json::object();
  if (file) {
    kept = file->json();
    for (const char* key : {"transformers_version", "_from_model_config"}) kept.erase(key);
  } else {
    for (const NeutralKeys* keys : {&common_keys(), &other_keys()})
      for (const std::string& key : changing(config, *keys)) kept[key] = config.json().at(key);
  }
  for (const std::string& key : own) kept.erase(key);
  return kept.empty() ? "" : kept.dump();
}

Json kept_keys(const SearchDefaults& defaults) {
  return defaults.other_keys.empty() ? Json::object() : parse_json(defaults.other_keys, "SearchDefaults: other_keys");
}

std::vector<std::string> keys_not_followed(const ConfigReader& file, int64_t padding_id) {
  NeutralKeys keys = common_keys();
  keys.insert(keys.begin(), {"do_sample", false});
  keys.emplace_back("bad_words_ids", Json::array({Json::array({padding_id})}));  // padding is never generated anyway
  return changing(file, keys);
}

/// The same for a decoder-only model, whose caller sets the sampling options.
std::vector<std::string> keys_not_followed(const ConfigReader& file) {
  NeutralKeys keys = common_keys();
  keys.insert(keys.end(),
              {{"bad_words_ids", {}}, {"num_beams", 1}, {"forced_bos_token_id", {}}, {"forced_eos_token_id", {}}});
  if (!file.has("min_new_tokens")) keys.emplace_back("min_length", 0);
  if (file.flag("do_sample", false))
    keys.insert(keys.end(), {{"temperature", 1},
                             {"top_k", 0},
                             {"top_p", 1},
                             {"min_p", 0},
                             {"typical_p", 1},
                             {"epsilon_cutoff", 0},
                             {"eta_cutoff", 0},
                             {"top_h", {}}});
  return changing(file, keys);
}

}  // namespace

std::optional<ConfigReader> open_generation_config(const std::string& folder) {
  const std::string file = file_in_folder(folder, kGenerationConfig);
  if (!path_exists(file)) return std::nullopt;
  return ConfigReader(read_text(file), file);
}

TargetIds read_target_ids(const ConfigReader& config) {
  const auto id = [&](const char* key) { return config.has(key) ? std::optional(config.whole(key)) : std::nullopt; };
  return TargetIds{.decoder_start = id("decoder_start_token_id"),
                   .forced_bos = id("forced_bos_token_id"),
                   .ends = config.has("eos_token_id") ? config.integers("eos_token_id") : std::vector<int64_t>()};
}

SearchDefaults read_search_defaults(const ConfigReader& file, const EncoderDecoderOptions& options) {
  SearchDefaults found{
      .no_repeat_ngram = at_least(file, "no_repeat_ngram_size", 0, 0),
      .min_length = std::max<int64_t>(0, count_of(file, "min_new_tokens", "min_length", 0).value_or(0)),
      .max_length = count_of(file, "max_new_tokens", "max_length", 2),
      .not_followed = keys_not_followed(file, options.padding_id)};
  if (file.has("num_beams")) {
    found.beams = at_least(file, "num_beams", 1, 1);
    // Limits the memory that a file can request.
    constexpr int64_t kMostBeams = 1000;
    if (*found.beams > kMostBeams) file.wrong("num_beams", fmt::format("at most {}", kMostBeams));
  }
  if (file.has("length_penalty")) found.length_penalty = file.number("length_penalty");
  if (read_target_ids(file).ends.size() > 1) found.not_followed.emplace_back("eos_token_id");
  if (file.has("forced_eos_token_id")) {
    found.forced_eos = file.integers("forced_eos_token_id") == std::vector{options.eos_id};
    if (!found.forced_eos) found.not_followed.emplace_back("forced_eos_token_id");
  }
  if (file.has("early_stopping") && file.json().at("early_stopping") == "never")
    found.not_followed.emplace_back("early_stopping");
  else
    found.early_stopping = file.flag("early_stopping", false);
  return found;
}

SearchDefaults read_generation_defaults(const ConfigReader& file) {
  return {.no_repeat_ngram = at_least(file, "no_repeat_ngram_size", 0, 0),
          .min_length = at_least(file, "min_new_tokens", 0, 0),
          .not_followed = keys_not_followed(file)};
}

void read_search(CausalLM& model, const std::optional<ConfigReader>& file, const ConfigReader& config, bool) {
  model.search = read_generation_defaults(file ? *file : config);
  model.search.other_keys =
      keys_to_keep(file, config, {"bos_token_id", "eos_token_id", "no_repeat_ngram_size", "min_new_tokens"});
}

void read_search(EncoderDecoder& model, const std::optional<ConfigReader>& file, const ConfigReader& config,
                 bool forced_eos) {
  model.search = read_search_defaults(file ? *file : config, model.options());
  if (!file && !config.contains("forced_eos_token_id")) model.search.forced_eos = forced_eos;
  std::vector<std::string> own{
      "eos_token_id",   "decoder_start_token_id", "forced_bos_token_id", "num_beams",      "length_penalty",
      "early_stopping", "no_repeat_ngram_size",   "min_length",          "min_new_tokens", "max_length",
      "max_new_tokens", "forced_eos_token_id"};
  std::erase_if(own, [&](const std::string& key) { return std::ranges::count(model.search.not_followed, key) > 0; });
  model.search.other_keys = keys_to_keep(file, config, own);
}

FolderTextFiles texts_of(Json config, const CausalLM& model, const SaveOptions&) {
  Json json = kept_keys(model.search);
  if (model.options().bos_id) json["bos_token_id"] = *model.options().bos_id;
  if (!model.options().eos_ids.empty()) WriteKeys{json}("eos_token_id", model.options().eos_ids);
  if (model.search.no_repeat_ngram > 0) json["no_repeat_ngram_size"] = model.search.no_repeat_ngram;
  if (model.search.min_length > 0) json["min_new_tokens"] = model.search.min_length;
  return {json_text(kGenerationConfig, json), json_text(kConfig, config)};
}

FolderTextFiles texts_of(Json config, const EncoderDecoder& model, const SaveOptions& options) {
  const TargetStart start = options.target_start.value_or(target_start(model));
  const auto write_start = [&](Json& to) {
    to["decoder_start_token_id"] = start.bos;
    if (start.forced_bos) to["forced_bos_token_id"] = *start.forced_bos;
  };
  const EncoderDecoderOptions& o = model.options();
  const SearchDefaults& s = model.search;
  Json json = kept_keys(s);
  // Of several end tokens, searches use one.
  if (!json.contains("eos_token_id") || std::ranges::count(json["eos_token_id"], Json(o.eos_id)) == 0)
    json["eos_token_id"] = o.eos_id;
  json.emplace("pad_token_id", o.padding_id);
  write_start(json);
  if (s.beams) json["num_beams"] = *s.beams;
  if (s.length_penalty) json["length_penalty"] = *s.length_penalty;
  if (s.early_stopping) json["early_stopping"] = true;
  if (s.no_repeat_ngram > 0) json["no_repeat_ngram_size"] = s.no_repeat_ngram;
  if (s.min_length > 0) json["min_length"] = s.min_length + 1;
  if (s.max_length) json["max_length"] = *s.max_length + 1;
  if (s.forced_eos) json["forced_eos_token_id"] = o.eos_id;
  write_start(config);
  return {json_text(kGenerationConfig, json), json_text(kConfig, config)};
}

}  // namespace tape::models::hugging_face
