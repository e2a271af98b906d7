#include <gtest/gtest.h>

#include "autograd/cuda/memory.h"
#include "autograd/cuda/module.h"
#include "autograd/cuda/stream.h"
#include "tests/allocation/failing_allocator.h"
#include "tests/cuda/fake_driver.h"

namespace tape::cuda_device {
namespace {

TEST(CudaLaunches, AllocateNothingAfterTheFirst) {
  FakeDriver fake;
  fake.functions = {"scale_f32"};
  const Module module("image", 13000);
  const Kernel kernel("scale_f32");
  struct {
    int64_t sizes[16];
  } plan{};
  const float* x = nullptr;
  kernel.with_shared({1}, {32}, 64 << 10, plan, x, 2.0F);  // which notes the kernel's limit of shared memory
  const FailingAllocations counted;
  for (int i = 0; i < 10; ++i) kernel.with_shared({8, 2}, {32}, 64 << 10, plan, x, 2.0F);
  EXPECT_EQ(counted.requested(), 0);
}

TEST(CudaMemory, FreeingAllocatesNothing) {
  const FakeDriver fake;
  int64_t of_a = 0, of_b = 0;
  void* const a = allocate(1000, of_a);
  void* const b = allocate(1000, of_b);
  const FailingAllocations counted;
  free(a, of_a);
  free(b, of_b);
  EXPECT_EQ(counted.requested(), 0);
}

}  // namespace
}  // namespace tape::cuda_device
