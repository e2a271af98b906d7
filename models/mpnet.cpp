#include "models/mpnet.h"

#include "autograd/create.h"
#include "base/check.h"
#include "nn/check.h"

namespace tape::models {
namespace {

const nn::ModuleCheck mpnet_check("MPNet", "small", [](const nn::Checker& check) {
  MPNet model({.vocab = 6,
               .d_model = 4,
               .layers = 1,
               .heads = 2,
               .d_ff = 5,
               .max_length = 3,
               .dropout = 0.2,
               .pooler = false,
               .init_std = 0.5});
  return check(model, {tensor({{5, 2, 4}, {3, 0, 2}}, i64)}, "key.bias");
});

}  // namespace

EncoderModelOptions parts_of(const MPNetConfig& c) {
  check_at_least_one("MPNet", {{"vocab", c.vocab},
                               {"d_model", c.d_model},
                               {"layers", c.layers},
                               {"heads", c.heads},
                               {"d_ff", c.d_ff},
                               {"max_length", c.max_length}});
  if (c.padding_id < 0 || c.padding_id >= c.vocab)
    raise(ErrorKind::config, "MPNet: padding_id {} is outside [0, {})", c.padding_id, c.vocab);
  EncoderModelOptions parts = encoder_parts(
      "mpnet", {.vocab = c.vocab, .max_length = c.max_length, .padding_id = c.padding_id, .layers = c.layers},
      {.d_model = c.d_model,
       .heads = c.heads,
       .d_ff = c.d_ff,
       .dropout = c.dropout,
       .activation = c.activation,
       .norm = nn::NormPlace::post,
       .norm_eps = c.norm_eps,
       .attention_dropout = c.attention_dropout,
       .activation_dropout = 0});
  parts.embeddings.positions_skip_padding = true;
  parts.relative_bias = nn::RelativeBiasOptions{.buckets = 32, .max_distance = 128};
  parts.pooler = c.pooler;
  parts.masked_token.activation = nn::ActivationKind::gelu;  // whatever the layers have
  parts.sequence = {.dropout = c.dropout, .activation = nn::ActivationKind::tanh, .input_dropout = c.dropout};
  parts.init_std = c.init_std;
  return parts;
}

}  // namespace tape::models
