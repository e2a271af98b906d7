#include "models/encoders/bert.h"

#include "models/encoders/encoder_family.h"
#include "models/encoders/encoder_sizes.h"

namespace tape::models {

EncoderModelOptions model_options(const BertConfig& c) {
  EncoderModelOptions parts = encoder_model_options("Bert", "bert", c, post_norm_layer(c, c.norm_eps));
  parts.sequence_reads_pooler = true;
  return parts;
}

BertConfig detail::small_bert() {
  return {.vocab = 6,
          .d_model = 4,
          .layers = 1,
          .heads = 2,
          .d_ff = 5,
          .max_length = 3,
          .padding_id = 5,
          .pooler = false,
          .init_std = 0.5};
}

}  // namespace tape::models

/// Layout of BertModel and its heads.
namespace tape::models::hugging_face {
namespace {

using Json = nlohmann::ordered_json;

EncoderConfig read_bert(const ConfigReader& config) {
  require_plain_encoder(config);
  BertConfig c{.padding_id = -1};
  visit_encoder_keys(c, ReadKeys{config});
  return c;
}

void write_bert(Json& json, const EncoderConfig& config) {
  const auto& c = std::get<BertConfig>(config);
  if (c.segments < 1) raise(ErrorKind::config, "config.json: BertModel needs segments, got {}", c.segments);
  visit_encoder_keys(c, WriteKeys{json});
  json["tie_word_embeddings"] = true;
  json["position_embedding_type"] = "absolute";
}

void add_bert(Layout& layout, const EncoderConfig& config) {
  const EncoderModelOptions parts = model_options(config);
  add_embeddings(layout, parts);
  add_layers(layout, parts, "encoder.layer.", kBertLayer);
  add_pooler(layout, parts);
  layout.ignore("cls.seq_relationship.");  // BERT's next-sentence prediction
}

}  // namespace

const EncoderFamily& bert_family() {
  static const EncoderFamily family =
      encoder_family_of<Bert>({.stem = "Bert",
                               .model_type = "bert",
                               .prefix = "bert.",
                               .title = "BERT",
                               .display_name = "a Bert without a head",
                               .read = read_bert,
                               .write = write_bert,
                               .add_encoder = add_bert,
                               .masked_token = [](const EncoderConfig&) { return kBertMaskedHead; }});
  return family;
}

}  // namespace tape::models::hugging_face
