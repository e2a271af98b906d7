#include "models/deberta.h"

#include "autograd/create.h"
#include "models/encoder_sizes.h"
#include "nn/gradcheck/check.h"

namespace tape::models {
namespace {

const nn::ModuleCheck deberta_check("Deberta", "small", [](const nn::Checker& check) {
  Deberta model({.vocab = 6,
                 .d_model = 4,
                 .layers = 1,
                 .heads = 2,
                 .d_ff = 5,
                 .max_length = 4,
                 .dropout = 0.2,
                 .max_relative_positions = 8,
                 .position_buckets = 2,
                 .padding_id = 5,
                 .init_std = 0.5});
  return check(model, {tensor({{1, 2, 4}, {3, 1, 0}}, i64)});
});

}  // namespace

EncoderModelOptions parts_of(const DebertaConfig& c) {
  const EncoderSizes sizes = encoder_sizes("Deberta", c);
  check_at_least_one("Deberta", {{"max_relative_positions", c.max_relative_positions}});
  nn::TransformerLayerOptions layer = post_norm_layer(c, c.norm_eps);
  layer.disentangled = nn::DisentangledAttentionOptions{.max_distance = c.max_relative_positions,
                                                        .terms = c.terms,
                                                        .buckets = c.position_buckets,
                                                        .share_projections = c.share_projections,
                                                        .position_dropout = c.dropout};
  if (c.norm_positions) layer.disentangled->rows_norm_eps = c.norm_eps;
  EncoderModelOptions parts = encoder_parts("deberta", sizes, layer);
  if (!c.position_table) parts.embeddings.max_length = 0;
  parts.sequence = {.dropout = c.dropout, .activation = c.pooler_activation, .input_dropout = c.pooler_dropout};
  parts.soft_labels = true;
  parts.init_std = c.init_std;
  return parts;
}

}  // namespace tape::models
