#include <cmath>

#include "autograd/ops/norm/gumbel_softmax.h"
#include "autograd/tape/op.h"

namespace tape {
namespace {

std::vector<OpSample> gumbel_softmax_samples() {
  const auto of = [](const char* label, const Shape& shape, const GumbelSoftmaxOptions& options) {
    return OpSample{label, {sample_normal(shape)}, [options](const Tensors& in) {
                      generator(Stream::sampling).set_state(5, 11);
                      return gumbel_softmax(in[0], options);
                    }};
  };
  return std::vector{of("rows", {2, 4}, {}), of("high temperature", {3, 2}, {.tau = 2.5, .axis = 0}),
                     of("empty", {0, 3}, {.tau = 0.5})};
}

const OpSamples samples_of_gumbel_softmax("gumbel_softmax", gumbel_softmax_samples);

}  // namespace
}  // namespace tape
