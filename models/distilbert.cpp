#include "models/distilbert.h"

#include "autograd/create.h"
#include "base/check.h"
#include "nn/check.h"

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
  check_at_least_one("DistilBert", {{"vocab", c.vocab},
                                    {"d_model", c.d_model},
                                    {"layers", c.layers},
                                    {"heads", c.heads},
                                    {"d_ff", c.d_ff},
                                    {"max_length", c.max_length}});
  EncoderModelOptions parts = encoder_parts(
      "distilbert", {.vocab = c.vocab, .max_length = c.max_length, .padding_id = c.padding_id, .layers = c.layers},
      {.d_model = c.d_model,
       .heads = c.heads,
       .d_ff = c.d_ff,
       .dropout = c.dropout,
       .activation = c.activation,
       .norm = nn::NormPlace::post,
       .norm_eps = kNormEps,
       .attention_dropout = c.attention_dropout,
       .activation_dropout = 0,
       .dropped = nn::DroppedOutputs::feed_forward});
  parts.sequence = {.dropout = c.sequence_dropout, .activation = nn::ActivationKind::relu};
  parts.span.dropout = c.span_dropout;
  parts.init_std = c.init_std;
  return parts;
}

}  // namespace tape::models
