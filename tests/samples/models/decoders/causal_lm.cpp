#include <cmath>

#include "autograd/create.h"
#include "models/decoders/causal_lm.h"
#include "nn/gradcheck/check.h"

namespace tape::models {
namespace {

const nn::ModuleCheck mixed_check("CausalLM", "different layers", [](const nn::Checker& check) {
  const nn::TransformerLayerOptions first{.d_model = 4,
                                          .heads = 2,
                                          .d_ff = 5,
                                          .activation = nn::ActivationKind::silu,
                                          .norm = nn::NormPlace::pre,
                                          .bias = false,
                                          .rotary = nn::RotaryOptions{}};
  nn::TransformerLayerOptions second = first;
  second.kv_heads = 1;
  CausalLM model({.vocab = 5,
                  .d_model = 4,
                  .embeddings = {.max_length = 0, .norm_eps = {}},
                  .layers = {first, second},
                  .init_std = 0.5});
  return check(model, {tensor({{1, 2, 4}, {3, 1, 0}}, i64)});
});

}  // namespace
}  // namespace tape::models
