#include <fstream>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "autograd/cuda/context.h"
#include "autograd/cuda/emulation/emulation.h"
#include "base/error.h"
#include "tests/cuda/device_array.h"
#include "tests/support/paths.h"

namespace tape::cuda_device::emulation {
namespace {

const std::string kSource = source_path("tests/cuda/emulation/broken_kernels.cu");

/// The line of the test kernels with this comment.
int line_of_fault(const std::string& kernel) {
  std::ifstream file(kSource);
  std::string text;
  for (int line = 1; std::getline(file, text); ++line)
    if (text.ends_with("// FAULT " + kernel)) return line;
  ADD_FAILURE() << "no line with FAULT " << kernel;
  return 0;
}

class KernelFaults : public testing::TestWithParam<int> {
 protected:
  KernelFaults() { device.set_schedule(GetParam()); }

  void SetUp() override {
#ifndef TAPE_HAVE_BACKTRACE
    GTEST_SKIP() << "without libbacktrace faults have no lines";
#endif
  }

  /// Runs a launch that must fail and returns the fault, after checking what all faults have.
  Fault fault_of(const std::string& kernel, const std::function<void(const Kernel&)>& launch) {
    const Kernel function(kernel.c_str());
    try {
      launch(function);
      synchronize();
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::device);
      const Fault fault = device.last_fault().value_or(Fault{});
      EXPECT_EQ(error.what(), "emulated device: " + fault.message);
      EXPECT_EQ(fault.kernel, kernel);
      return fault;
    }
    ADD_FAILURE() << kernel << " did not fail";
    return {};
  }

  /// The same, and checks that the fault is in the line with the comment.
  Fault fault_in_line(const std::string& kernel, const std::function<void(const Kernel&)>& launch) {
    Fault fault = fault_of(kernel, launch);
    EXPECT_EQ(fault.line, line_of_fault(kernel)) << fault.message;
    EXPECT_THAT(fault.file, testing::EndsWith("broken_kernels.cu"));
    return fault;
  }

  /// One block of 64 threads reads x and writes y.
  Fault fault_of_reader(const std::string& kernel) {
    return fault_in_line(kernel, [&](const Kernel& k) { k({1}, {64}, x.constant(), y.get()); });
  }
  Fault fault_of_writer(const std::string& kernel, Grid blocks = {1}) {
    return fault_in_line(kernel, [&](const Kernel& k) { k(blocks, {64}, y.get()); });
  }

  EmulatedDevice device;
  DeviceArray<float> x{std::vector<float>(64, 1.5F)};
  DeviceArray<float> y{64};
};

INSTANTIATE_TEST_SUITE_P(Schedules, KernelFaults, testing::Values(0, 1, 2));

TEST_P(KernelFaults, MissingBarrierIsARace) {
  const Fault fault = fault_of_reader("missing_barrier");
  EXPECT_EQ(fault.kind, FaultKind::race);
  // The thread that reads last meets what another one has written already.
  const auto [reader, writer] = GetParam() == 2 ? std::pair(31, 32) : std::pair(32, 31);
  EXPECT_EQ(fault.message,
            fmt::format("missing_barrier: race: reads shared memory that thread ({}, 0, 0) wrote at "
                        "broken_kernels.cu:{}, with nothing between to order them (broken_kernels.cu:{}, block "
                        "(0, 0, 0), thread ({}, 0, 0))",
                        writer, fault.line + 1, fault.line, reader));
}

TEST_P(KernelFaults, RaceOfWritersNamesBothThreads) {
  const Fault fault = fault_of_writer("race_of_writers");
  EXPECT_EQ(fault.kind, FaultKind::race);
  const int first = GetParam() == 2 ? 63 : 0;
  EXPECT_EQ(fault.thread.x, GetParam() == 2 ? 62U : 1U);
  EXPECT_THAT(fault.message, testing::HasSubstr(fmt::format("thread ({}, 0, 0) wrote at", first)));
}

TEST_P(KernelFaults, ShufflesDoNotOrderMemory) {
  EXPECT_EQ(fault_in_line("race_within_a_warp", [&](const Kernel& k) { k({1}, {32}, x.constant(), y.get()); }).kind,
            FaultKind::race);
}

TEST_P(KernelFaults, RacesInDeviceMemoryAreFound) {
  fill_bytes(y.get(), 0, 256);
  EXPECT_EQ(fault_of("race_in_device_memory", [&](const Kernel& k) { k({1}, {64}, y.get()); }).kind, FaultKind::race);
}

TEST_P(KernelFaults, RacesBetweenBlocksAreFound) {
  const Fault fault = fault_of_writer("race_between_blocks", {3});
  EXPECT_EQ(fault.kind, FaultKind::race);
  EXPECT_THAT(fault.message, testing::HasSubstr("device memory that a thread of another block wrote at"));
}

TEST_P(KernelFaults, AtomicUpdateAndPlainWriteAreARace) {
  fill_bytes(y.get(), 0, 256);
  const Fault fault = fault_of_writer("race_with_atomic");
  EXPECT_EQ(fault.kind, FaultKind::race);
  EXPECT_THAT(fault.message, testing::HasSubstr(fmt::format("writes device memory that other threads updated "
                                                            "atomically at broken_kernels.cu:{}",
                                                            fault.line - 1)));
}

TEST_P(KernelFaults, BarriersInTwoBranchesAreDivergent) {
  const Fault fault = fault_of_writer("divergent_barrier");
  EXPECT_EQ(fault.kind, FaultKind::divergent_barrier);
  EXPECT_THAT(fault.message,
              testing::MatchesRegex("divergent_barrier: divergent barrier: thread \\(0, 0, 0\\) at __syncthreads\\(\\) "
                                    "\\(broken_kernels.cu:.*\\) and thread \\(32, 0, 0\\) at __syncthreads\\(\\) "
                                    "\\(broken_kernels.cu:.*\\) wait at different barriers .*"));
}

TEST_P(KernelFaults, ShuffleThatALaneDoesNotReachIsDivergent) {
  const Fault fault = fault_of_reader("divergent_shuffle");
  EXPECT_EQ(fault.kind, FaultKind::divergent_barrier);
  EXPECT_THAT(fault.message, testing::HasSubstr("waits for thread (5, 0, 0) at __syncthreads()"));
}

TEST_P(KernelFaults, MaskMustContainTheCaller) {
  const Fault fault = fault_of_reader("mask_without_caller");
  EXPECT_EQ(fault.kind, FaultKind::divergent_barrier);
  EXPECT_THAT(fault.message, testing::HasSubstr("the mask 0xffff lacks the calling lane"));
}

TEST_P(KernelFaults, ShuffleFromAReturnedLaneIsInactive) {
  const Fault fault = fault_of_reader("shuffle_from_returned_lane");
  EXPECT_EQ(fault.kind, FaultKind::inactive_lane);
  EXPECT_THAT(fault.message, testing::HasSubstr("a shuffle reads lane 7, which does not take part"));
}

TEST_P(KernelFaults, ReadsPastTheEndNameTheAllocation) {
  const Fault fault = fault_of_reader("read_past_the_end");
  EXPECT_EQ(fault.kind, FaultKind::out_of_bounds);
  EXPECT_EQ(fault.thread.x, 63U);
  EXPECT_EQ(fault.message, fmt::format("read_past_the_end: out of bounds: reads byte 256 of an allocation of 256 bytes "
                                       "(broken_kernels.cu:{}, block (0, 0, 0), thread (63, 0, 0))",
                                       fault.line));
}

TEST_P(KernelFaults, WritesPastTheEndNameTheAllocation) {
  const Fault fault = fault_of_writer("write_past_the_end");
  EXPECT_EQ(fault.kind, FaultKind::out_of_bounds);
  EXPECT_THAT(fault.message, testing::HasSubstr("writes byte 256 of an allocation of 256 bytes"));
}

TEST_P(KernelFaults, FreedMemoryIsOutOfBounds) {
  const float* freed = nullptr;
  {
    const DeviceArray<float> short_lived(std::vector<float>(64, 1.0F));
    freed = short_lived.constant();
  }
  EXPECT_EQ(fault_in_line("read_of_freed_memory", [&](const Kernel& k) { k({1}, {64}, freed, y.get()); }).kind,
            FaultKind::out_of_bounds);
}

TEST_P(KernelFaults, SharedArraysHaveBounds) {
  const Fault fault = fault_of_writer("shared_array_index");
  EXPECT_EQ(fault.kind, FaultKind::out_of_bounds);
  EXPECT_THAT(fault.message, testing::HasSubstr("index 64 of an array 'float [64]'"));
}

TEST_P(KernelFaults, PointersToSharedArraysHaveBounds) {
  const Fault fault = fault_of_writer("shared_pointer");
  EXPECT_EQ(fault.kind, FaultKind::out_of_bounds);
  EXPECT_EQ(fault.thread.x, 63U);
}

TEST_P(KernelFaults, DynamicSharedMemoryHasBounds) {
  const Fault fault =
      fault_in_line("dynamic_shared_index", [&](const Kernel& k) { k.with_shared({1}, {64}, 256, y.get()); });
  EXPECT_EQ(fault.kind, FaultKind::out_of_bounds);
  EXPECT_THAT(fault.message, testing::HasSubstr("writes byte 256 of 256 bytes of dynamic shared memory"));
}

TEST_P(KernelFaults, UnwrittenSharedMemoryIsReported) {
  const Fault fault = fault_of_writer("unwritten_shared_memory");
  EXPECT_EQ(fault.kind, FaultKind::uninitialized_read);
  EXPECT_EQ(fault.thread.x, 9U);
  EXPECT_THAT(fault.message, testing::HasSubstr("reads byte 36 of 256 bytes of shared memory \"values\", which was"));
}

TEST_P(KernelFaults, SharedMemoryIsUnwrittenInEveryBlock) {
  const Kernel reverse("correct_reverse");
  reverse({1}, {64}, x.constant(), y.get());
  EXPECT_EQ(fault_of_writer("unwritten_shared_memory").kind, FaultKind::uninitialized_read);
}

TEST_P(KernelFaults, UnwrittenDeviceMemoryIsReported) {
  const DeviceArray<float> unwritten(64);
  const Fault fault =
      fault_in_line("unwritten_device_memory", [&](const Kernel& k) { k({1}, {64}, unwritten.constant(), y.get()); });
  EXPECT_EQ(fault.kind, FaultKind::uninitialized_read);
  EXPECT_THAT(fault.message,
              testing::HasSubstr(fmt::format("reads byte {} of an allocation of 256 bytes, which was never written",
                                             4 * fault.thread.x)));
}

TEST_P(KernelFaults, CopiesOfUnwrittenMemoryRemainUnwritten) {
  const DeviceArray<float> unwritten(64);
  copy_on_device(x.get(), unwritten.constant(), 128);
  const Fault fault = fault_of_reader("unwritten_device_memory");
  EXPECT_EQ(fault.kind, FaultKind::uninitialized_read);
  EXPECT_LT(fault.thread.x, 32U);
}

TEST_P(KernelFaults, ArgumentsMustNotBeHostPointers) {
  const std::vector<float> host(64);
  const Fault fault = fault_of("correct_reverse", [&](const Kernel& k) { k({1}, {64}, host.data(), y.get()); });
  EXPECT_EQ(fault.kind, FaultKind::host_pointer);
  EXPECT_EQ(fault.message, "correct_reverse: host pointer: argument 0 is not device memory");
}

TEST_P(KernelFaults, HostPointersInStructsAreReportedWhereTheyAreUsed) {
  const std::vector<float> host(64);
  struct {
    const float* pointer;
  } arguments{host.data()};
  const Fault fault =
      fault_in_line("host_pointer_in_struct", [&](const Kernel& k) { k({1}, {64}, arguments, y.get()); });
  EXPECT_EQ(fault.kind, FaultKind::host_pointer);
  EXPECT_THAT(fault.message, testing::HasSubstr("reads 4 bytes of host memory"));
}

TEST_P(KernelFaults, NullPointersAreOutOfBounds) {
  const float* const null = nullptr;
  EXPECT_EQ(fault_of("null_pointer", [&](const Kernel& k) { k({1}, {1}, null, y.get()); }).kind,
            FaultKind::out_of_bounds);
}

TEST_P(KernelFaults, VectorsMustBeAligned) {
  const Fault fault = fault_of_reader("misaligned_vector");
  EXPECT_EQ(fault.kind, FaultKind::misaligned);
  EXPECT_THAT(fault.message, testing::HasSubstr("is not a multiple of 16, the alignment of 'const struct float4'"));
}

TEST_P(KernelFaults, DivisionByZeroIsReported) {
  const DeviceArray<int> zeros(std::vector<int>(64)), quotients(64);
  EXPECT_EQ(
      fault_in_line("division_by_zero", [&](const Kernel& k) { k({1}, {64}, zeros.constant(), quotients.get()); }).kind,
      FaultKind::division_by_zero);
}

TEST_P(KernelFaults, AsynchronousCopiesHappenWhenTheyAreWaitedFor) {
  EXPECT_EQ(fault_of_reader("copy_without_waiting").kind, FaultKind::uninitialized_read);
}

TEST_P(KernelFaults, AsynchronousCopiesMustBeAligned) {
  EXPECT_EQ(fault_of_reader("misaligned_copy").kind, FaultKind::misaligned);
}

TEST_P(KernelFaults, MatrixFunctionsNeedAllLanes) {
  const Fault fault = fault_of_reader("multiply_with_few_lanes");
  EXPECT_EQ(fault.kind, FaultKind::inactive_lane);
  EXPECT_THAT(fault.message, testing::HasSubstr("a matrix function needs all 32 lanes of a warp"));
}

TEST_P(KernelFaults, DeviceWorksAfterAFault) {
  fault_of_writer("race_of_writers");
  const Kernel reverse("correct_reverse");
  reverse({1}, {64}, x.constant(), y.get());
  EXPECT_EQ(y.values(), std::vector<float>(64, 1.5F));
}

TEST(HostAccessDeathTest, ReadOfDeviceMemoryIsNamed) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  const EmulatedDevice device;
  const DeviceArray<float> x(std::vector<float>(64, 1.5F));
  EXPECT_DEATH(
      {
        volatile float value = x.constant()[3];
        static_cast<void>(value);
      },
      "emulated device: host pointer: the host accessed device memory; copy it to the host first");
}

TEST(HostAccessDeathTest, StackOverflowNamesTheKernel) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  const EmulatedDevice device;
  const DeviceArray<float> y(64);
  const Kernel kernel("stack_overflow");
  const auto run = [&] {
    kernel({1}, {64}, y.get());
    synchronize();
  };
  EXPECT_DEATH(run(), "stack overflow: the local variables of kernel stack_overflow exceed");
}

TEST(HostAccess, CopiesMustStayWithinAnAllocation) {
  const EmulatedDevice device;
  const DeviceArray<float> x(64);
  std::vector<float> host(65);
  EXPECT_THROW(copy_to_host(host.data(), x.constant(), 260), Error);
  EXPECT_THROW(copy_to_device(x.get() + 1, host.data(), 256), Error);
  try {
    fill_bytes(host.data(), 0, 4);
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "emulated device: fill on the device of 4 bytes: not device memory");
  }
}

}  // namespace
}  // namespace tape::cuda_device::emulation
