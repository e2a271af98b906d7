#include "models/encoders/distilbert.h"

#include "models/encoders/encoder_family.h"
#include "models/encoders/encoder_sizes.h"

namespace tape::models {
namespace {

constexpr double kNormEps = 1e-12;

}  // namespace

EncoderModelOptions model_options(const DistilBertConfig& c) {
  nn::TransformerLayerOptions layer = post_norm_layer(c, kNormEps);
  layer.dropped = nn::DropoutPlacement::feed_forward;
  EncoderModelOptions parts = encoder_model_options("DistilBert", "distilbert", c, layer);
  parts.sequence = {.dropout = c.sequence_dropout, .activation = nn::ActivationKind::relu};
  parts.span.dropout = c.span_dropout;
  return parts;
}

}  // namespace tape::models

/// Layout of DistilBertModel and its heads.
namespace tape::models::hugging_face {
namespace {

using Json = nlohmann::ordered_json;

template <class Config, class Visit>
void visit_distilbert_keys(Config& c, Visit&& visit) {
  visit("vocab_size", c.vocab);
  visit("dim", c.d_model);
  visit("n_layers", c.layers);
  visit("n_heads", c.heads);
  visit("hidden_dim", c.d_ff);
  visit("max_position_embeddings", c.max_length);
  visit("activation", c.activation);
  visit("dropout", c.dropout);
  visit("attention_dropout", c.attention_dropout);
  visit("seq_classif_dropout", c.sequence_dropout);
  visit("qa_dropout", c.span_dropout);
  visit("initializer_range", c.init_std);
  visit("pad_token_id", c.padding_id);
}

EncoderConfig read_distilbert(const ConfigReader& given) {
  const ConfigReader config =
      given.renamed({{"hidden_size", "dim"}, {"num_hidden_layers", "n_layers"}, {"num_attention_heads", "n_heads"}});
  require_plain_encoder(config);
  DistilBertConfig c;
  visit_distilbert_keys(c, ReadKeys{config});
  return c;
}

void write_distilbert(Json& json, const EncoderConfig& config) {
  visit_distilbert_keys(std::get<DistilBertConfig>(config), WriteKeys{json});
  json["tie_word_embeddings"] = true;
  json["sinusoidal_pos_embds"] = false;  // affects only the table's initial values
}

void add_distilbert(Layout& layout, const EncoderConfig& config) {
  static constexpr LayerNames kLayer{"attention.q_lin", "attention.k_lin", "attention.v_lin", "attention.out_lin",
                                     "sa_layer_norm",   "ffn.lin1",        "ffn.lin2",        "output_layer_norm"};
  const EncoderModelOptions parts = model_options(config);
  add_embeddings(layout, parts);
  add_layers(layout, parts, "transformer.layer.", kLayer);
}

}  // namespace

const EncoderFamily& distilbert_family() {
  static const EncoderFamily family = encoder_family_of<DistilBert>(
      {.stem = "DistilBert",
       .model_type = "distilbert",
       .prefix = "distilbert.",
       .title = "DistilBERT",
       .display_name = "a DistilBert without a head",
       .read = read_distilbert,
       .write = write_distilbert,
       .add_encoder = add_distilbert,
       .masked_token = [](const EncoderConfig&) -> MaskedHeadNames {
         return {"vocab_transform", "vocab_layer_norm", "vocab_projector.bias", "vocab_projector.weight"};
       },
       .sequence = {.dense = "pre_classifier", .dropout_key = "seq_classif_dropout"}});
  return family;
}

}  // namespace tape::models::hugging_face
