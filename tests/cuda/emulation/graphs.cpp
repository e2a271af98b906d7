// Graphs of the emulated device: orders of nodes, changed parameters, and what is refused.
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "autograd/cuda/context.h"
#include "autograd/cuda/emulation/emulation.h"
#include "base/error.h"
#include "tests/cuda/device_array.h"

namespace tape::cuda_device::emulation {
namespace {

class EmulatedGraphs : public testing::Test {
 protected:
  EmulatedGraphs() { driver.graph_create(&graph, 0); }
  ~EmulatedGraphs() override {
    if (executable) driver.graph_exec_destroy(executable);
    driver.graph_destroy(graph);
  }

  static DevicePointer at(const DeviceArray<float>& array, size_t index = 0) {
    return reinterpret_cast<DevicePointer>(array.get() + index);
  }
  static FillNode fill_of(const DeviceArray<float>& array, unsigned value, size_t first = 0, size_t count = 64) {
    FillNode fill;
    fill.to = at(array, first);
    fill.value = value;
    fill.width = count * sizeof(float);
    return fill;
  }
  static CopyNode copy_of(const DeviceArray<float>& to, const DeviceArray<float>& from) {
    CopyNode copy;
    copy.to.device = at(to);
    copy.from.device = at(from);
    copy.bytes = 64 * sizeof(float);
    return copy;
  }
  /// A launch of a kernel that reads x and writes y.
  KernelNode kernel_of(const char* name, const DeviceArray<float>& from, const DeviceArray<float>& to) {
    KernelNode kernel;
    EXPECT_EQ(driver.find_function(&kernel.function, name), result::success);
    kernel.block_x = 64;
    source = from.constant();
    target = to.get();
    kernel.arguments = arguments;
    return kernel;
  }

  void* add(const FillNode& fill, const std::vector<void*>& after = {}) {
    void* node = nullptr;
    EXPECT_EQ(driver.graph_add_fill(&node, graph, after.data(), after.size(), &fill, nullptr), result::success);
    return node;
  }
  void* add(const CopyNode& copy, const std::vector<void*>& after = {}) {
    void* node = nullptr;
    EXPECT_EQ(driver.graph_add_copy(&node, graph, after.data(), after.size(), &copy, nullptr), result::success);
    return node;
  }
  void* add(const KernelNode& kernel, const std::vector<void*>& after = {}) {
    void* node = nullptr;
    EXPECT_EQ(driver.graph_add_kernel(&node, graph, after.data(), after.size(), &kernel), result::success);
    return node;
  }
  void instantiate() { EXPECT_EQ(driver.graph_instantiate(&executable, graph, 0), result::success); }
  void launch() const {
    EXPECT_EQ(driver.graph_upload(executable, nullptr), result::success);
    EXPECT_EQ(driver.graph_launch(executable, nullptr), result::success);
  }

  EmulatedDevice device;
  const Driver& driver = *context().driver;
  DeviceArray<float> x{std::vector<float>(64, 1.5F)}, y{std::vector<float>(64)}, z{std::vector<float>(64)};
  void *graph = nullptr, *executable = nullptr;
  const float* source = nullptr;
  float* target = nullptr;
  void* arguments[2] = {&source, &target};
};

TEST_F(EmulatedGraphs, RunKernelsCopiesAndFillsInTheOrderOfTheirEdges) {
  void* const kernel = add(kernel_of("correct_reverse", x, y));
  void* const copy = add(copy_of(z, y), {kernel});
  add(fill_of(y, 0), {copy});
  instantiate();
  for (int i = 0; i < 5; ++i) {
    launch();
    EXPECT_EQ(z.values(), std::vector<float>(64, 1.5F));
    EXPECT_EQ(y.values(), std::vector<float>(64, 0));
  }
  EXPECT_EQ(device.launches(), 5);
}

TEST_F(EmulatedGraphs, MissingEdgesAreFound) {
  add(fill_of(y, 0));
  add(copy_of(y, x));
  instantiate();
  std::set<float> results;
  for (int i = 0; i < 20; ++i) {
    launch();
    results.insert(y.values()[0]);
  }
  EXPECT_EQ(results, (std::set<float>{0, 1.5F}));
}

TEST_F(EmulatedGraphs, LaunchesUseTheParametersOfTheirTime) {
  void* const kernel = add(kernel_of("correct_reverse", x, y));
  void* const fill = add(fill_of(x, 0), {kernel});
  void* const copy = add(copy_of(x, y), {fill});
  instantiate();
  launch();
  const KernelNode other_kernel = kernel_of("correct_reverse", x, z);
  EXPECT_EQ(driver.graph_set_kernel(executable, kernel, &other_kernel), result::success);
  const FillNode other_fill = fill_of(y, 0);
  EXPECT_EQ(driver.graph_set_fill(executable, fill, &other_fill, nullptr), result::success);
  const CopyNode other_copy = copy_of(y, z);
  EXPECT_EQ(driver.graph_set_copy(executable, copy, &other_copy, nullptr), result::success);
  EXPECT_EQ(x.values(), std::vector<float>(64, 1.5F));
  EXPECT_EQ(z.values(), std::vector<float>(64, 0));
  launch();
  EXPECT_EQ(z.values(), std::vector<float>(64, 1.5F));
  EXPECT_EQ(y.values(), std::vector<float>(64, 1.5F));
}

TEST_F(EmulatedGraphs, RefuseChangesThatAnExecutableGraphCannotMake) {
  void* const kernel = add(kernel_of("correct_reverse", x, y));
  void* const fill = add(fill_of(y, 0));
  instantiate();
  const KernelNode other = kernel_of("missing_barrier", x, y);
  EXPECT_EQ(driver.graph_set_kernel(executable, kernel, &other), result::invalid_value);
  const FillNode shorter = fill_of(y, 0, 0, 32);
  EXPECT_EQ(driver.graph_set_fill(executable, fill, &shorter, nullptr), result::invalid_value);
  const CopyNode copy = copy_of(y, x);
  EXPECT_EQ(driver.graph_set_copy(executable, fill, &copy, nullptr), result::invalid_value);
  void* second = nullptr;
  driver.graph_create(&second, 0);
  void* node = nullptr;
  const FillNode same = fill_of(y, 0);
  EXPECT_EQ(driver.graph_add_fill(&node, second, &fill, 1, &same, nullptr), result::invalid_value);
  EXPECT_EQ(driver.graph_add_fill(&node, second, nullptr, 0, &same, nullptr), result::success);
  EXPECT_EQ(driver.graph_set_fill(executable, node, &same, nullptr), result::invalid_value);
  driver.graph_destroy(second);
}

TEST_F(EmulatedGraphs, RefuseInvalidNodes) {
  void* node = nullptr;
  KernelNode kernel = kernel_of("correct_reverse", x, y);
  kernel.block_x = 2048;
  EXPECT_EQ(driver.graph_add_kernel(&node, graph, nullptr, 0, &kernel), result::invalid_value);
  FillNode fill = fill_of(y, 0);
  fill.width = 0;
  EXPECT_EQ(driver.graph_add_fill(&node, graph, nullptr, 0, &fill, nullptr), result::invalid_value);
  CopyNode copy = copy_of(y, x);
  copy.height = 2;
  EXPECT_EQ(driver.graph_add_copy(&node, graph, nullptr, 0, &copy, nullptr), result::invalid_value);
  copy.height = 1;
  copy.from.memory = 1;
  EXPECT_EQ(driver.graph_add_copy(&node, graph, nullptr, 0, &copy, nullptr), result::invalid_value);
}

TEST_F(EmulatedGraphs, ReportFaultsOfTheirKernels) {
  {
    const LaunchingOperation operation("softmax");
    add(kernel_of("missing_barrier", x, y));
  }
  instantiate();
  launch();
  EXPECT_THROW(synchronize(), Error);
  const Fault fault = device.last_fault().value_or(Fault{});
  EXPECT_EQ(fault.kernel, "missing_barrier");
  EXPECT_EQ(fault.operation, "softmax");
}

TEST_F(EmulatedGraphs, CopiesAndFillsMustStayWithinAnAllocation) {
  add(fill_of(y, 0, 1));
  instantiate();
  launch();
  EXPECT_THROW(synchronize(), Error);
}

}  // namespace
}  // namespace tape::cuda_device::emulation
