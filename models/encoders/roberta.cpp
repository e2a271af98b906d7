#include "models/encoders/roberta.h"

#include "models/encoders/encoder_family.h"
#include "models/encoders/encoder_sizes.h"

namespace tape::models {

EncoderModelOptions model_options(const RobertaConfig& c) { return roberta_model_options("Roberta", "roberta", c); }

}  // namespace tape::models

/// Layout of RobertaModel, XLMRobertaModel and their heads, which differ only in their names.
namespace tape::models::hugging_face {
namespace {

using Json = nlohmann::ordered_json;

template <RobertaKind kind>
EncoderConfig read_roberta(const ConfigReader& config) {
  require_plain_encoder(config);
  // transformers' defaults.
  RobertaConfig c{
      .kind = kind, .vocab = kind == RobertaKind::roberta ? 50265 : 30522, .segments = 2, .norm_eps = 1e-12};
  visit_encoder_keys(c, ReadKeys{config});
  c.max_length = tokens_of_table(config, c.max_length, c.padding_id);
  return c;
}

void write_roberta(Json& json, const EncoderConfig& config) {
  auto c = std::get<RobertaConfig>(config);
  if (c.segments < 1) raise(ErrorKind::config, "config.json: RobertaModel needs segments, got {}", c.segments);
  c.max_length += c.padding_id + 1;
  visit_encoder_keys(c, WriteKeys{json});
  json["tie_word_embeddings"] = true;
  json["position_embedding_type"] = "absolute";
}

void add_roberta(Layout& layout, const EncoderConfig& config) {
  const EncoderModelOptions parts = model_options(config);
  add_embeddings(layout, parts);
  add_layers(layout, parts, "encoder.layer.", kBertLayer);
  add_pooler(layout, parts);
}

template <RobertaKind kind>
EncoderFamily family_of_kind() {
  EncoderFamily family =
      encoder_family_of<Roberta>({.stem = kind == RobertaKind::roberta ? "Roberta" : "XLMRoberta",
                                  .model_type = kind == RobertaKind::roberta ? "roberta" : "xlm-roberta",
                                  .prefix = "roberta.",
                                  .title = kind == RobertaKind::roberta ? "RoBERTa" : "XLM-R",
                                  .display_name = "a Roberta without a head (RoBERTa, XLM-R)",
                                  .read = read_roberta<kind>,
                                  .write = write_roberta,
                                  .add_encoder = add_roberta,
                                  .masked_token = [](const EncoderConfig&) { return kRobertaMaskedHead; },
                                  .sequence = {.classifier = "classifier.out_proj", .dense = "classifier.dense"}});
  family.defaults = RobertaConfig{.kind = kind};
  family.has = [](const EncoderConfig& c) {
    const auto* const own = std::get_if<RobertaConfig>(&c);
    return own && own->kind == kind;
  };
  return family;
}

}  // namespace

const EncoderFamily& roberta_family() {
  static const EncoderFamily family = family_of_kind<RobertaKind::roberta>();
  return family;
}

const EncoderFamily& xlm_roberta_family() {
  static const EncoderFamily family = family_of_kind<RobertaKind::xlm_roberta>();
  return family;
}

}  // namespace tape::models::hugging_face
