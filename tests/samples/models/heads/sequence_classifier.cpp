#include "models/heads/sequence_classifier.h"
#include "autograd/create.h"
#include "autograd/random.h"
#include "nn/gradcheck/check.h"

namespace tape::models {
namespace {

template <nn::Pooling pooling>
GradcheckReport check_small(const nn::Checker& check) {
  manual_seed(1);
  SequenceClassifier model({.encoder = detail::small_bert(), .num_labels = 3, .pooling = pooling});
  return check(model, {tensor({{1, 2, 4}, {3, 1, 5}}, i64)}, "key.bias");
}

const nn::ModuleCheck first_check("SequenceClassifier", "first position", check_small<nn::Pooling::first>);

const nn::ModuleCheck mean_check("SequenceClassifier", "mean", check_small<nn::Pooling::mean>);

}  // namespace
}  // namespace tape::models
