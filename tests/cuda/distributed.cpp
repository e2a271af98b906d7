// Data-parallel training with the parameters on a GPU: the exchanges are between hosts.
#include "train/distributed/distributed.h"
#include "tests/cuda/test_device.h"

#include <gtest/gtest.h>

#include "autograd/create.h"
#include "autograd/ops.h"
#include "autograd/random.h"
#include "nn/linear.h"
#include "optim/adam.h"
#include "tests/support/errors.h"
#include "tests/support/tensors.h"
#include "tests/support/thread_ranks.h"

namespace tape::train {
namespace {

struct TwoLayers : nn::Module {
  nn::Children<nn::Linear> layers{this, "layers", 2, 5, 5};
  Tensor loss(const Tensor& x) { return mean(square(layers[1](tanh(layers[0](x))))); }
};

/// Weights after three steps of two ranks, each with half of the rows.
Tensors weights_after(Device device, const DistributedOptions& options) {
  Tensors weights;
  run_ranks(2, [&](Communicator& ranks) {
    const DeviceScope on_device(device);
    manual_seed(static_cast<uint64_t>(1 + ranks.rank()));  // all ranks must end up with rank 0's parameters
    TwoLayers net;
    optim::Adam adam(net.parameters(), {.lr = 0.1});
    Distributed distributed(ranks, net, adam, options);
    for (uint64_t step = 0; step < 3; ++step) {
      Generator draws(step);
      const Tensor x = slice(randn({8, 5}, {f32, cpu}, draws), 0, {.start = ranks.rank(), .step = 2}).to(device);
      distributed.zero_grad();
      distributed.backward(net.loss(x), 4, Distributed::Send::now);
      distributed.finish();
      distributed.step({.gradient_scale = 1.0 / 8, .known_finite = true});
    }
    if (ranks.is_root())
      for (const Tensor& weight : net.parameters()) weights.push_back(weight.detach().to(cpu));
  });
  return weights;
}

TEST(CudaRanks, TrainAsOnTheCpu) {
  const cuda_device::TestDevice device;
  for (const DistributedOptions& options :
       {DistributedOptions{}, DistributedOptions{.sharding = Sharding::optimizer},
        DistributedOptions{.sharding = Sharding::gradients}, DistributedOptions{.bf16 = true}}) {
    SCOPED_TRACE(static_cast<int>(options.sharding));
    const Tensors here = weights_after(cpu, options), there = weights_after(cuda, options);
    ASSERT_EQ(here.size(), 4);
    for (size_t i = 0; i < here.size(); ++i) EXPECT_TRUE(tensors_near(there[i], here[i], options.bf16 ? 1e-2 : 1e-5));
  }
  EXPECT_TAPE_ERROR(weights_after(cuda, {.sharding = Sharding::parameters}), ErrorKind::config,
                    "Distributed: Sharding::parameters needs a model on the CPU, this one is on cuda");
}

}  // namespace
}  // namespace tape::train
