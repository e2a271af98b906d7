#include "models/gpt.h"

#include "autograd/create.h"
#include "base/check.h"
#include "nn/gradcheck/check.h"

namespace tape::models {
namespace {

GptConfig small_gpt(bool tied) {
  return {.vocab = 5,
          .d_model = 4,
          .layers = 1,
          .heads = 2,
          .d_ff = 5,
          .max_length = 4,
          .tie_output = tied,
          .init_std = 0.5};
}

const nn::ModuleCheck tied_check("Gpt", "tied", [](const nn::Checker& check) {
  Gpt model(small_gpt(true));
  return check(model, {tensor({{1, 2, 4}, {3, 1, 0}}, i64)}, "key.bias");
});
const nn::ModuleCheck apart_check("Gpt", "output of its own, probabilities", [](const nn::Checker& check) {
  GptConfig config = small_gpt(false);
  config.output = nn::TokenOutput::probabilities;
  Gpt model(config);
  return check(model, {tensor({{1, 2, 4}, {3, 1, 0}}, i64)}, "key.bias");
});

GptConfig completed(GptConfig c) {
  check_at_least_one("Gpt", {{"vocab", c.vocab},
                             {"d_model", c.d_model},
                             {"layers", c.layers},
                             {"heads", c.heads},
                             {"max_length", c.max_length}});
  if (c.d_ff < 0) raise(ErrorKind::config, "Gpt: d_ff must not be negative, got {}", c.d_ff);
  if (c.d_ff == 0) c.d_ff = 4 * c.d_model;
  return c;
}

CausalLMOptions parts_of(const GptConfig& c) {
  const nn::TransformerLayerOptions layer{.d_model = c.d_model,
                                          .heads = c.heads,
                                          .d_ff = c.d_ff,
                                          .dropout = c.dropout,
                                          .activation = c.activation,
                                          .norm = nn::NormPlace::pre,
                                          .norm_eps = c.norm_eps,
                                          .attention_dropout = c.attention_dropout,
                                          .activation_dropout = 0};
  return {.embeddings = {.vocab = c.vocab,
                         .d_model = c.d_model,
                         .max_length = c.max_length,
                         .norm_eps = {},
                         .dropout = c.embedding_dropout},
          .layers = std::vector(static_cast<size_t>(c.layers), layer),
          .output = c.output,
          .tie_output = c.tie_output,
          .bos_id = c.bos_id,
          .eos_ids = c.eos_ids,
          .init_std = c.init_std};
}

}  // namespace

Gpt::Gpt(const GptConfig& c) : CausalLM(parts_of(completed(c))), config_(completed(c)) {}

}  // namespace tape::models
