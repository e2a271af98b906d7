#include "autograd/kernels/norm/norm.h"
#include "autograd/ops/norm/norm.h"
#include "autograd/tape/op.h"

namespace tape {
namespace {

std::vector<OpSample> layer_norm_samples() {
  auto call = [](const Tensors& in) {
    return layer_norm(in[0], in.size() > 1 ? in[1] : Tensor(), in.size() > 2 ? in[2] : Tensor());
  };
  return std::vector<OpSample>{
      {"weight and bias", {sample_normal({2, 3, 5}, 1), sample_normal({5}, 2), sample_normal({5}, 3)}, call},
      {"weight only", {sample_normal({4, 6}, 1), sample_normal({6}, 2)}, call},
      {"plain", {sample_normal({3, 4}, 1)}, call},
      {"one row", {sample_normal({7}, 1), sample_normal({7}, 2), sample_normal({7}, 3)}, call},
      {"no rows", {sample_normal({0, 4}, 1), sample_normal({4}, 2), sample_normal({4}, 3)}, call}};
}

const OpSamples samples_of_layer_norm("layer_norm", layer_norm_samples);

std::vector<OpSample> rms_norm_samples() {
  auto call = [](const Tensors& in) { return rms_norm(in[0], in.size() > 1 ? in[1] : Tensor()); };
  return std::vector<OpSample>{{"weight", {sample_normal({2, 3, 5}, 1), sample_normal({5}, 2)}, call},
                               {"plain", {sample_normal({3, 4}, 1)}, call},
                               {"one row", {sample_normal({7}, 1), sample_normal({7}, 2)}, call},
                               {"no rows", {sample_normal({0, 4}, 1), sample_normal({4}, 2)}, call}};
}

const OpSamples samples_of_rms_norm("rms_norm", rms_norm_samples);

}  // namespace
}  // namespace tape
