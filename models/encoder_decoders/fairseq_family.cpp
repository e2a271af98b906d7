#include "models/encoder_decoders/fairseq_family.h"

#include <fmt/format.h>

namespace tape::models::hugging_face {
namespace {

/// Both stacks have the sublayers of an encoder layer; a decoder layer also has cross-attention between them.
void add_layer(Layout& layout, int64_t width, int64_t inner, bool decoder) {
  const auto attention = [&](const char* ours, const char* theirs) {
    const Layout::Scope part(layout, ours, theirs);
    for (const auto& [a, b] : {std::pair{"query", "q_proj"}, std::pair{"key", "k_proj"}, std::pair{"value", "v_proj"},
                               std::pair{"output", "out_proj"}})
      layout.linear(a, b, width, width);
  };
  attention("self_attention.", "self_attn.");
  layout.norm("norm1", "self_attn_layer_norm", width);
  if (decoder) {
    attention("cross_attention.", "encoder_attn.");
    layout.norm("norm2", "encoder_attn_layer_norm", width);
  }
  layout.linear("feed_forward.linear1", "fc1", width, inner);
  layout.linear("feed_forward.linear2", "fc2", inner, width);
  layout.norm(decoder ? "norm3" : "norm2", "final_layer_norm", width);
}

}  // namespace

ConfigReader with_family_names(const ConfigReader& config) {
  const ConfigReader named =
      config.renamed({{"hidden_size", "d_model"}, {"num_attention_heads", "encoder_attention_heads"}});
  // transformers 4 wrote "num_hidden_layers" too, but did not read it.
  return config.has("encoder_layers") ? named : named.renamed({{"num_hidden_layers", "encoder_layers"}});
}

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
  const auto add_stack = [&](const std::string& stack, int64_t layers, int64_t inner) {
    for (int64_t i = 0; i < layers; ++i) {
      const std::string name = fmt::format("{}.layers.{}.", stack, i);
      const Layout::Scope layer(layout, name, "model." + name);
      add_layer(layout, s.width, inner, stack == "decoder");
    }
  };
  add_stack("encoder", s.layers, s.d_ff);
  add_stack("decoder", s.decoder_layers, s.decoder_d_ff);
  if (!s.last_norms) return;
  layout.norm("encoder.norm", "model.encoder.layer_norm", s.width);
  layout.norm("decoder.norm", "model.decoder.layer_norm", s.width);
}

}  // namespace tape::models::hugging_face
