#include <cmath>

#include "autograd/create.h"
#include "models/encoder_decoders/t5.h"
#include "nn/gradcheck/check.h"
#include "tests/samples/models/small_models.h"

namespace tape::models {
namespace {

T5Config small_t5(T5Kind kind) {
  return {.kind = kind,
          .vocab = 5,
          .d_model = 4,
          .layers = 1,
          .decoder_layers = 1,
          .heads = 2,
          .head_width = 3,
          .d_ff = 5,
          .relative_bias = {.buckets = 4, .max_distance = 3}};
}

T5Config small_mt5() {
  T5Config c = small_t5(T5Kind::mt5);
  c.gated = true, c.activation = nn::ActivationKind::gelu_tanh;
  c.scale_output = c.tie_output = false;
  return c;
}

const nn::ModuleCheck t5_check("T5", "1.0: tied, scaled output", [](const nn::Checker& check) {
  T5Config config = small_t5(T5Kind::t5);
  config.activation = nn::ActivationKind::silu;  // relu has a kink
  T5 model(config);
  return check(model, {tensor({{4, 2, 1}, {3, 1, 0}}, i64), tensor({{0, 4}, {0, 3}}, i64)});
});

const nn::ModuleCheck t5_gated_check("T5", "1.1: gated, untied", [](const nn::Checker& check) {
  T5 model(small_mt5());
  return check(model, {tensor({{4, 2, 1}, {3, 1, 0}}, i64), tensor({{0, 4}, {0, 3}}, i64)});
});

const SmallModels small_t5s([] { return made_of<T5>({small_t5(T5Kind::t5), small_mt5()}); });

}  // namespace
}  // namespace tape::models
