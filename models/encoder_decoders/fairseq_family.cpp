#include "models/encoder_decoders/fairseq_family.h"

namespace tape::models::hugging_face {
namespace {

/// Both stacks have the sublayers of an encoder layer; a decoder layer has attention to the memory between them.
void add_layer(Layout& layout, const std::string& own, const std::string& their, int64_t width, int64_t inner,
               bool decoder) {
  const auto attention = [&](const char* ours, const char* theirs) {
    for (const auto& [a, b] : {std::pair{"query", "q_proj"}, std::pair{"key", "k_proj"}, std::pair{"value", "v_proj"},
                               std::pair{"output", "out_proj"}})
      layout.linear(fmt::format("{}{}.{}", own, ours, a), fmt::format("{}{}.{}", their, theirs, b), width, width);
  };
  const auto norm = [&](const char* ours, const char* theirs) {
    layout.norm(fmt::format("{}{}", own, ours), fmt::format("{}{}", their, theirs), width);
  };
  attention("self_attention", "self_attn");
  norm("norm1", "self_attn_layer_norm");
  if (decoder) {
    attention("cross_attention", "encoder_attn");
    norm("norm2", "encoder_attn_layer_norm");
  }
  layout.linear(fmt::format("{}feed_forward.linear1", own), fmt::format("{}fc1", their), width, inner);
  layout.linear(fmt::format("{}feed_forward.linear2", own), fmt::format("{}fc2", their), inner, width);
  norm(decoder ? "norm3" : "norm2", "final_layer_norm");
}

}  // namespace

void write_family_rest(nlohmann::ordered_json& json, int64_t bos_id, int64_t eos_id) {
  for (const char* key : {"encoder_layerdrop", "decoder_layerdrop"}) json[key] = 0.0;
  json.update({{"is_encoder_decoder", true},
               {"decoder_start_token_id", bos_id},
               {"bos_token_id", nullptr},
               {"eos_token_id", eos_id},
               {"forced_eos_token_id", eos_id}});
}

void add_shared_table(Layout& layout, int64_t vocab, int64_t width) {
  const std::string shared = "model.shared.weight";
  layout.tensor("src_embedding.weight", shared, {vocab, width});
  layout.copy("model.encoder.embed_tokens.weight", shared);
  layout.copy("model.decoder.embed_tokens.weight", shared);
}

void add_family_stacks(Layout& layout, const FamilyStacks& s) {
  for (int64_t i = 0; i < s.layers; ++i)
    add_layer(layout, fmt::format("encoder.layers.{}.", i), fmt::format("model.encoder.layers.{}.", i), s.width, s.d_ff,
              false);
  for (int64_t i = 0; i < s.decoder_layers; ++i)
    add_layer(layout, fmt::format("decoder.layers.{}.", i), fmt::format("model.decoder.layers.{}.", i), s.width,
              s.decoder_d_ff, true);
  if (!s.last_norms) return;
  layout.norm("encoder.norm", "model.encoder.layer_norm", s.width);
  layout.norm("decoder.norm", "model.decoder.layer_norm", s.width);
}

}  // namespace tape::models::hugging_face
