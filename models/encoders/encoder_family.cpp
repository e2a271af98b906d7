#include "models/encoders/encoder_family.h"

#include <fmt/format.h>

namespace tape::models::hugging_face {

void require_plain_encoder(const ConfigReader& config) {
  if (config.text("position_embedding_type", "absolute") != "absolute")
    config.wrong("position_embedding_type", "\"absolute\"");
  config.require_flag("is_decoder", false, false);
  config.require_flag("add_cross_attention", false, false);
}

int64_t tokens_of_table(const ConfigReader& config, int64_t rows, int64_t padding_id) {
  if (padding_id < 0) config.wrong("pad_token_id", "at least 0");
  if (rows - 1 <= padding_id)
    config.wrong("max_position_embeddings",
                 fmt::format("greater than pad_token_id + 1, where pad_token_id is {}", padding_id));
  return rows - padding_id - 1;
}

void add_embeddings(Layout& layout, const EncoderModelOptions& parts) {
  const nn::EmbeddingsOptions& e = parts.embeddings;
  const Layout::Scope embeddings(layout, "embeddings.", "embeddings.");
  layout.tensor("token.weight", "word_embeddings.weight", {parts.vocab, parts.d_model});
  if (e.max_length > 0)
    layout.tensor("position.weight", "position_embeddings.weight",
                  {e.max_length + (e.positions_skip_padding ? parts.padding_id + 1 : 0), parts.d_model});
  if (e.segments > 0) layout.tensor("segment.weight", "token_type_embeddings.weight", {e.segments, parts.d_model});
  layout.norm("norm", "LayerNorm", parts.d_model);
  layout.ignore("embeddings.position_ids");
}

void add_layers(Layout& layout, const EncoderModelOptions& parts, const std::string& theirs, const LayerNames& names) {
  for (size_t i = 0; i < parts.layers.size(); ++i) {
    const int64_t width = parts.layers[i].d_model, inner = parts.layers[i].d_ff;
    const Layout::Scope layer(layout, fmt::format("encoder.layers.{}.", i), fmt::format("{}{}.", theirs, i));
    layout.linear("self_attention.query", names.query, width, width);
    layout.linear("self_attention.key", names.key, width, width);
    layout.linear("self_attention.value", names.value, width, width);
    layout.linear("self_attention.output", names.output, width, width);
    layout.linear("feed_forward.linear1", names.linear1, width, inner);
    layout.linear("feed_forward.linear2", names.linear2, inner, width);
    layout.norm("norm1", names.norm1, width);
    layout.norm("norm2", names.norm2, width);
  }
}

void add_pooler(Layout& layout, const EncoderModelOptions& parts) {
  const int64_t width = parts.d_model;
  if (parts.pooler)
    layout.linear("pooler.dense", "pooler.dense", width, width);
  else if (!layout.file_scope().empty())
    layout.ignore(fmt::format("{}pooler.", layout.file_scope()));
}

}  // namespace tape::models::hugging_face
