#include "models/heads/token_classifier.h"
#include "autograd/create.h"
#include "nn/gradcheck/check.h"

namespace tape::models {
namespace {

const nn::ModuleCheck token_check("TokenClassifier", "small", [](const nn::Checker& check) {
  TokenClassifier model({.encoder = detail::small_bert(), .num_labels = 3});
  return check(model, {tensor({{1, 2, 4}, {3, 1, 0}}, i64)}, "key.bias");
});

}  // namespace
}  // namespace tape::models
