#include <cmath>

#include "nn/gradcheck/check.h"
#include "nn/transformer/heads.h"

namespace tape::nn {
namespace {

const ModuleCheck pooler_check("Pooler", "first position", [](const Checker& check) {
  Pooler layer(3);
  return check(layer, {sample_normal({2, 4, 3})});
});

const ModuleCheck classification_check("ClassificationHead", "three labels", [](const Checker& check) {
  ClassificationHead layer(4, 3, {.dropout = 0.2});
  return check(layer, {sample_normal({2, 4})});
});

const ModuleCheck dense_check("ClassificationHead", "dense layer and norm first", [](const Checker& check) {
  ClassificationHead layer(
      4, 3,
      {.dropout = 0.2, .activation = ActivationKind::tanh, .input_dropout = 0.2, .norm_eps = 1e-5, .norm_bias = false});
  return check(layer, {sample_normal({2, 3, 4})});
});

const ModuleCheck masked_check("MaskedTokenHead", "gelu", [](const Checker& check) {
  MaskedTokenHead layer(4, 5);
  return check(layer, {sample_normal({2, 3, 4})});
});

const ModuleCheck masked_without_biases("MaskedTokenHead", "without biases", [](const Checker& check) {
  MaskedTokenHead layer(4, 5, {.dense_bias = false});
  return check(layer, {sample_normal({2, 3, 4})});
});

const ModuleCheck logits_check("NextTokenHead", "logits", [](const Checker& check) {
  NextTokenHead layer(4, 5, {.bias = true});
  return check(layer, {sample_normal({2, 3, 4})});
});

const ModuleCheck probabilities_check("NextTokenHead", "probabilities", [](const Checker& check) {
  NextTokenHead layer(4, 5, {.output = TokenOutput::probabilities});
  return check(layer, {sample_normal({2, 3, 4})});
});

}  // namespace
}  // namespace tape::nn
