// Graphs of the emulated device: orders of nodes, changed parameters, and what is refused.
#include <functional>
#include <set>
#include <thread>
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

/// A stream, captured by the tests.
class EmulatedCaptures : public EmulatedGraphs {
 protected:
  static constexpr unsigned kNonBlocking = 1;

  void* create(unsigned flags = kNonBlocking) const {
    void* created = nullptr;
    EXPECT_EQ(driver.stream_create(&created, flags), result::success);
    return created;
  }
  void begin(int mode = capture_mode::thread_local_calls) const {
    EXPECT_EQ(driver.stream_begin_capture(stream, mode), result::success);
  }
  Result end() {
    if (captured) driver.graph_destroy(captured);
    return driver.stream_end_capture(stream, &captured);
  }
  Result launch_kernel(void* on, const DeviceArray<float>& from, const DeviceArray<float>& to,
                       const char* name = "correct_reverse") {
    const KernelNode kernel = kernel_of(name, from, to);
    return driver.launch_kernel(kernel.function, 1, 1, 1, 64, 1, 1, 0, on, arguments, nullptr);
  }
  /// What y = x, followed by a copy to z, becomes.
  void capture(const DeviceArray<float>& to) {
    begin();
    EXPECT_EQ(launch_kernel(stream, x, y), result::success);
    EXPECT_EQ(driver.memcpy_on_device(at(to), at(y), kBytes, stream), result::success);
    EXPECT_EQ(driver.memset_bytes(at(y), 0, kBytes, stream), result::success);
    EXPECT_EQ(end(), result::success);
  }
  ~EmulatedCaptures() override {
    if (captured) driver.graph_destroy(captured);
  }

  static constexpr size_t kBytes = 64 * sizeof(float);
  void* const stream = create();
  void* captured = nullptr;
  void* node = nullptr;
};

TEST_F(EmulatedCaptures, BecomeNodesInTheirOrder) {
  capture(z);
  EXPECT_EQ(z.values(), std::vector<float>(64, 0));
  EXPECT_EQ(device.launches(), 0);
  ASSERT_EQ(driver.graph_add_child(&node, graph, nullptr, 0, captured), result::success);
  // A node keeps a copy of what was captured.
  driver.graph_destroy(captured);
  captured = nullptr;
  add(fill_of(x, 0), {node});
  instantiate();
  launch();
  EXPECT_EQ(z.values(), std::vector<float>(64, 1.5F));
  EXPECT_EQ(y.values(), std::vector<float>(64, 0));
  EXPECT_EQ(x.values(), std::vector<float>(64, 0));
  EXPECT_EQ(device.launches(), 1);
}

TEST_F(EmulatedCaptures, ChangeANodeOfTheSameTopology) {
  capture(z);
  driver.graph_add_child(&node, graph, nullptr, 0, captured);
  instantiate();
  const DeviceArray<float> other{std::vector<float>(64)};
  capture(other);
  EXPECT_EQ(driver.graph_set_child(executable, node, captured), result::success);
  launch();
  EXPECT_EQ(other.values(), std::vector<float>(64, 1.5F));
  EXPECT_EQ(z.values(), std::vector<float>(64, 0));
  begin();
  launch_kernel(stream, x, y);
  EXPECT_EQ(end(), result::success);
  EXPECT_EQ(driver.graph_set_child(executable, node, captured), result::invalid_value);
  begin();
  launch_kernel(stream, x, y, "missing_barrier");
  driver.memcpy_on_device(at(z), at(y), kBytes, stream);
  driver.memset_bytes(at(y), 0, kBytes, stream);
  EXPECT_EQ(end(), result::success);
  EXPECT_EQ(driver.graph_set_child(executable, node, captured), result::invalid_value);
}

TEST_F(EmulatedCaptures, AreInvalidAfterCallsThatWaitOrAllocate) {
  void* event = nullptr;
  driver.event_create(&event, 0);
  DevicePointer address = 0;
  void* pinned = nullptr;
  unsigned long long handle = 0;
  float value = 0;
  const std::vector<std::function<Result()>> calls = {
      [&] { return driver.stream_synchronize(stream); },
      [&] { return driver.event_record(event, stream); },
      [&] { return driver.memcpy_to_host(&value, at(x), sizeof value, stream); },
      [&] { return driver.memcpy_to_device(at(x), &value, sizeof value, stream); },
      [&] { return driver.mem_alloc(&address, kBytes); },
      [&] { return driver.mem_create(&handle, kBytes, nullptr, 0); },
      [&] { return driver.mem_host_alloc(&pinned, kBytes, 0); },
  };
  for (const auto& call : calls) {
    begin();
    EXPECT_EQ(call(), result::capture_unsupported);
    EXPECT_EQ(launch_kernel(stream, x, y), result::capture_invalidated);
    EXPECT_EQ(end(), result::capture_invalidated);
    EXPECT_EQ(captured, nullptr);
  }
  begin(capture_mode::relaxed);
  EXPECT_EQ(driver.mem_alloc(&address, kBytes), result::success);
  EXPECT_EQ(end(), result::success);
  driver.mem_free(address);
  driver.event_destroy(event);
}

TEST_F(EmulatedCaptures, OtherStreamsAndThreadsGoOn) {
  begin();
  EXPECT_EQ(launch_kernel(create(), x, y), result::success);
  EXPECT_EQ(launch_kernel(nullptr, x, y), result::success);
  std::thread([&] {
    DevicePointer address = 0;
    EXPECT_EQ(driver.mem_alloc(&address, kBytes), result::invalid_context) << "a thread begins without a context";
    EXPECT_EQ(driver.ctx_set_current(context().handle), result::success);
    EXPECT_EQ(driver.mem_alloc(&address, kBytes), result::success);
    driver.mem_free(address);
    EXPECT_EQ(end(), result::capture_wrong_thread);
  }).join();
  EXPECT_EQ(end(), result::success);
  synchronize();
  EXPECT_EQ(device.launches(), 2);
}

TEST_F(EmulatedCaptures, TheLegacyStreamEndsThatOfAStreamThatWaitsForIt) {
  void* const blocking = create(0);
  driver.stream_begin_capture(blocking, capture_mode::thread_local_calls);
  EXPECT_EQ(launch_kernel(nullptr, x, y), result::capture_implicit);
  EXPECT_EQ(driver.stream_end_capture(blocking, &captured), result::capture_invalidated);
}

TEST_F(EmulatedCaptures, BeginAndEndOnce) {
  EXPECT_EQ(end(), result::illegal_state);
  EXPECT_EQ(driver.stream_begin_capture(nullptr, capture_mode::thread_local_calls), result::capture_unsupported);
  EXPECT_EQ(driver.stream_begin_capture(stream, 3), result::invalid_value);
  begin();
  EXPECT_EQ(driver.stream_begin_capture(stream, capture_mode::thread_local_calls), result::illegal_state);
  EXPECT_EQ(end(), result::success);
}

}  // namespace
}  // namespace tape::cuda_device::emulation
