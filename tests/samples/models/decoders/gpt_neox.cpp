#include "models/decoders/gpt_neox.h"
#include "autograd/create.h"
#include "nn/gradcheck/check.h"
#include "tests/samples/models/small_models.h"

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

const nn::ModuleCheck sequential_check("GptNeoX", "sequential residual, without biases", [](const nn::Checker& check) {
  GptNeoXConfig config = small_neox(false);
  config.attention_bias = false;
  GptNeoX model(config);
  return check(model, {tensor({{1, 2, 4}, {3, 1, 0}}, i64)});
});

const SmallModels small_neoxes([] { return made_of<GptNeoX>({small_neox(true), small_neox(false)}); });

}  // namespace
}  // namespace tape::models
