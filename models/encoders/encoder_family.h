#pragma once

#include <memory>
#include <optional>
#include <typeinfo>

#include "../folders/config_keys.h"
#include "../folders/layout.h"
#include "encoder_config.h"

namespace tape::models::hugging_face {

/// transformers' tensor names of a classification head, and its dropout key; null where there is none.
struct HeadNames {
  const char* classifier = "classifier";
  const char* dense = nullptr;
  const char* norm = nullptr;
  const char* dropout_key = "classifier_dropout";
};

/// Tensor names of a masked token head: its dense layer, its norm, the bias over the vocabulary, and the copies of the
/// tied table and of that bias; null where there is none.
struct MaskedHeadNames {
  const char *dense, *norm, *bias, *weight_copy = nullptr, *bias_copy = nullptr;
};
inline constexpr MaskedHeadNames kBertMaskedHead{"cls.predictions.transform.dense",
                                                 "cls.predictions.transform.LayerNorm", "cls.predictions.bias",
                                                 "cls.predictions.decoder.weight", "cls.predictions.decoder.bias"};
inline constexpr MaskedHeadNames kRobertaMaskedHead{"lm_head.dense", "lm_head.layer_norm", "lm_head.bias",
                                                    "lm_head.decoder.weight", "lm_head.decoder.bias"};

/// transformers' names and folder format of one family of encoders.
struct EncoderFamily {
  const char* stem;          ///< "Bert", of BertModel and BertForMaskedLM
  const char* model_type;    ///< "bert"
  const char* prefix;        ///< "bert.", prefix of the encoder's tensors in a model with a head
  const char* title;         ///< "BERT", in messages
  const char* display_name;  ///< "a Bert without a head", a folder's contents in messages

  EncoderConfig (*read)(const ConfigReader& config);
  void (*write)(nlohmann::ordered_json& json, const EncoderConfig& config);
  void (*add_encoder)(Layout& layout, const EncoderConfig& config);  ///< adds its tensors
  MaskedHeadNames (*masked_token)(const EncoderConfig& config);
  HeadNames sequence = {}, token = {};
  HeadNames span = {.classifier = "qa_outputs", .dropout_key = "qa_dropout"};
  const char* table = "embeddings.word_embeddings.weight";  ///< token table
  const char* pooling_key = nullptr;  ///< key with value "cls" or "mean"; null if transformers only pools the first

  // Filled in by encoder_family_of().
  EncoderConfig defaults = {};
  const std::type_info* type = nullptr;           ///< of the model without a head
  bool (*has)(const EncoderConfig& c) = nullptr;  ///< whether a configuration belongs to the family
  std::unique_ptr<EncoderModel> (*make)(const EncoderConfig& c) = nullptr;
  std::optional<EncoderConfig> (*config_of)(const EncoderModel& model) = nullptr;  ///< nullopt for other models
};

/// Completes a family whose model without a head is of class M.
template <class M>
EncoderFamily encoder_family_of(EncoderFamily family) {
  using Config = std::remove_cvref_t<decltype(std::declval<const M&>().config())>;
  family.defaults = Config();
  family.type = &typeid(M);
  family.has = [](const EncoderConfig& c) { return std::holds_alternative<Config>(c); };
  family.make = [](const EncoderConfig& c) -> std::unique_ptr<EncoderModel> {
    return std::make_unique<M>(std::get<Config>(c));
  };
  family.config_of = [](const EncoderModel& model) -> std::optional<EncoderConfig> {
    const auto* const own = dynamic_cast<const M*>(&model);
    return own ? std::optional<EncoderConfig>(own->config()) : std::nullopt;
  };
  return family;
}

// Shared by families.

/// Keys of BERT-like models; includes the segment table only if the configuration has one.
template <class Config, class Visit>
void visit_encoder_keys(Config& c, Visit&& visit) {
  visit("vocab_size", c.vocab);
  visit("hidden_size", c.d_model);
  visit("num_hidden_layers", c.layers);
  visit("num_attention_heads", c.heads);
  visit("intermediate_size", c.d_ff);
  visit("max_position_embeddings", c.max_length);
  if constexpr (requires { c.segments; }) visit("type_vocab_size", c.segments);
  visit("hidden_act", c.activation);
  visit("hidden_dropout_prob", c.dropout);
  visit("attention_probs_dropout_prob", c.attention_dropout);
  visit("layer_norm_eps", c.norm_eps);
  visit("initializer_range", c.init_std);
  visit("pad_token_id", c.padding_id);
}

/// Throws Error (config) for a configuration that makes the model a decoder or uses other positions.
void require_plain_encoder(const ConfigReader& config);

/// Maximum number of tokens for a table of `rows` positions whose first rows are reserved up to and including padding.
/// Throws Error (config) if there are none.
int64_t tokens_of_table(const ConfigReader& config, int64_t rows, int64_t padding_id);

/// A family's names of the parts of a post-norm layer, such as "attention.self.query".
struct LayerNames {
  const char *query, *key, *value, *output, *norm1, *linear1, *linear2, *norm2;
};
inline constexpr LayerNames kBertLayer{
    "attention.self.query",       "attention.self.key", "attention.self.value", "attention.output.dense",
    "attention.output.LayerNorm", "intermediate.dense", "output.dense",         "output.LayerNorm"};

/// Adds the tables of `parts.embeddings` and their norm under BERT's names, such as "word_embeddings".
void add_embeddings(Layout& layout, const EncoderModelOptions& parts);
/// Adds identical layers, named `theirs` followed by "0." and so on.
void add_layers(Layout& layout, const EncoderModelOptions& parts, const std::string& theirs, const LayerNames& names);
/// Adds the pooler if the model has one; otherwise ignores one in the file.
void add_pooler(Layout& layout, const EncoderModelOptions& parts);

}  // namespace tape::models::hugging_face
