#include "autograd/kernels/loss/loss.h"
#include "autograd/create.h"
#include "autograd/ops/loss/loss.h"
#include "autograd/tape/op.h"

namespace tape {
namespace {

std::vector<OpSample> cross_entropy_samples() {
  const Tensor target = tensor({{1, 0, 4}, {2, 2, 3}}, i64);
  const auto with = [target](const char* label, const CrossEntropyOptions& options) {
    return OpSample{
        label, {sample_normal({2, 3, 5})}, [=](const Tensors& in) { return cross_entropy(in[0], target, options); }};
  };
  const Tensor weight = sample_uniform({5}, 0.5, 2);
  return std::vector{with("mean", {}),
                     with("sum", {.reduction = Reduction::sum}),
                     with("no reduction", {.reduction = Reduction::none}),
                     with("ignored", {.ignore_index = 2}),
                     with("smoothed", {.ignore_index = 0, .label_smoothing = 0.1}),
                     with("weighted", {.ignore_index = 2, .weight = weight}),
                     with("everything", {.ignore_index = 0, .label_smoothing = 0.2, .weight = weight})};
}

const OpSamples samples_of_cross_entropy("cross_entropy", cross_entropy_samples);

}  // namespace
}  // namespace tape
