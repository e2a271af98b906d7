// A profile on a GPU: its times are those of the GPU, and nothing waits for them. The emulated device pretends a
// microsecond for each kernel, product, copy and fill.
#include "autograd/diagnose/profile.h"

#include <cmath>
#include <cstdlib>

#include <gtest/gtest.h>

#include "autograd/create.h"
#include "autograd/cuda/context.h"
#include "autograd/cuda/event.h"
#include "autograd/cuda/graph.h"
#include "autograd/cuda/stream.h"
#include "autograd/memory.h"
#include "autograd/ops.h"
#include "tests/cuda/device_array.h"
#include "tests/cuda/test_device.h"
#include "tests/support/errors.h"

namespace tape::cuda_device {
namespace {

using Pass = Profile::Pass;

const Profile::Cost& cost_of(const Profile& profile, Pass pass, const char* name) {
  return profile.costs().at({pass, name});
}

/// The number of kernels and products that a cost has the time of. A GPU is only asked whether there are some.
double works_of(const Profile::Cost& cost, double expected) {
  return test_on_gpu() ? (cost.seconds > 0) == (expected > 0) ? expected : -1 : std::round(cost.seconds * 1e8) / 1e2;
}

class CudaProfile : public testing::Test {
 protected:
  TestDevice device;
};

TEST_F(CudaProfile, ChargesOperationsWithTheTimeOfTheGpu) {
  const Tensor x = ones({16, 6}, cuda).requires_grad_(), w = ones({3, 6}, cuda).requires_grad_();
  const Profile profile;
  const int64_t products = device.products();
  const Tensor y = tanh(linear(x, w, Tensor()));
  sum(y).backward();
  if (!test_on_gpu()) {
    EXPECT_EQ(device.products() - products, 3);  // a GPU may be without cuBLASLt
  }
  EXPECT_EQ(works_of(cost_of(profile, Pass::forward, "linear"), 1), 1);
  EXPECT_EQ(works_of(cost_of(profile, Pass::forward, "tanh"), 1), 1);
  EXPECT_EQ(works_of(cost_of(profile, Pass::backward, "tanh"), 1), 1);
  EXPECT_EQ(works_of(cost_of(profile, Pass::backward, "linear"), 2), 2);
  const Profile::Cost& linear_cost = cost_of(profile, Pass::forward, "linear");
  EXPECT_EQ(linear_cost.calls, 1);
  EXPECT_EQ(linear_cost.flops, 2 * 16 * 6 * 3);
  EXPECT_EQ(linear_cost.bytes, 4 * (16 * 6 + 3 * 6 + 16 * 3));
  EXPECT_GT(linear_cost.host_seconds, 0);
}

TEST_F(CudaProfile, WaitsForNothingUntilItsCostsAreRead) {
  Tensor x = ones({4}, cuda).requires_grad_();
  Event first;
  {
    const Profile profile;
    const int64_t before = waits();
    x = exp(x);
    first.record();
    for (int i = 0; i < 50; ++i) x = tanh(x);
    sum(x).backward();
    EXPECT_EQ(waits(), before);
    if (!test_on_gpu()) {
      // The emulated device begins when something waits.
      EXPECT_FALSE(first.done());
    }
    profile.costs();
    EXPECT_TRUE(first.done());
    EXPECT_EQ(waits(), before) << "it waits for its own events only";
  }
}

TEST_F(CudaProfile, GoesOnForAnyNumberOfOperations) {
  const NoGrad no_grad;
  const DeviceScope on_gpu(cuda);
  Profile profile;
  const Tensor x = ones({4});
  profile.reset();
  constexpr int kCalls = 20000;
  for (int i = 0; i < kCalls; ++i) {
    tanh(x);
    profile.charge("work");
  }
  const Profile::Cost& cost = cost_of(profile, Pass::other, "work");
  EXPECT_EQ(cost.calls, kCalls);
  EXPECT_NEAR(works_of(cost, kCalls), kCalls, 0.1);
  profile.reset();
  EXPECT_TRUE(profile.costs().empty());
}

TEST_F(CudaProfile, ChargesTheCpuWithItsOwnTime) {
  const Tensor on_gpu = ones({4}, cuda).requires_grad_(), on_cpu = ones({4}).requires_grad_();
  const Profile profile;
  const Tensor a = exp(on_gpu);
  {
    const NoGrad no_grad;
    for (int i = 0; i < 5; ++i) exp(on_gpu);  // is charged to the CPU's operation, which has no time of the GPU
  }
  const Tensor b = tanh(on_cpu);
  const Tensor c = cos(on_gpu);
  EXPECT_EQ(works_of(cost_of(profile, Pass::forward, "exp"), 1), 1);
  EXPECT_EQ(works_of(cost_of(profile, Pass::forward, "cos"), 1), 1);
  const Profile::Cost& of_cpu = cost_of(profile, Pass::forward, "tanh");
  EXPECT_EQ(of_cpu.seconds, of_cpu.host_seconds);
  EXPECT_GT(of_cpu.seconds, 0);
}

TEST_F(CudaProfile, MeasuresADeviceThatIsFirstUsedLater) {
  const Profile profile;
  const Tensor x = ones({4}, cuda).requires_grad_(), y = tanh(exp(x));
  EXPECT_EQ(cost_of(profile, Pass::forward, "exp").calls, 1);
  EXPECT_EQ(works_of(cost_of(profile, Pass::forward, "tanh"), 1), 1);
}

TEST_F(CudaProfile, HasEventsInTheOrderOfTheGpu) {
  const Tensor x = ones({64}, cuda).requires_grad_();
  const Profile profile(Profile::Keep::costs_and_events);
  sum(exp(x)).backward();
  const std::vector<Profile::Event>& events = profile.events();
  ASSERT_GE(events.size(), 4u);
  EXPECT_EQ(events[0].name, "exp");
  int64_t end = 0;
  double seconds = 0;
  for (const Profile::Event& event : events) {
    EXPECT_EQ(event.begin, end);
    EXPECT_GE(event.end, event.begin);
    EXPECT_GE(event.live_bytes, 64 * 4);
    end = event.end;
  }
  for (const auto& [key, cost] : profile.costs()) seconds += cost.seconds;
  EXPECT_NEAR(static_cast<double>(end) * 1e-9, seconds, 2e-9);
}

TEST_F(CudaProfile, ThrowsTheFailureOfAKernel) {
  if (test_on_gpu()) GTEST_SKIP() << "a GPU could not be used after it";
  const Kernel broken("race_of_writers");
  const DeviceArray<float> y(64);
  Profile profile;
  broken({1}, {64}, y.get());
  profile.charge("broken");
  EXPECT_THROW(profile.costs(), Error);
}

TEST(CudaProfileOfGraphs, LaunchesListsAtEachOperation) {
  setenv("TAPE_CUDA_GRAPHS", "1", 1);
  {
    const TestDevice device;
    const Tensor x = ones({4, 6}, cuda).requires_grad_(), w = ones({3, 6}, cuda).requires_grad_();
    const Profile profile;
    const int64_t before = graph_statistics().ended_by(ListEnd::event);
    const Tensor y = tanh(linear(x, w, Tensor()));
    EXPECT_EQ(graph_statistics().ended_by(ListEnd::event) - before, 2);
    EXPECT_EQ(works_of(cost_of(profile, Pass::forward, "linear"), 1), 1);
    EXPECT_EQ(works_of(cost_of(profile, Pass::forward, "tanh"), 1), 1);
  }
  unsetenv("TAPE_CUDA_GRAPHS");
}

}  // namespace
}  // namespace tape::cuda_device
