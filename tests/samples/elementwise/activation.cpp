#include "autograd/ops/elementwise/activation.h"
#include "autograd/tape/op.h"
#include "tests/samples/elementwise/unary_samples.h"

namespace tape {
namespace {

std::vector<OpSample> softplus_samples() {
  auto of = [](const SoftplusOptions& options) {
    return [options](const Tensors& in) { return softplus(in[0], options); };
  };
  return std::vector<OpSample>{{"matrix", {sample_uniform({3, 4}, -3, 3)}, of({})},
                               {"large beta", {sample_uniform({2, 3}, -2, 2)}, of({.beta = 2.5})},
                               {"threshold", {sample_uniform({2, 3}, 2, 4)}, of({.threshold = 1})},
                               {"empty", {sample_uniform({2, 0}, -3, 3)}, of({})}};
}

const OpSamples samples_of_softplus("softplus", softplus_samples);

std::vector<OpSample> leaky_relu_samples() {
  auto of = [](double slope) { return [slope](const Tensors& in) { return leaky_relu(in[0], slope); }; };
  return std::vector<OpSample>{{"matrix", {sample_distinct({3, 4})}, of(0.01)},
                               {"negative slope", {sample_distinct({2, 3})}, of(-0.5)},
                               {"rank 0", {sample_distinct({})}, of(0.2)}};
}

const OpSamples samples_of_leaky_relu("leaky_relu", leaky_relu_samples);

std::vector<OpSample> elu_samples() {
  auto of = [](double alpha) { return [alpha](const Tensors& in) { return elu(in[0], alpha); }; };
  return std::vector<OpSample>{{"matrix", {sample_distinct({3, 4})}, of(1)},
                               {"alpha", {sample_distinct({2, 3})}, of(1.5)},
                               {"rank 0", {sample_distinct({})}, of(0.2)}};
}

const OpSamples samples_of_elu("elu", elu_samples);
const OpSamples samples_of_mish("mish", unary_samples(mish, -3, 3));

}  // namespace
}  // namespace tape
