#include "models/gpt_neox.h"

#include "autograd/create.h"
#include "base/check.h"
#include "nn/gradcheck/check.h"

namespace tape::models {
namespace {

GptNeoXConfig small_neox(bool parallel) {
  return {.vocab = 5,
          .d_model = 8,
          .layers = 1,
          .heads = 2,
          .d_ff = 5,
          .rotary = {.fraction = 0.5},
          .parallel = parallel,
          .dropout = 0.2,
          .init_std = 0.5};
}

const nn::ModuleCheck parallel_check("GptNeoX", "parallel", [](const nn::Checker& check) {
  GptNeoX model(small_neox(true));
  return check(model, {tensor({{1, 2, 4}, {3, 1, 0}}, i64)});
});
const nn::ModuleCheck behind_check("GptNeoX", "one behind the other, without biases", [](const nn::Checker& check) {
  GptNeoXConfig config = small_neox(false);
  config.attention_bias = false;
  GptNeoX model(config);
  return check(model, {tensor({{1, 2, 4}, {3, 1, 0}}, i64)});
});

CausalLMOptions parts_of(const GptNeoXConfig& c) {
  check(c);
  const nn::TransformerLayerOptions layer{
      .d_model = c.d_model,
      .heads = c.heads,
      .d_ff = c.d_ff,
      .dropout = c.dropout,
      .activation = c.activation,
      .norm = nn::NormPlace::pre,
      .norm_eps = c.norm_eps,
      .attention_dropout = c.attention_dropout,
      .activation_dropout = 0,
      .rotary = c.rotary,
      .attention_bias = c.attention_bias,
      .attention_output_bias = c.attention_bias,
      .residual = c.parallel ? nn::ResidualKind::parallel : nn::ResidualKind::sequential};
  return {.embeddings = {.vocab = c.vocab, .d_model = c.d_model, .max_length = 0, .norm_eps = {}, .dropout = c.dropout},
          .layers = std::vector(static_cast<size_t>(c.layers), layer),
          .tie_output = c.tie_output,
          .bos_id = c.bos_id,
          .eos_ids = c.eos_ids,
          .init_std = c.init_std};
}

}  // namespace

void check(const GptNeoXConfig& c) {
  check_at_least_one("GptNeoX", {{"vocab", c.vocab},
                                 {"d_model", c.d_model},
                                 {"layers", c.layers},
                                 {"heads", c.heads},
                                 {"d_ff", c.d_ff},
                                 {"max_length", c.max_length}});
  if (c.d_model % c.heads != 0)
    raise(ErrorKind::config, "GptNeoX: d_model {} is not divisible by heads {}", c.d_model, c.heads);
}

GptNeoX::GptNeoX(const GptNeoXConfig& c) : CausalLM(parts_of(c)), config_(c) {}

}  // namespace tape::models
