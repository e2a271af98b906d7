#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "autograd/cuda/context.h"
#include "autograd/cuda/emulation/emulation.h"
#include "autograd/cuda/emulation/launch.h"
#include "base/bfloat16.h"
#include "tests/cuda/device_array.h"
#include "tests/support/errors.h"

namespace tape::cuda_device::emulation {
namespace {

class EmulatedKernels : public testing::TestWithParam<int> {
 protected:
  EmulatedKernels() { device.set_schedule(GetParam()); }
  EmulatedDevice device;
};

INSTANTIATE_TEST_SUITE_P(Schedules, EmulatedKernels, testing::Values(0, 1, 2));

std::vector<int> integers(int count) {
  std::vector<int> values(static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) values[static_cast<size_t>(i)] = i * 37 % 101 - 50;
  return values;
}

template <class T>
void expect_softmax(const char* name) {
  constexpr size_t kRows = 5, kCols = 300;
  std::vector<T> x(kRows * kCols);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<T>(std::sin(static_cast<double>(i)) * 5);
  const DeviceArray<T> input(x), output(x.size());
  const Kernel softmax(name);
  softmax({kRows}, {128}, static_cast<int64_t>(kCols), input.constant(), output.get());
  const std::vector<T> y = output.values();
  for (size_t row = 0; row < kRows; ++row) {
    double sum = 0;
    for (size_t j = 0; j < kCols; ++j) sum += std::exp(static_cast<double>(x[row * kCols + j]));
    for (size_t j = 0; j < kCols; ++j)
      EXPECT_NEAR(y[row * kCols + j], std::exp(static_cast<double>(x[row * kCols + j])) / sum, 1e-6);
  }
}

TEST_P(EmulatedKernels, SoftmaxIsCorrectInBothTypes) {
  expect_softmax<float>("test_softmax_f32");
  expect_softmax<double>("test_softmax_f64");
  EXPECT_EQ(device.launches(), 2);
}

TEST_P(EmulatedKernels, EachRemovedBarrierIsFound) {
  const DeviceArray<float> input(std::vector<float>(512, 1.0F)), output(512);
  for (const char* name : {"test_softmax_without_1", "test_softmax_without_2", "test_softmax_without_3"}) {
    const Kernel softmax(name);
    softmax({2}, {128}, int64_t{256}, input.constant(), output.get());
    EXPECT_THROW(synchronize(), Error) << name;
    const FaultKind kind = device.last_fault().value_or(Fault{}).kind;
    EXPECT_TRUE(kind == FaultKind::race || kind == FaultKind::uninitialized_read) << to_string(kind);
  }
}

TEST(EmulatedSchedules, AllGiveTheSameBits) {
  EmulatedDevice device;
  std::vector<float> x(4096);
  for (size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<float>(i)) * 5;
  const DeviceArray<float> input(x), output(x.size());
  const Kernel softmax("test_softmax_f32");
  std::vector<std::vector<float>> results;
  for (int schedule = 0; schedule < 3; ++schedule) {
    device.set_schedule(schedule);
    softmax({16}, {96}, int64_t{256}, input.constant(), output.get());
    results.push_back(output.values());
  }
  EXPECT_EQ(results[0], results[1]);
  EXPECT_EQ(results[0], results[2]);
}

TEST_P(EmulatedKernels, ReturnedThreadsAreNotWaitedFor) {
  for (const int n : {1, 31, 32, 33, 100}) {
    const std::vector<int> x = integers(n);
    const DeviceArray<int> input(x), output(x.size());
    const Kernel kernel("test_early_return");
    kernel.with_shared({1}, {128}, 4 * n, n, input.constant(), output.get());
    const std::vector<int> y = output.values();
    for (size_t i = 0; i < x.size(); ++i) EXPECT_EQ(y[i], x[i] + x[x.size() - 1 - i]);
  }
}

TEST_P(EmulatedKernels, FencesOrderBlocks) {
  const std::vector<int> x = integers(512);
  const DeviceArray<int> input(x), sums(8), total(std::vector<int>(1));
  const DeviceArray<unsigned> counter(std::vector<unsigned>(1));
  const Kernel kernel("test_last_block");
  kernel({8}, {64}, input.constant(), sums.get(), counter.get(), total.get());
  EXPECT_EQ(total.values()[0], std::accumulate(x.begin(), x.end(), 0));
}

TEST_P(EmulatedKernels, ShufflesAndVotesFollowCuda) {
  const std::vector<int> x = integers(128);
  const DeviceArray<int> input(x), scan(x.size());
  const DeviceArray<unsigned> votes(4);
  const Kernel kernel("test_warp_functions");
  kernel({2}, {64}, input.constant(), scan.get(), votes.get());
  const std::vector<int> y = scan.values();
  for (int warp = 0; warp < 4; ++warp) {
    int sum = 0;
    unsigned odd = 0;
    for (int lane = 0; lane < 32; ++lane) {
      const size_t i = static_cast<size_t>(32 * warp + lane);
      sum += x[i];
      odd |= static_cast<unsigned>(x[i] % 2 != 0) << lane;
      // The last lane of a segment of 8 gets its own value from a shuffle downwards.
      EXPECT_EQ(y[i], lane == 7 ? sum + 10000 + 300000 + 1000000 : sum) << i;
    }
    EXPECT_EQ(votes.values()[static_cast<size_t>(warp)], odd);
  }
}

TEST_P(EmulatedKernels, IndicesHaveThreeAxes) {
  const DeviceArray<int> output(2 * 3 * 2 * 4 * 2 * 3);
  const Kernel kernel("test_indices");
  kernel({2, 3, 2}, {4, 2, 3}, output.get());
  const std::vector<int> y = output.values();
  for (int block = 0; block < 12; ++block)
    for (int thread = 0; thread < 24; ++thread)
      EXPECT_EQ(y[static_cast<size_t>(24 * block + thread)], 1000 * block + thread);
}

TEST_P(EmulatedKernels, WarpBarriersOrderMemory) {
  const std::vector<int> x = integers(64);
  const DeviceArray<int> input(x), output(x.size());
  const Kernel kernel("test_warp_barrier");
  kernel({1}, {64}, input.constant(), output.get());
  for (size_t i = 0; i < x.size(); ++i) EXPECT_EQ(output.values()[i], x[i ^ 1]);
}

TEST_P(EmulatedKernels, AtomicsAndCountingBarriersFollowCuda) {
  const std::vector<int> x = integers(96);
  const DeviceArray<int> input(x), output(std::vector<int>(8));
  const Kernel kernel("test_atomics");
  kernel({1}, {96}, input.constant(), output.get());
  const auto positive = static_cast<int>(std::count_if(x.begin(), x.end(), [](int value) { return value > 0; }));
  EXPECT_EQ(output.values(),
            (std::vector<int>{std::max(0, *std::max_element(x.begin(), x.end())),
                              std::min(0, *std::min_element(x.begin(), x.end())), 255, 5, -96, positive, 0, 0}));
}

/// Values whose products and sums of 16 are exact in f32 even after rounding to bf16.
template <class T>
std::vector<T> small_values(size_t count, int seed) {
  std::vector<T> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = static_cast<T>((static_cast<int>(i) * 7 + seed) % 31 - 15) / 4;
  return values;
}

/// A [rows, inner] times B [inner, 8].
template <class T>
std::vector<T> product(const std::vector<T>& a, const std::vector<T>& b, size_t rows, size_t inner) {
  std::vector<T> c(rows * 8);
  for (size_t i = 0; i < rows; ++i)
    for (size_t j = 0; j < 8; ++j)
      for (size_t k = 0; k < inner; ++k) c[i * 8 + j] += a[i * inner + k] * b[k * 8 + j];
  return c;
}

TEST_P(EmulatedKernels, ProductsOfMatricesAreExact) {
  {
    const auto a = small_values<float>(256, 3), b = small_values<float>(128, 11);
    const DeviceArray<float> left(a), right(b), output(128);
    const DeviceArray<uint16_t> rounded(384);
    const Kernel kernel("test_multiply_bf16");
    kernel({1}, {32}, left.constant(), right.constant(), rounded.get(), output.get());
    EXPECT_EQ(output.values(), product(a, b, 16, 16));
  }
  {
    const auto a = small_values<float>(128, 5), b = small_values<float>(64, 2);
    const DeviceArray<float> left(a), right(b), output(128);
    const Kernel kernel("test_multiply_tf32");
    kernel({1}, {32}, left.constant(), right.constant(), output.get());
    EXPECT_EQ(output.values(), product(a, b, 16, 8));
  }
  const auto a = small_values<double>(32, 1), b = small_values<double>(32, 9);
  const DeviceArray<double> left(a), right(b), output(64);
  const Kernel kernel("test_multiply_f64");
  kernel({1}, {32}, left.constant(), right.constant(), output.get());
  EXPECT_EQ(output.values(), product(a, b, 8, 4));
}

TEST_P(EmulatedKernels, Bf16IsRoundedAsOnTheCpu) {
  std::vector<float> a(256), b(128);
  for (size_t i = 0; i < a.size(); ++i)
    a[i] = std::ldexp(static_cast<float>(i * 2654435761U % 16777216), 20 - static_cast<int>(i % 40));
  // Halves between two values, overflow, infinity, zeros, subnormal values.
  const std::vector<uint32_t> bits = {0x3F808000, 0x3F818000, 0x3F808001, 0xBF808000, 0x7F7FFFFF, 0x7F800000,
                                      0xFF800000, 0,          0x80000000, 0x00008000, 0x00018000, 1};
  for (size_t i = 0; i < bits.size(); ++i) b[i] = std::bit_cast<float>(bits[i]);
  const DeviceArray<float> left(a), right(b), output(128);
  const DeviceArray<uint16_t> rounded(384);
  const Kernel kernel("test_multiply_bf16");
  kernel({1}, {32}, left.constant(), right.constant(), rounded.get(), output.get());
  const std::vector<uint16_t> result = rounded.values();
  for (size_t i = 0; i < 256; ++i) EXPECT_EQ(result[i], bfloat16_bits(a[i])) << a[i];
  for (size_t i = 0; i < 128; ++i) EXPECT_EQ(result[256 + i], bfloat16_bits(b[i])) << b[i];
}

TEST_P(EmulatedKernels, AsynchronousCopiesFillWithZeros) {
  const std::vector<int> x = integers(128);
  const DeviceArray<int> input(x), output(x.size());
  const Kernel kernel("test_copy_with_zeros");
  for (const int valid : {0, 4, 16}) {
    kernel({1}, {32}, valid, input.constant(), output.get());
    const std::vector<int> y = output.values();
    for (size_t i = 0; i < x.size(); ++i) EXPECT_EQ(y[i], static_cast<int>(i % 4 * 4) < valid ? x[i] : 0);
  }
}

TEST(EmulatedLaunches, LimitsAreThoseOfADevice) {
  const EmulatedDevice device;
  const DeviceArray<int> output(64);
  const Kernel kernel("test_indices");
  EXPECT_TAPE_ERROR(kernel({1}, {1025}, output.get()), ErrorKind::device,
                    "cuda: kernel test_indices could not be launched with 1 x 1 x 1 blocks of 1025 x 1 x 1 threads and "
                    "0 bytes of shared memory: invalid argument (CUDA_ERROR_INVALID_VALUE)");
  EXPECT_THROW(kernel({1, 65536}, {1}, output.get()), Error);
  EXPECT_THROW(kernel.with_shared({1}, {1}, (163 << 10) + 1, output.get()), Error);  // of compute capability 8.0
  kernel({0}, {1}, output.get());
  EXPECT_EQ(device.launches(), 0);
}

// Drivers and toolkits before CUDA 12.1 refuse more.
TEST(EmulatedLaunches, KernelsHaveAtMost4096BytesOfParameters) {
  for (const RegisteredKernel* const kernel : emulated_kernels()) {
    size_t bytes = 0;
    for (size_t i = 0; i < kernel->parameters.count; ++i)
      bytes = (bytes + 7) / 8 * 8 + kernel->parameters.first[i].bytes;
    EXPECT_LE(bytes, 4096) << kernel->name;
  }
}

TEST(EmulatedLaunches, ArgumentsMustHaveTheSizesOfTheParameters) {
  const EmulatedDevice device;
  const DeviceArray<int> x(64), y(64);
  const Kernel wrong_size("test_early_return"), too_few("test_early_return"), too_many("test_early_return");
  EXPECT_TAPE_ERROR(wrong_size({1}, {1}, int64_t{4}, x.constant(), y.get()), ErrorKind::device,
                    "cuda: kernel test_early_return: argument 0 has 8 bytes, the kernel's parameter 4");
  EXPECT_TAPE_ERROR(too_few({1}, {1}, 4, x.constant()), ErrorKind::device,
                    "cuda: kernel test_early_return: 2 arguments, the kernel has more parameters");
  EXPECT_TAPE_ERROR(too_many({1}, {1}, 4, x.constant(), y.get(), 1), ErrorKind::device,
                    "cuda: kernel test_early_return: 4 arguments, the kernel has 3 parameters");
  const Kernel unknown("no_such_kernel");
  EXPECT_TAPE_ERROR(unknown({1}, {1}), ErrorKind::device,
                    "cuda: the emulated device has no kernel no_such_kernel: link its emulated object");
}

TEST(EmulatedLaunches, HostThreadsShareTheDevice) {
  const EmulatedDevice device;
  std::vector<std::thread> threads;
  std::atomic<int> right = 0;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&right, t] {
      const Kernel kernel("test_early_return");
      for (int round = 0; round < 20; ++round) {
        const std::vector<int> x = integers(40 + t);
        const DeviceArray<int> input(x), output(x.size());
        kernel.with_shared({1}, {64}, 4 * (40 + t), 40 + t, input.constant(), output.get());
        const std::vector<int> y = output.values();
        bool all = true;
        for (size_t i = 0; i < x.size(); ++i) all = all && y[i] == x[i] + x[x.size() - 1 - i];
        right += all;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 80);
  EXPECT_EQ(device.launches(), 80);
}

TEST(EmulatedDevices, AreRefusedTwice) {
  const EmulatedDevice device;
  EXPECT_TAPE_ERROR(EmulatedDevice(), ErrorKind::device, "emulated device: there is one already");
}

TEST(EmulatedDevices, HaveANameAndACapability) {
  const EmulatedDevice device({.memory = 64 << 20});
  EXPECT_EQ(unavailable(), std::nullopt);
  EXPECT_EQ(device_count(), 1);
  EXPECT_EQ(context().name, "emulated device");
  EXPECT_EQ(context().capability, 80);
  EXPECT_EQ(context().total_memory, 64 << 20);
  synchronize();
}

TEST(EmulatedDevices, FollowTheRulesOfVirtualMemory) {
  const EmulatedDevice device({.memory = 64 << 20});
  const Driver& driver = *context().driver;
  const AllocationProperties properties;
  size_t page = 0;
  ASSERT_EQ(driver.mem_get_allocation_granularity(&page, &properties, 0), result::success);
  const size_t used_before = [&] {
    size_t free_bytes = 0, total = 0;
    driver.mem_get_info(&free_bytes, &total);
    return total - free_bytes;
  }();
  DevicePointer begin = 0;
  EXPECT_EQ(driver.mem_address_reserve(&begin, page + 1, 0, 0, 0), result::invalid_value);
  ASSERT_EQ(driver.mem_address_reserve(&begin, 64 * page, 0, 0, 0), result::success);
  begin += 512 * page;  // where the pool has nothing
  unsigned long long memory = 0;
  EXPECT_EQ(driver.mem_create(&memory, 100, &properties, 0), result::invalid_value);
  EXPECT_EQ(driver.mem_create(&memory, size_t{1} << 40, &properties, 0), result::out_of_memory);
  ASSERT_EQ(driver.mem_create(&memory, 2 * page, &properties, 0), result::success);

  const AccessDescription access;
  EXPECT_EQ(driver.mem_set_access(begin, 2 * page, &access, 1), result::invalid_value) << "nothing is mapped";
  EXPECT_EQ(driver.mem_map(begin + 512, 2 * page, 0, memory, 0), result::invalid_value) << "not at a page";
  EXPECT_EQ(driver.mem_map(begin, page, 0, memory, 0), result::invalid_value) << "not all of it";
  EXPECT_EQ(driver.mem_map(begin, 2 * page, 0, memory + 1, 0), result::invalid_value) << "no such memory";
  ASSERT_EQ(driver.mem_map(begin, 2 * page, 0, memory, 0), result::success);
  EXPECT_EQ(driver.mem_map(begin + page, 2 * page, 0, memory, 0), result::invalid_value) << "mapped already";
  EXPECT_THROW(driver.set_allocated(begin, 64, 64), Error) << "without access";
  ASSERT_EQ(driver.mem_set_access(begin, 2 * page, &access, 1), result::success);
  driver.set_allocated(begin + page, page, page);
  EXPECT_THROW(driver.set_allocated(begin + page, page + 1, page + 1), Error) << "beyond the mapping";
  driver.set_allocated(begin + page, 0, page);
  synchronize();

  EXPECT_EQ(driver.mem_unmap(begin, page), result::invalid_value) << "part of a mapping";
  EXPECT_EQ(driver.mem_release(memory), result::success);
  EXPECT_EQ(driver.mem_release(memory), result::invalid_value);
  EXPECT_EQ(driver.mem_unmap(begin, 2 * page), result::success);
  EXPECT_EQ(driver.mem_unmap(begin, 2 * page), result::invalid_value);
  size_t free_bytes = 0, total = 0;
  driver.mem_get_info(&free_bytes, &total);
  EXPECT_EQ(total - free_bytes, used_before);

  void* pinned = nullptr;
  EXPECT_EQ(driver.mem_alloc(&begin, 0), result::invalid_value);
  EXPECT_EQ(driver.mem_host_alloc(&pinned, 0, 0), result::invalid_value);
  ASSERT_EQ(driver.mem_alloc(&begin, 100), result::success);
  EXPECT_EQ(driver.mem_free(begin + 1), result::invalid_value);
  EXPECT_EQ(driver.mem_free(begin), result::success);
  EXPECT_EQ(driver.mem_free(begin), result::invalid_value);
}

TEST(EmulatedDevices, RefuseUnknownSchedules) {
  EmulatedDevice device;
  EXPECT_TAPE_ERROR(device.set_schedule(3), ErrorKind::config, "emulated device: schedule 3 is not 0, 1 or 2");
}

}  // namespace
}  // namespace tape::cuda_device::emulation
