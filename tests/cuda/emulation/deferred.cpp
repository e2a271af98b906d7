// When the emulated device does what it is asked for, and what a host sees that counts on something else.
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "autograd/cuda/blas_product.h"
#include "autograd/cuda/context.h"
#include "autograd/cuda/emulation/emulated_driver.h"
#include "autograd/cuda/emulation/emulation.h"
#include "autograd/cuda/event.h"
#include "base/error.h"
#include "tests/cuda/device_array.h"
#include "tests/support/errors.h"

namespace tape::cuda_device::emulation {
namespace {

constexpr int64_t kBytes = 64 * sizeof(float);

/// Pinned memory with 64 values.
struct Pinned {
  Pinned() : values(static_cast<float*>(allocate_pinned(kBytes))) { fill(1.5F); }
  void fill(float value) const {
    for (int i = 0; i < 64; ++i) values[i] = value;
  }
  float* values;
};

std::vector<float> all(float value) { return std::vector<float>(64, value); }

class DeferredWork : public testing::Test {
 protected:
  EmulatedDevice device;
  DeviceArray<float> x{std::vector<float>(64, 1.5F)};
  DeviceArray<float> y{64};
  const Kernel reverse{"correct_reverse"};
  const Kernel broken{"race_of_writers"};
};

TEST_F(DeferredWork, PinnedMemoryIsReadWhenTheCopyRuns) {
  const Pinned pinned;
  copy_to_device(y.get(), pinned.values, kBytes);
  pinned.fill(2.5F);
  EXPECT_EQ(y.values(), all(2.5F));
  copy_to_device(y.get(), pinned.values, kBytes);
  synchronize();
  pinned.fill(3.5F);
  EXPECT_EQ(y.values(), all(2.5F));
}

TEST_F(DeferredWork, PageableMemoryIsReadAtTheCall) {
  std::vector<float> host = all(1.5F);
  copy_to_device(y.get(), host.data(), kBytes);
  host = all(2.5F);
  EXPECT_EQ(y.values(), all(1.5F));
}

TEST_F(DeferredWork, PinnedMemoryThatIsFreedBeforeItsCopyIsReported) {
  const Driver& d = *context().driver;
  void* block = nullptr;
  d.mem_host_alloc(&block, kBytes, 0);
  std::memset(block, 0, kBytes);
  d.memcpy_to_device(reinterpret_cast<DevicePointer>(y.get()), block, kBytes, context().stream);
  d.mem_free_host(block);
  EXPECT_TAPE_ERROR(synchronize(), ErrorKind::device,
                    "emulated device: copy to the device of 256 bytes: its pinned memory was freed before the copy "
                    "had run");
}

TEST_F(DeferredWork, PinnedMemoryIsUndefinedUntilACopyToItHasRun) {
  const Pinned pinned;
  const Context& c = context();
  c.driver->memcpy_to_host(pinned.values, reinterpret_cast<DevicePointer>(x.get()), kBytes, c.stream);
  EXPECT_NE(pinned.values[0], pinned.values[0]);
  synchronize();
  EXPECT_EQ(pinned.values[0], 1.5F);
}

TEST_F(DeferredWork, ArgumentsAreCopiedAtTheLaunch) {
  void* function = nullptr;
  const Context& c = context();
  c.driver->find_function(&function, "correct_reverse");
  const float* from = x.constant();
  float* to = y.get();
  void* arguments[] = {&from, &to};
  c.driver->launch_kernel(function, 1, 1, 1, 64, 1, 1, 0, c.stream, arguments, nullptr);
  from = to = nullptr;
  EXPECT_EQ(y.values(), all(1.5F));
}

TEST_F(DeferredWork, MemoryCanBeFreedAndReusedBeforeItsKernelHasRun) {
  const float* before = nullptr;
  {
    const DeviceArray<float> between(64);
    before = between.constant();
    reverse({1}, {64}, x.constant(), between.get());
    reverse({1}, {64}, between.constant(), y.get());
  }
  const DeviceArray<float> reused(all(7));
  EXPECT_EQ(reused.constant(), before);
  EXPECT_EQ(y.values(), all(1.5F));
  EXPECT_EQ(reused.values(), all(7));
}

TEST_F(DeferredWork, FaultsAppearWhereTheHostWaits) {
  {
    const LaunchingOperation operation("softmax");
    broken({1}, {64}, y.get());
  }
  EXPECT_FALSE(device.last_fault());
  std::string text;
  try {
    synchronize();
  } catch (const Error& error) {
    text = error.what();
  }
  // Without libbacktrace the line is unknown.
  EXPECT_THAT(text, testing::MatchesRegex("emulated device: race_of_writers: race: .* "
                                          "\\((broken_kernels.cu:[0-9]+|an unknown line), "
                                          "block \\(0, 0, 0\\), thread \\(1, 0, 0\\), operation softmax\\)"));
  ASSERT_TRUE(device.last_fault());
  EXPECT_EQ(device.last_fault()->operation, "softmax");
  EXPECT_EQ(device.last_fault()->kernel, "race_of_writers");
}

TEST_F(DeferredWork, WhatFollowsAFaultIsDropped) {
  fill_bytes(y.get(), 0, kBytes);
  synchronize();
  broken({1}, {64}, y.get());
  copy_on_device(y.get(), x.constant(), kBytes);
  const DeviceArray<float> later(all(2));
  EXPECT_THROW(synchronize(), Error);
  EXPECT_NE(y.values()[63], 1.5F);
  // Allocations are not: the memory can be written again.
  copy_to_device(later.get(), all(3).data(), kBytes);
  EXPECT_EQ(later.values(), all(3));
}

TEST_F(DeferredWork, SchedulesAreThoseOfTheLaunch) {
  device.set_schedule(2);
  broken({1}, {64}, y.get());
  device.set_schedule(0);
  EXPECT_THROW(synchronize(), Error);
  EXPECT_EQ(device.last_fault().value_or(Fault{}).thread.x, 62U);
}

TEST_F(DeferredWork, LongQueuesRunByThemselves) {
  const Pinned pinned;
  copy_to_device(y.get(), pinned.values, kBytes);
  for (int i = 0; i < 5000; ++i) fill_bytes(x.get(), 0, 4);
  pinned.fill(2.5F);
  EXPECT_EQ(y.values(), all(1.5F));
}

TEST_F(DeferredWork, EventsWaitForWhatIsBeforeThem) {
  const Pinned first, second;
  const DeviceArray<float> z(64);
  copy_to_device(y.get(), first.values, kBytes);
  Event event;
  EXPECT_TRUE(event.done());
  event.record();
  copy_to_device(z.get(), second.values, kBytes);
  event.wait();
  EXPECT_TRUE(event.done());
  first.fill(9);
  second.fill(8);
  EXPECT_EQ(y.values(), all(1.5F));
  EXPECT_EQ(z.values(), all(8));
}

TEST_F(DeferredWork, QueriesOfEventsDoNotWait) {
  synchronize();
  Event event;
  for (int i = 0; i < 3; ++i) reverse({1}, {64}, x.constant(), y.get());
  event.record();
  int queries = 1;
  while (!event.done()) ++queries;
  EXPECT_EQ(queries, 4);
}

TEST_F(DeferredWork, TimedEventsNoteTheTimeOfTheDevice) {
  Event start(EventTiming::on), end(EventTiming::on), without_timing;
  start.record();
  without_timing.record();
  for (int i = 0; i < 3; ++i) reverse({1}, {64}, x.constant(), y.get());
  const DeviceArray<float> allocated(64);
  fill_bytes(y.get(), 0, kBytes);
  end.record();
  reverse({1}, {64}, x.constant(), y.get());
  EXPECT_TAPE_ERROR(end.seconds_since(start), ErrorKind::device,
                    "cuda: time between two events: device not ready (CUDA_ERROR_NOT_READY)");
  end.wait();
  EXPECT_NEAR(end.seconds_since(start), 4e-6, 1e-10) << "a microsecond for each kernel and fill";
  EXPECT_NEAR(start.seconds_since(end), -4e-6, 1e-10);
  const char* const kInvalid = "cuda: time between two events: invalid resource handle (CUDA_ERROR_INVALID_HANDLE)";
  EXPECT_TAPE_ERROR(end.seconds_since(without_timing), ErrorKind::device, kInvalid);
  EXPECT_TAPE_ERROR(end.seconds_since(Event(EventTiming::on)), ErrorKind::device, kInvalid);  // it was never recorded
}

TEST_F(DeferredWork, TimedEventsTimeProducts) {
  driver_state().algorithms = {{.microseconds = 100}};
  const BlasProduct product{.rows = 8, .columns = 2, .inner = 4, .lda = 8, .ldb = 4, .ldd = 8};
  Event before(EventTiming::on), after(EventTiming::on);
  before.record();
  for (int i = 0; i < 2; ++i) multiply(product, {x.get(), x.get(), nullptr, y.get()});
  after.record();
  after.wait();
  EXPECT_NEAR(after.seconds_since(before), 200e-6, 1e-9);
}

TEST_F(DeferredWork, EventsReportFaultsBeforeThem) {
  Event before, after;
  before.record();
  broken({1}, {64}, y.get());
  after.record();
  before.wait();
  EXPECT_THROW(after.wait(), Error);
}

TEST_F(DeferredWork, FreedPinnedMemoryIsReusedAfterItsCopy) {
  empty_cache();
  const Pinned first;
  copy_to_device(y.get(), first.values, kBytes);
  free_pinned(first.values);
  const Pinned second;
  EXPECT_NE(second.values, first.values);
  second.fill(2.5F);
  EXPECT_EQ(y.values(), all(1.5F));
  EXPECT_EQ(Pinned().values, first.values);
}

TEST_F(DeferredWork, PinnedBatchesGoAroundAFewBlocks) {
  empty_cache();
  std::vector<float*> blocks;
  for (int step = 0; step < 10; ++step) {
    const Pinned batch;
    batch.fill(static_cast<float>(step));
    copy_to_device(y.get(), batch.values, kBytes);
    free_pinned(batch.values);
    blocks.push_back(batch.values);
    EXPECT_EQ(y.values(), all(static_cast<float>(step)));
  }
  for (const float* block : blocks) EXPECT_EQ(block, blocks[0]);
  empty_cache();
  EXPECT_EQ(Pinned().values[0], 1.5F);
}

TEST(ImmediateWork, FaultsAreThrownFromTheLaunch) {
  const EmulatedDevice device({.execution = Execution::immediate});
  const DeviceArray<float> y(64);
  const Kernel broken("race_of_writers");
  EXPECT_THROW(broken({1}, {64}, y.get()), Error);
}

TEST(BlockingWork, FaultsAreThrownFromTheLaunch) {
  ASSERT_EQ(setenv("TAPE_CUDA_BLOCKING", "1", 1), 0);
  {
    const EmulatedDevice device;
    const DeviceArray<float> y(64);
    const Kernel broken("race_of_writers");
    EXPECT_THROW(broken({1}, {64}, y.get()), Error);
  }
  ASSERT_EQ(unsetenv("TAPE_CUDA_BLOCKING"), 0);
}

}  // namespace
}  // namespace tape::cuda_device::emulation
