#include <vector>

#include "autograd/create.h"
#include "autograd/ops/loss/linear_cross_entropy.h"
#include "autograd/tape/op.h"

namespace tape {
namespace {

std::vector<OpSample> linear_cross_entropy_samples() {
  const Tensor target = tensor({{1, 0, 4}, {2, 2, 3}}, i64);
  const Tensor x = sample_normal({2, 3, 4}, 1), weight = sample_normal({5, 4}, 2), bias = sample_normal({5}, 3);
  const auto with = [=](const char* label, const CrossEntropyOptions& options, bool has_bias = true) {
    return OpSample{label, has_bias ? Tensors{x, weight, bias} : Tensors{x, weight}, [=](const Tensors& in) {
                      return linear_cross_entropy(in[0], in[1], has_bias ? in[2] : Tensor(), target, options, 2);
                    }};
  };
  return std::vector{with("mean", {}), with("sum without bias", {.reduction = Reduction::sum}, false),
                     with("ignored", {.ignore_index = 2}),
                     with("smoothed", {.ignore_index = 0, .label_smoothing = 0.1}),
                     with("weighted", {.ignore_index = 2, .weight = sample_uniform({5}, 0.5, 2)})};
}

const OpSamples samples_of_linear_cross_entropy("linear_cross_entropy", linear_cross_entropy_samples);

}  // namespace
}  // namespace tape
