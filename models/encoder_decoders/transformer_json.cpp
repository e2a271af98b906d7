#include "models/encoder_decoders/transformer_json.h"

#include <array>
#include <set>

#include <fmt/format.h>

#include "models/folders/config_keys.h"

namespace tape::models {
namespace {

using Json = nlohmann::ordered_json;

/// One list of keys for reading and writing.
template <class Config, class Visit>
void visit_keys(Config& c, Visit&& visit) {
  visit("src_vocab_size", c.src_vocab);
  visit("tgt_vocab_size", c.tgt_vocab);
  visit("d_model", c.d_model);
  visit("layers", c.layers);
  visit("heads", c.heads);
  visit("d_ff", c.d_ff);
  visit("decoder_layers", c.decoder_layers);
  visit("decoder_heads", c.decoder_heads);
  visit("decoder_d_ff", c.decoder_d_ff);
  visit("dropout", c.dropout);
  visit("attention_dropout", c.attention_dropout);
  visit("activation_dropout", c.activation_dropout);
  visit("activation", c.activation);
  visit("norm", c.norm);
  visit("norm_eps", c.norm_eps);
  visit("max_length", c.max_length);
  visit("positions", c.positions);
  visit("position_offset", c.position_offset);
  visit("scale_embedding", c.scale_embedding);
  visit("pad_token_id", c.padding_id);
  visit("bos_token_id", c.bos_id);
  visit("eos_token_id", c.eos_id);
  visit("forced_bos_token_id", c.forced_bos);
  visit("share_embeddings", c.share_embeddings);
  visit("tie_output", c.tie_output);
  visit("output_bias", c.output_bias);
  visit("freeze_padding", c.freeze_padding);
}

template <class T>
std::vector<std::pair<std::string_view, T>> names() {
  if constexpr (std::same_as<T, nn::NormPlace>)
    return {{"pre", T::pre}, {"post", T::post}, {"post_dropout", T::post_dropout}};
  else if constexpr (std::same_as<T, nn::SinusoidLayout>)
    return {{"interleaved", T::interleaved}, {"halves", T::halves}, {"fairseq", T::fairseq}};
  else
    return nn::activation_names();
}

template <class T>
Json value_of(const T& v) {
  if constexpr (std::is_enum_v<T>) {
    for (const auto& [name, value] : names<T>())
      if (value == v) return name;
    raise(ErrorKind::config, "config.json: no name for value {}", static_cast<int>(v));
  } else {
    return v;
  }
}
template <class T>
Json value_of(const std::optional<T>& v) {
  return v ? value_of(*v) : Json();
}

struct Read {
  const ConfigReader& config;

  void operator()(const char* key, int64_t& v) const { v = config.whole(key); }
  void operator()(const char* key, double& v) const { v = config.number(key); }
  void operator()(const char* key, bool& v) const { v = config.flag(key); }
  template <class T>
    requires std::is_enum_v<T>
  void operator()(const char* key, T& v) const {
    const std::string text = config.text(key);
    std::string known;
    for (const auto& [name, value] : names<T>()) {
      if (text == name) {
        v = value;
        return;
      }
      known += fmt::format("{}{}", known.empty() ? "" : ", ", name);
    }
    config.wrong(key, fmt::format("one of {}", known));
  }
  template <class T>
  void operator()(const char* key, std::optional<T>& v) const {
    if (config.has(key)) (*this)(key, v.emplace());
  }
};

}  // namespace

std::string to_json(const TransformerConfig& config) {
  Json json{{"model_type", kOwnModelType}};
  visit_keys(config, [&json](const char* key, const auto& value) { json[key] = value_of(value); });
  return fmt::format("{}\n", json.dump(2));
}

TransformerConfig transformer_config_from_json(const ConfigReader& reader) {
  if (!reader.has("model_type") || reader.json()["model_type"] != kOwnModelType)
    reader.wrong("model_type", fmt::format("\"{}\"", kOwnModelType));
  TransformerConfig config;
  std::set<std::string> known{"model_type"};
  visit_keys(config, [&](const char* key, auto& value) {
    known.insert(key);
    Read{reader}(key, value);
  });
  for (const auto& [key, value] : reader.json().items())
    if (!known.contains(key)) raise(ErrorKind::config, "{}: \"{}\" is an unknown key", reader.where(), key);
  return config;
}

Layout transformer_layout(const TransformerConfig& config) {
  return hugging_face::marian_layout(config).with_own_names();
}

}  // namespace tape::models
