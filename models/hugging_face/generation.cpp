#include "models/hugging_face/generation.h"

#include <utility>

#include "base/file.h"
#include "base/path.h"

namespace tape::models::hugging_face {
namespace {

using Json = nlohmann::ordered_json;

/// Whether one of two tokens of a file's counts is given, and how many tokens behind the one that begins a target.
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

/// Keys that change what transformers' generate() says, with the values that change nothing; null and an empty list
/// never do.
std::vector<std::string> keys_not_followed(const ConfigReader& file, int64_t padding_id) {
  const std::pair<const char*, Json> keys[] = {{"do_sample", false},
                                               {"repetition_penalty", 1},
                                               {"encoder_repetition_penalty", 1},
                                               {"encoder_no_repeat_ngram_size", 0},
                                               {"diversity_penalty", 0},
                                               {"num_beam_groups", 1},
                                               {"guidance_scale", 1},
                                               {"penalty_alpha", 0},
                                               {"renormalize_logits", false},
                                               {"exponential_decay_length_penalty", {}},
                                               {"suppress_tokens", {}},
                                               {"begin_suppress_tokens", {}},
                                               {"sequence_bias", {}},
                                               {"force_words_ids", {}},
                                               {"constraints", {}},
                                               // Padding is never said.
                                               {"bad_words_ids", Json::array({Json::array({padding_id})})}};
  std::vector<std::string> found;
  for (const auto& [key, neutral] : keys)
    if (file.has(key) && !file.json().at(key).empty() && file.json().at(key) != neutral) found.emplace_back(key);
  return found;
}

}  // namespace

std::optional<ConfigReader> open_generation_config(const std::string& folder) {
  const std::string file = file_in_folder(folder, kGenerationConfig);
  if (!path_exists(file)) return std::nullopt;
  return ConfigReader(read_text(file), file);
}

TargetIds read_target_ids(const ConfigReader& config) {
  const auto id = [&](const char* key) { return config.has(key) ? std::optional(config.whole(key)) : std::nullopt; };
  return TargetIds{.decoder_start = id("decoder_start_token_id"), .forced_bos = id("forced_bos_token_id")};
}

SearchDefaults read_search_defaults(const ConfigReader& file, const EncoderDecoderOptions& options) {
  SearchDefaults found{
      .no_repeat_ngram = at_least(file, "no_repeat_ngram_size", 0, 0),
      .min_length = std::max<int64_t>(0, count_of(file, "min_new_tokens", "min_length", 0).value_or(0)),
      .max_length = count_of(file, "max_new_tokens", "max_length", 2),
      .not_followed = keys_not_followed(file, options.padding_id)};
  if (file.has("num_beams")) {
    found.beams = at_least(file, "num_beams", 1, 1);
    // Each beam takes memory, and a file could ask for all there is.
    constexpr int64_t kMostBeams = 1000;
    if (*found.beams > kMostBeams) file.wrong("num_beams", fmt::format("at most {}", kMostBeams));
  }
  if (file.has("length_penalty")) found.length_penalty = file.number("length_penalty");
  if (file.has("forced_eos_token_id")) {
    found.forced_eos = file.whole("forced_eos_token_id") == options.eos_id;
    if (!found.forced_eos) found.not_followed.emplace_back("forced_eos_token_id");
  }
  if (file.has("early_stopping") && file.json().at("early_stopping") == "never")
    found.not_followed.emplace_back("early_stopping");
  else
    found.early_stopping = file.flag("early_stopping", false);
  return found;
}

void write_target_start(nlohmann::ordered_json& config, const TargetStart& start) {
  config["decoder_start_token_id"] = start.bos;
  if (start.forced_bos) config["forced_bos_token_id"] = *start.forced_bos;
}

std::string generation_config_json(const EncoderDecoder& model, const TargetStart& start) {
  const EncoderDecoderOptions& o = model.options();
  const SearchDefaults& s = model.search;
  Json json{{"eos_token_id", o.eos_id}, {"pad_token_id", o.padding_id}};
  write_target_start(json, start);
  if (s.beams) json["num_beams"] = *s.beams;
  if (s.length_penalty) json["length_penalty"] = *s.length_penalty;
  if (s.early_stopping) json["early_stopping"] = true;
  if (s.no_repeat_ngram > 0) json["no_repeat_ngram_size"] = s.no_repeat_ngram;
  if (s.min_length > 0) json["min_length"] = s.min_length + 1;
  if (s.max_length) json["max_length"] = *s.max_length + 1;
  if (s.forced_eos) json["forced_eos_token_id"] = o.eos_id;
  return fmt::format("{}\n", json.dump(2));
}

}  // namespace tape::models::hugging_face
