#include "models/encoders/mpnet.h"

#include <fmt/format.h>

#include "models/encoders/encoder_family.h"
#include "models/encoders/encoder_sizes.h"

namespace tape::models {

EncoderModelOptions model_options(const MPNetConfig& c) {
  EncoderModelOptions parts = roberta_model_options("MPNet", "mpnet", c);
  for (nn::TransformerLayerOptions& layer : parts.layers)
    layer.relative_bias = nn::RelativeBiasOptions{.buckets = 32, .max_distance = 128};
  return parts;
}

}  // namespace tape::models

/// Layout of MPNetModel and its heads.
namespace tape::models::hugging_face {
namespace {

using Json = nlohmann::ordered_json;

constexpr int64_t kBuckets = 32;  // transformers uses this value regardless of relative_attention_num_buckets
constexpr int64_t kPadding = 1;   // and this one regardless of pad_token_id

EncoderConfig read_mpnet(const ConfigReader& config) {
  require_plain_encoder(config);
  if (config.whole("relative_attention_num_buckets", kBuckets) != kBuckets)
    config.wrong("relative_attention_num_buckets", fmt::format("{}", kBuckets));
  if (config.whole("pad_token_id", kPadding) != kPadding) config.wrong("pad_token_id", fmt::format("{}", kPadding));
  MPNetConfig c{.norm_eps = 1e-12};
  visit_encoder_keys(c, ReadKeys{config});
  c.max_length = tokens_of_table(config, c.max_length, c.padding_id);
  return c;
}

void write_mpnet(Json& json, const EncoderConfig& config) {
  auto c = std::get<MPNetConfig>(config);
  if (c.padding_id != kPadding)
    raise(ErrorKind::config, "config.json: MPNetModel has the padding id {}, got {}", kPadding, c.padding_id);
  c.max_length += c.padding_id + 1;
  visit_encoder_keys(c, WriteKeys{json});
  json["relative_attention_num_buckets"] = kBuckets;
  json["tie_word_embeddings"] = true;
}

void add_mpnet(Layout& layout, const EncoderConfig& config) {
  static constexpr LayerNames kLayer{"attention.attn.q", "attention.attn.k",    "attention.attn.v",
                                     "attention.attn.o", "attention.LayerNorm", "intermediate.dense",
                                     "output.dense",     "output.LayerNorm"};
  const EncoderModelOptions parts = model_options(config);
  add_embeddings(layout, parts);
  add_layers(layout, parts, "encoder.layer.", kLayer);
  layout.tensor("encoder.relative_bias.weight", "encoder.relative_attention_bias.weight",
                {kBuckets, parts.layers.front().heads});
  add_pooler(layout, parts);
}

}  // namespace

const EncoderFamily& mpnet_family() {
  static const EncoderFamily family =
      encoder_family_of<MPNet>({.stem = "MPNet",
                                .model_type = "mpnet",
                                .prefix = "mpnet.",
                                .title = "MPNet",
                                .display_name = "an MPNet without a head",
                                .read = read_mpnet,
                                .write = write_mpnet,
                                .add_encoder = add_mpnet,
                                .masked_token = [](const EncoderConfig&) { return kRobertaMaskedHead; },
                                .sequence = {.classifier = "classifier.out_proj", .dense = "classifier.dense"}});
  return family;
}

}  // namespace tape::models::hugging_face
