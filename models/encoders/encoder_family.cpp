#include "models/encoders/encoder_family.h"

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
                 fmt::format("more than pad_token_id + 1, pad_token_id being {}", padding_id));
  return rows - padding_id - 1;
}

void add_embeddings(Layout& layout, const EncoderModelOptions& parts, const std::string& ours,
                    const std::string& theirs) {
  const nn::EmbeddingsOptions& e = parts.embeddings;
  const auto table = [&](const char* own, const char* their, int64_t rows) {
    layout.tensor(fmt::format("{}embeddings.{}.weight", ours, own),
                  fmt::format("{}embeddings.{}.weight", theirs, their), {rows, e.d_model});
  };
  table("token", "word_embeddings", e.vocab);
  if (e.max_length > 0)
    table("position", "position_embeddings", e.max_length + (e.positions_skip_padding ? parts.padding_id + 1 : 0));
  if (e.segments > 0) table("segment", "token_type_embeddings", e.segments);
  layout.norm(fmt::format("{}embeddings.norm", ours), fmt::format("{}embeddings.LayerNorm", theirs), e.d_model);
  layout.ignore("embeddings.position_ids");
}

void add_layers(Layout& layout, const EncoderModelOptions& parts, const std::string& ours, const std::string& theirs,
                const LayerNames& names) {
  for (size_t i = 0; i < parts.layers.size(); ++i) {
    const int64_t width = parts.layers[i].d_model, inner = parts.layers[i].d_ff;
    const std::string own = fmt::format("{}encoder.layers.{}.", ours, i), their = fmt::format("{}{}.", theirs, i);
    const auto linear = [&](const char* a, const char* b, int64_t in, int64_t out) {
      layout.linear(fmt::format("{}{}", own, a), fmt::format("{}{}", their, b), in, out);
    };
    linear("self_attention.query", names.query, width, width);
    linear("self_attention.key", names.key, width, width);
    linear("self_attention.value", names.value, width, width);
    linear("self_attention.output", names.output, width, width);
    linear("feed_forward.linear1", names.linear1, width, inner);
    linear("feed_forward.linear2", names.linear2, inner, width);
    layout.norm(fmt::format("{}norm1", own), fmt::format("{}{}", their, names.norm1), width);
    layout.norm(fmt::format("{}norm2", own), fmt::format("{}{}", their, names.norm2), width);
  }
}

void add_pooler(Layout& layout, const EncoderModelOptions& parts, const std::string& ours, const std::string& theirs) {
  const int64_t width = parts.embeddings.d_model;
  if (parts.pooler)
    layout.linear(fmt::format("{}pooler.dense", ours), fmt::format("{}pooler.dense", theirs), width, width);
  else if (!theirs.empty())
    layout.ignore(fmt::format("{}pooler.", theirs));
}

void add_masked_head(Layout& layout, const EncoderModelOptions& parts, const std::string& table,
                     const MaskedHeadNames& names) {
  const int64_t width = parts.embeddings.d_model;
  layout.linear("head.dense", names.dense, width, width);
  layout.norm("head.norm", names.norm, width);
  layout.tensor("head.decoder.bias", names.bias, {parts.embeddings.vocab});
  if (names.weight_copy) layout.copy(names.weight_copy, table);
  if (names.bias_copy) layout.copy(names.bias_copy, names.bias);
}

}  // namespace tape::models::hugging_face
