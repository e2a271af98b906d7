#include "autograd/ops/elementwise/dropout.h"
#include "autograd/tape/op.h"

namespace tape {
namespace {

std::vector<OpSample> dropout_samples() {
  auto drawn = [](const Tensors& in) {
    generator(Stream::dropout).set_state(5, 11);
    return dropout(in[0], 0.4);
  };
  auto call = [](const Tensors& in) { return seeded_dropout(in[0], 0.4, 7, 3); };
  return std::vector<OpSample>{{"matrix", {sample_normal({4, 5})}, call},
                               {"default stream", {sample_normal({4, 5})}, drawn},
                               {"empty", {sample_normal({0, 5})}, call}};
}

const OpSamples samples_of_dropout("dropout", dropout_samples);

}  // namespace
}  // namespace tape
