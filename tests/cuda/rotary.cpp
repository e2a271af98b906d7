// Rotary position embedding of bf16 tensors on the emulated device.
#include "autograd/ops/attention/rotary.h"

#include <gtest/gtest.h>

#include "autograd/create.h"
#include "autograd/random.h"
#include "autograd/tape/backward.h"
#include "tests/cuda/test_device.h"
#include "tests/support/tensors.h"

namespace tape {
namespace {

TEST(CudaRotaryEmbedding, HasGradientsOfF32TablesInF32) {
  const cuda_device::TestDevice device;
  manual_seed(1);
  // So many texts share the tables that a sum in bf16 would be far off.
  const Tensor x = randn({64, 3, 16}).to(bf16), dy = randn({64, 3, 16}).to(bf16), c = randn({3, 2}), s = randn({3, 2});
  const auto run = [&](Device at, bool interleaved) {
    const Tensors in = {x.to(at).requires_grad_(), c.to(at).detach().requires_grad_(),
                        s.to(at).detach().requires_grad_()};
    const Tensor y = rotary_embedding(in[0], in[1], in[2], {.num_heads = 2, .interleaved = interleaved});
    return grad({y}, in, {.gradients = {dy.to(at)}});
  };
  for (const bool interleaved : {false, true}) {
    const Tensors here = run(cpu, interleaved), there = run(cuda, interleaved);
    EXPECT_EQ(there[0].dtype(), bf16);
    EXPECT_TRUE(tensors_near(there[0].to(cpu).to(f32), here[0].to(f32), 0.05));
    for (size_t i = 1; i < 3; ++i) {
      EXPECT_EQ(there[i].dtype(), f32);
      EXPECT_TRUE(tensors_near(there[i].to(cpu), here[i], cuda_device::test_tolerance(1e-4)));
    }
  }
}

}  // namespace
}  // namespace tape
