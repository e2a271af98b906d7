// Every kernel that was compiled for the emulated device is found on the device of tests, a GPU's fatbins included.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "autograd/cuda/context.h"
#include "autograd/cuda/emulation/launch.h"
#include "autograd/cuda/emulation/runtime.h"
#include "autograd/cuda/module.h"
#include "tests/cuda/test_device.h"

namespace tape::cuda_device {
namespace {

/// Sizes of the parameters of a kernel, as the driver gives them.
std::vector<size_t> sizes_of(void* function) {
  std::vector<size_t> sizes;
  for (size_t offset = 0, bytes = 0; !driver().func_get_param_info(function, sizes.size(), &offset, &bytes);)
    sizes.push_back(bytes);
  return sizes;
}

TEST(CudaKernelTable, HasEveryKernelOnceWithItsParameters) {
  const TestDevice device;
  std::set<std::string> names;
  for (const emulation::RegisteredKernel* kernel : emulation::emulated_kernels()) {
    SCOPED_TRACE(kernel->name);
    EXPECT_TRUE(names.insert(kernel->name).second);
    void* function = nullptr;
    ASSERT_NO_THROW(function = find_function(kernel->name));
    if (!driver().func_get_param_info) continue;
    std::vector<size_t> expected;
    for (size_t i = 0; i < kernel->parameters.count; ++i) expected.push_back(kernel->parameters.first[i].bytes);
    EXPECT_EQ(sizes_of(function), expected);
  }
  EXPECT_GT(names.size(), 400U);
}

}  // namespace
}  // namespace tape::cuda_device
