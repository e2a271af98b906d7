#include <cmath>

#include "models/sentence/sentence_modules.h"
#include "nn/gradcheck/check.h"

namespace tape::models {
namespace {

const nn::ModuleCheck dense_check("SentenceModule", "dense with a projected residual", [](const nn::Checker& check) {
  SentenceModule layer(
      {.kind = SentenceModuleKind::dense, .in = 4, .out = 3, .activation = nn::ActivationKind::tanh, .residual = true});
  return check(layer, {sample_normal({2, 4})});
});

const nn::ModuleCheck norm_check("SentenceModule", "layer norm", [](const nn::Checker& check) {
  SentenceModule layer({.kind = SentenceModuleKind::layer_norm, .in = 4, .out = 4});
  return check(layer, {sample_normal({2, 4})});
});

}  // namespace
}  // namespace tape::models
