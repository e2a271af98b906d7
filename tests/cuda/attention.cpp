// Attention of few queries on the emulated device, which has kernels of its own for inference.
#include "autograd/ops/attention/attention.h"

#include <gtest/gtest.h>

#include "autograd/create.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/reduce/reduce.h"
#include "autograd/random.h"
#include "autograd/tape/backward.h"
#include "autograd/tape/scope.h"
#include "tests/cuda/test_device.h"
#include "tests/support/tensors.h"

namespace tape {
namespace {

/// Query, key, value and the output's gradient. Scores are some hundreds, with rounding errors of 1e-5.
Tensors large_operands(int64_t Tq) {
  manual_seed(0);
  const Tensor q = randn({1, 4, Tq, 128}), k = randn({1, 4, 20, 128}), v = randn({1, 4, 20, 128}),
               dy = randn({1, 4, Tq, 128});
  return {q * 10, k * 10, v, dy};
}

Tensors on_device(const Tensors& tensors) {
  Tensors there;
  for (const Tensor& x : tensors) there.push_back(x.to(cuda));
  return there;
}

Tensors gradients(const Tensors& in) {
  Tensors leaves;
  for (size_t i = 0; i < 3; ++i) leaves.push_back(in[i].detach().requires_grad_());
  return grad({scaled_dot_product_attention(leaves[0], leaves[1], leaves[2])}, leaves, {.gradients = {in[3]}});
}

TEST(CudaAttentionOfFewQueries, HasTheGradientsOfTheCpu) {
  const cuda_device::TestDevice device;
  for (const int64_t Tq : {1, 4}) {
    const Tensors operands = large_operands(Tq), here = gradients(operands), there = gradients(on_device(operands));
    for (size_t i = 0; i < 3; ++i)
      EXPECT_TRUE(tensors_near(there[i].to(cpu), here[i], cuda_device::test_tolerance(2e-5)))
          << Tq << " queries, operand " << i;
  }
}

TEST(CudaAttentionOfFewQueries, HasWeightsThatSumToOne) {
  const cuda_device::TestDevice device;
  for (const bool recorded : {false, true})
    for (const int64_t Tq : {1, 4}) {
      Tensors in = on_device(large_operands(Tq));
      in[0].requires_grad_(recorded);
      const Tensor sums = sum(scaled_dot_product_attention_with_weights(in[0], in[1], in[2]).weights, -1);
      EXPECT_TRUE(tensors_near(sums.detach().to(cpu), ones({1, 4, Tq}), cuda_device::test_tolerance(1e-6)));
    }
}

TEST(CudaAttentionOfFewQueries, SplitsTheKeysOverBlocksForInferenceOnly) {
  const cuda_device::TestDevice device;
  const auto launches_of = [&](const auto& run) {
    const int64_t before = device.launches();
    run();
    return device.launches() - before;
  };
  Tensors in = on_device(large_operands(1));
  const auto attend = [&] { return scaled_dot_product_attention(in[0], in[1], in[2]); };
  Tensor inferred, recorded;
  // A kernel for parts of the keys and one that joins the parts.
  EXPECT_EQ(launches_of([&] { inferred = attend(); }), 2);
  in[0].requires_grad_();
  EXPECT_EQ(launches_of([&] { recorded = attend(); }), 1);
  EXPECT_TRUE(tensors_near(inferred.to(cpu), recorded.detach().to(cpu), 1e-3));
  const NoGrad inference;
  EXPECT_EQ(launches_of(attend), 2);
}

}  // namespace
}  // namespace tape
