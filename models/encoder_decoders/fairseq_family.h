#pragma once

#include "../folders/config_keys.h"
#include "../folders/layout.h"

/// Common parts of the folders of Marian, M2M100, BART and mBART; marian.cpp and bart.cpp have the differences.
namespace tape::models::hugging_face {

/// Size keys that all four share, in the order in which they are written.
template <class Config, class Visit>
void visit_family_sizes(Config& c, Visit&& visit) {
  visit("d_model", c.d_model);
  visit("encoder_layers", c.layers);
  visit("encoder_attention_heads", c.heads);
  visit("encoder_ffn_dim", c.d_ff);
  visit("decoder_layers", c.decoder_layers);
  visit("decoder_attention_heads", c.decoder_heads);
  visit("decoder_ffn_dim", c.decoder_d_ff);
  visit("dropout", c.dropout);
  visit("attention_dropout", c.attention_dropout);
  visit("activation_dropout", c.activation_dropout);
}
template <class Config, class Visit>
void visit_family_choices(Config& c, Visit&& visit) {
  visit("activation_function", c.activation);
  visit("max_position_embeddings", c.max_length);
  visit("scale_embedding", c.scale_embedding);
  visit("pad_token_id", c.padding_id);
  visit("forced_bos_token_id", c.forced_bos);
}

/// The file with transformers' general names of sizes as those above.
ConfigReader with_family_names(const ConfigReader& config);

/// Writes the token ids, and LayerDrop as off. (LayerDrop, which skips random layers during training, is ignored when
/// read: it does not affect inference and is not supported for training.)
void write_family_rest(nlohmann::ordered_json& json, int64_t bos_id, int64_t eos_id);

/// The tensors of a model whose token table is shared by source, target and, if tied, output: "model.shared.weight" and
/// its copies.
void add_shared_table(Layout& layout, int64_t vocab, int64_t width);

struct FamilyStacks {
  int64_t width = 0, layers = 0, d_ff = 0, decoder_layers = 0, decoder_d_ff = 0;
  bool last_norms = false;  ///< whether a norm follows each stack
};
/// Adds the tensors of both stacks' layers.
void add_family_stacks(Layout& layout, const FamilyStacks& stacks);

}  // namespace tape::models::hugging_face
