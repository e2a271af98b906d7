#include "models/encoders/mpnet.h"
#include "autograd/create.h"
#include "nn/gradcheck/check.h"

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
}  // namespace tape::models
