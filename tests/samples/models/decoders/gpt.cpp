#include "models/decoders/gpt.h"
#include "autograd/create.h"
#include "nn/gradcheck/check.h"
#include "tests/samples/models/small_models.h"

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

const nn::ModuleCheck untied_check("Gpt", "untied output, probabilities", [](const nn::Checker& check) {
  GptConfig config = small_gpt(false);
  config.output = nn::TokenOutput::probabilities;
  Gpt model(config);
  return check(model, {tensor({{1, 2, 4}, {3, 1, 0}}, i64)}, "key.bias");
});

const SmallModels small_gpts([] { return made_of<Gpt>({small_gpt(true), small_gpt(false)}); });

}  // namespace
}  // namespace tape::models
