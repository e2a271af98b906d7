#include "models/heads/masked_language_model.h"
#include "autograd/create.h"
#include "nn/gradcheck/check.h"

namespace tape::models {
namespace {

const nn::ModuleCheck masked_check("MaskedLanguageModel", "small", [](const nn::Checker& check) {
  MaskedLanguageModel model(detail::small_bert());
  return check(model, {tensor({{1, 2, 4}, {3, 1, 0}}, i64)}, "key.bias");
});

}  // namespace
}  // namespace tape::models
