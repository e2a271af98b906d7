#include "models/encoders/modern_bert.h"
#include "autograd/create.h"
#include "nn/gradcheck/check.h"

namespace tape::models {
namespace {

const nn::ModuleCheck modern_bert_check("ModernBert", "global and local layer", [](const nn::Checker& check) {
  ModernBert model({.vocab = 6,
                    .d_model = 4,
                    .layers = 2,
                    .heads = 2,
                    .d_ff = 5,
                    .local_attention = 2,
                    .dropout = 0.2,
                    .attention_dropout = 0.2,
                    .padding_id = 5,
                    .init_std = 0.5});
  return check(model, {tensor({{1, 2, 4}, {3, 1, 0}}, i64)});
});

}  // namespace
}  // namespace tape::models
