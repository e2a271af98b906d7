#include "models/distilbert.h"

#include "autograd/create.h"
#include "models/encoder_sizes.h"
#include "nn/gradcheck/check.h"

namespace tape::models {
namespace {

const nn::ModuleCheck distilbert_check("DistilBert", "small", [](const nn::Checker& check) {
  DistilBert model({.vocab = 6,
                    .d_model = 4,
                    .layers = 1,
                    .heads = 2,
                    .d_ff = 5,
                    .max_length = 3,
                    .dropout = 0.2,
                    .padding_id = 5,
                    .init_std = 0.5});
  return check(model, {tensor({{1, 2, 4}, {3, 1, 0}}, i64)}, "key.bias");
});

constexpr double kNormEps = 1e-12;

}  // namespace

EncoderModelOptions parts_of(const DistilBertConfig& c) {
  nn::TransformerLayerOptions layer = post_norm_layer(c, kNormEps);
  layer.dropped = nn::DroppedOutputs::feed_forward;
  EncoderModelOptions parts = encoder_parts("distilbert", encoder_sizes("DistilBert", c), layer);
  parts.sequence = {.dropout = c.sequence_dropout, .activation = nn::ActivationKind::relu};
  parts.span.dropout = c.span_dropout;
  parts.init_std = c.init_std;
  return parts;
}

}  // namespace tape::models
