#include "models/encoders/deberta.h"
#include "autograd/create.h"
#include "nn/gradcheck/check.h"

namespace tape::models {
namespace {

const nn::ModuleCheck deberta_check("Deberta", "small", [](const nn::Checker& check) {
  Deberta model({.vocab = 6,
                 .d_model = 4,
                 .layers = 1,
                 .heads = 2,
                 .d_ff = 5,
                 .max_length = 4,
                 .dropout = 0.2,
                 .max_relative_positions = 8,
                 .position_buckets = 2,
                 .padding_id = 5,
                 .init_std = 0.5});
  return check(model, {tensor({{1, 2, 4}, {3, 1, 0}}, i64)});
});

}  // namespace
}  // namespace tape::models
