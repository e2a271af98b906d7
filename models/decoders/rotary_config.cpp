#include "models/decoders/rotary_config.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace tape::models::hugging_face {
namespace {

using Json = nlohmann::ordered_json;

/// Keys of every type, and keys in some folders that have no effect.
constexpr std::array<std::string_view, 15> kKnown{"rope_type",        "type",
                                                  "rope_theta",       "partial_rotary_factor",
                                                  "factor",           "low_freq_factor",
                                                  "high_freq_factor", "original_max_position_embeddings",
                                                  "beta_fast",        "beta_slow",
                                                  "attention_factor", "mscale",
                                                  "mscale_all_dim",   "truncate",
                                                  "finetuned"};

bool filled(const ConfigReader& config, const char* key) { return config.has(key) && !config.json()[key].empty(); }

/// Length of the training texts: from the configuration, from the object, or the model's own.
int64_t original_length(const ConfigReader& config, const ConfigReader& rope, int64_t max_length) {
  constexpr const char* kKey = "original_max_position_embeddings";
  return config.has(kKey) ? config.whole(kKey) : rope.whole(kKey, max_length);
}

/// A YaRN setting for which 0 means unset.
std::optional<double> unless_zero(const ConfigReader& rope, const char* key) {
  const double value = rope.number(key, 0);
  return value == 0 ? std::nullopt : std::optional(value);
}

nn::YarnScaling read_yarn(const ConfigReader& config, const ConfigReader& rope, int64_t max_length) {
  nn::YarnScaling yarn{.original_length = original_length(config, rope, max_length)};
  const bool by_lengths = rope.contains("factor") && !rope.has("factor");
  yarn.factor =
      by_lengths ? static_cast<double>(max_length) / static_cast<double>(yarn.original_length) : rope.number("factor");
  yarn.beta_fast = unless_zero(rope, "beta_fast").value_or(yarn.beta_fast);
  yarn.beta_slow = unless_zero(rope, "beta_slow").value_or(yarn.beta_slow);
  if (rope.has("attention_factor")) yarn.attention_factor = rope.number("attention_factor");
  yarn.mscale = unless_zero(rope, "mscale");
  yarn.mscale_all_dim = unless_zero(rope, "mscale_all_dim");
  yarn.truncate = rope.flag("truncate", true);
  return yarn;
}

nn::RotaryScaling read_scaling(const ConfigReader& config, const ConfigReader& rope, int64_t max_length) {
  const char* key = rope.has("rope_type") ? "rope_type" : "type";
  const std::string type = rope.text(key, "default");
  if (type == "default") return {};
  if (type == "linear") return nn::LinearScaling{.factor = rope.number("factor")};
  if (type == "dynamic") return nn::DynamicScaling{.factor = rope.number("factor"), .original_length = max_length};
  if (type == "llama3")
    return nn::Llama3Scaling{.factor = rope.number("factor"),
                             .low_freq_factor = rope.number("low_freq_factor"),
                             .high_freq_factor = rope.number("high_freq_factor"),
                             .original_length = original_length(config, rope, max_length)};
  if (type == "yarn") return read_yarn(config, rope, max_length);
  rope.wrong(key, "one of default, linear, dynamic, llama3, yarn");
}

struct WriteScaling {
  Json& json;

  void operator()(const std::monostate&) const { json["rope_type"] = "default"; }
  void operator()(const nn::LinearScaling& s) const { json.update({{"rope_type", "linear"}, {"factor", s.factor}}); }
  void operator()(const nn::DynamicScaling& s) const { json.update({{"rope_type", "dynamic"}, {"factor", s.factor}}); }
  void operator()(const nn::Llama3Scaling& s) const {
    json.update({{"rope_type", "llama3"},
                 {"factor", s.factor},
                 {"low_freq_factor", s.low_freq_factor},
                 {"high_freq_factor", s.high_freq_factor},
                 {"original_max_position_embeddings", s.original_length}});
  }
  void operator()(const nn::YarnScaling& s) const {
    json.update({{"rope_type", "yarn"},
                 {"factor", s.factor},
                 {"original_max_position_embeddings", s.original_length},
                 {"beta_fast", s.beta_fast},
                 {"beta_slow", s.beta_slow},
                 {"truncate", s.truncate}});
    if (s.attention_factor) json["attention_factor"] = *s.attention_factor;
    if (s.mscale) json["mscale"] = *s.mscale;
    if (s.mscale_all_dim) json["mscale_all_dim"] = *s.mscale_all_dim;
  }
};

}  // namespace

nn::RotaryOptions read_rotary(const ConfigReader& config, int64_t max_length, const RotaryKeys& keys) {
  const char* key = filled(config, "rope_scaling") ? "rope_scaling" : "rope_parameters";
  nn::RotaryOptions options{.theta = config.number(keys.theta, nn::RotaryOptions().theta),
                            .fraction = config.number(keys.fraction, keys.default_fraction)};
  if (!filled(config, key)) return options;
  const ConfigReader rope = config.object(key);
  for (const auto& [name, value] : rope.json().items())
    if (std::ranges::find(kKnown, name) == kKnown.end())
      raise(ErrorKind::config, "{}: \"{}\" is not supported", rope.where(), name);
  options.theta = rope.number("rope_theta", options.theta);
  options.fraction = rope.number("partial_rotary_factor", options.fraction);
  options.scaling = read_scaling(config, rope, max_length);
  return options;
}

void write_rotary(Json& json, const nn::RotaryOptions& options, const RotaryKeys& keys) {
  const bool whole = keys.default_fraction == 1 && options.fraction == 1;
  Json scaling = Json::object();
  std::visit(WriteScaling{scaling}, options.scaling);
  json[keys.theta] = options.theta;
  if (!whole) json[keys.fraction] = options.fraction;
  json["rope_scaling"] = std::holds_alternative<std::monostate>(options.scaling) ? Json() : scaling;
  scaling["rope_theta"] = options.theta;
  if (!whole) scaling["partial_rotary_factor"] = options.fraction;
  json["rope_parameters"] = scaling;
}

}  // namespace tape::models::hugging_face
