#include <cmath>

#include "autograd/create.h"
#include "autograd/ops/norm/batch_norm.h"
#include "autograd/tape/op.h"

namespace tape {
namespace {

std::vector<OpSample> batch_norm_samples() {
  const Tensor running_mean = tensor({0.4, -0.3, 0.1}, f64), running_var = tensor({0.5, 1.5, 2}, f64);
  auto in_training = [](const Tensors& in) {
    return batch_norm(in[0], {}, {}, in.size() > 1 ? in[1] : Tensor(), in.size() > 2 ? in[2] : Tensor(),
                      {.training = true});
  };
  auto with_running = [=](const Tensors& in) {
    return batch_norm(in[0], running_mean.to(in[0].dtype()), running_var.to(in[0].dtype()),
                      in.size() > 1 ? in[1] : Tensor(), in.size() > 2 ? in[2] : Tensor());
  };
  const Tensor weight = sample_normal({3}, 2), bias = sample_normal({3}, 3);
  return {{"training", {sample_normal({2, 3, 4}, 1), weight, bias}, in_training},
          {"training, rank 2", {sample_normal({5, 3}, 1), weight, bias}, in_training},
          {"training, plain", {sample_normal({2, 3, 2, 2}, 1)}, in_training},
          {"running statistics", {sample_normal({2, 3, 2}, 1), weight, bias}, with_running},
          {"running statistics, plain", {sample_normal({2, 3}, 1)}, with_running},
          {"empty batch", {sample_normal({0, 3, 2}, 1), weight, bias}, in_training}};
}

const OpSamples samples_of_batch_norm("batch_norm", batch_norm_samples);

}  // namespace
}  // namespace tape
