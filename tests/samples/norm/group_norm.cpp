#include "autograd/ops/norm/group_norm.h"
#include "autograd/tape/op.h"

namespace tape {
namespace {

std::vector<OpSample> group_norm_samples() {
  auto into = [](int64_t groups) {
    return [=](const Tensors& in) {
      return group_norm(in[0], groups, in.size() > 1 ? in[1] : Tensor(), in.size() > 2 ? in[2] : Tensor());
    };
  };
  return {{"two groups", {sample_normal({2, 4, 3}, 1), sample_normal({4}, 2), sample_normal({4}, 3)}, into(2)},
          {"weight only", {sample_normal({2, 3, 2, 2}, 1), sample_normal({3}, 2)}, into(3)},
          {"plain, rank 2", {sample_normal({3, 6}, 1)}, into(2)},
          {"empty batch", {sample_normal({0, 2, 3}, 1), sample_normal({2}, 2), sample_normal({2}, 3)}, into(1)}};
}

const OpSamples samples_of_group_norm("group_norm", group_norm_samples);

}  // namespace
}  // namespace tape
