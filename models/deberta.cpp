#include "models/deberta.h"

#include "autograd/create.h"
#include "base/check.h"
#include "nn/check.h"

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
  check_at_least_one("Deberta", {{"vocab", c.vocab},
                                 {"d_model", c.d_model},
                                 {"layers", c.layers},
                                 {"heads", c.heads},
                                 {"d_ff", c.d_ff},
                                 {"max_length", c.max_length},
                                 {"max_relative_positions", c.max_relative_positions}});
  nn::DisentangledAttentionOptions attention{.max_distance = c.max_relative_positions,
                                             .terms = c.terms,
                                             .buckets = c.position_buckets,
                                             .share_projections = c.share_projections,
                                             .position_dropout = c.dropout};
  if (c.norm_positions) attention.rows_norm_eps = c.norm_eps;
  EncoderModelOptions parts = encoder_parts("deberta",
                                            {.vocab = c.vocab,
                                             .max_length = c.max_length,
                                             .segments = c.segments,
                                             .padding_id = c.padding_id,
                                             .layers = c.layers},
                                            {.d_model = c.d_model,
                                             .heads = c.heads,
                                             .d_ff = c.d_ff,
                                             .dropout = c.dropout,
                                             .activation = c.activation,
                                             .norm = nn::NormPlace::post,
                                             .norm_eps = c.norm_eps,
                                             .attention_dropout = c.attention_dropout,
                                             .activation_dropout = 0,
                                             .disentangled = attention});
  if (!c.position_table) parts.embeddings.max_length = 0;
  parts.sequence = {.dropout = c.dropout, .activation = c.pooler_activation, .input_dropout = c.pooler_dropout};
  parts.soft_labels = true;
  parts.init_std = c.init_std;
  return parts;
}

}  // namespace tape::models
