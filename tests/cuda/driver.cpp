#include "autograd/cuda/driver.h"

#include <dlfcn.h>

#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "autograd/create.h"
#include "autograd/cuda/context.h"
#include "autograd/cuda/memory.h"
#include "autograd/cuda/module.h"
#include "autograd/cuda/stream.h"
#include "autograd/devices.h"
#include "autograd/tape/scope.h"
#include "tests/cuda/fake_driver.h"
#include "tests/support/errors.h"

namespace tape::cuda_device {
namespace {

/// Sets TAPE_CUDA_BLOCKING while in scope, for contexts that are created in it.
class Blocking {
 public:
  explicit Blocking(const char* value) { setenv("TAPE_CUDA_BLOCKING", value, 1); }
  ~Blocking() { unsetenv("TAPE_CUDA_BLOCKING"); }
};

TEST(CudaDriver, NamesTheMissingLibrary) {
  if (void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL)) {
    dlclose(library);
    GTEST_SKIP() << "this machine has an NVIDIA driver";
  }
  EXPECT_EQ(unavailable(), "no NVIDIA driver (libcuda.so.1 not found)");
  EXPECT_EQ(device_count(), 0);
  EXPECT_EQ(driver_version(), 0);
  EXPECT_TAPE_ERROR(driver(), ErrorKind::device, "cuda: no NVIDIA driver (libcuda.so.1 not found)");
  EXPECT_TAPE_ERROR(context(), ErrorKind::device, "cuda: no NVIDIA driver (libcuda.so.1 not found)");
}

TEST(CudaDriver, OldDriversAreRefused) {
  FakeDriver fake;
  fake.version = 11040;
  EXPECT_TAPE_ERROR(context(), ErrorKind::device,
                    "cuda: the NVIDIA driver supports CUDA 11.4, at least 12.0 is needed: update the driver");
}

TEST(CudaDriver, DriverWithoutDevicesIsUnavailable) {
  {
    FakeDriver fake;
    fake.devices.clear();
    EXPECT_EQ(unavailable(), "the NVIDIA driver finds no device");
  }
  FakeDriver fake;
  fake.init = result::no_device;
  EXPECT_EQ(unavailable(), "the NVIDIA driver finds no device");
}

TEST(CudaDriver, FailedInitializationIsExplained) {
  FakeDriver fake;
  fake.init = 803;
  EXPECT_EQ(unavailable(),
            "the NVIDIA driver cannot be initialized: system has unsupported display driver / cuda driver combination "
            "(CUDA_ERROR_SYSTEM_DRIVER_MISMATCH)");
}

TEST(CudaDriver, OldDevicesAreRefusedByName) {
  FakeDriver fake;
  fake.devices = {{"Tesla V100-SXM2-16GB", 70}};
  EXPECT_TAPE_ERROR(context(), ErrorKind::device,
                    "cuda: Tesla V100-SXM2-16GB has compute capability 7.0; the kernels need 8.0 (Ampere) or newer");
}

TEST(CudaDriver, OldDevicesAmongOthersAreRefusedWhenTheyAreUsed) {
  FakeDriver fake;
  fake.devices = {{"NVIDIA H100", 90}, {"Tesla T4", 75}};
  EXPECT_EQ(device_count(), 2);
  EXPECT_EQ(context().name, "NVIDIA H100");
  EXPECT_TAPE_ERROR(UseDevice(1), ErrorKind::device,
                    "cuda: Tesla T4 has compute capability 7.5; the kernels need 8.0 (Ampere) or newer");
  EXPECT_EQ(current_device(), 0);
}

TEST(CudaDriver, UnknownDevicesAreRefused) {
  FakeDriver fake;
  EXPECT_TAPE_ERROR(UseDevice(2), ErrorKind::device, "cuda: no device 2; the number of devices is 1");
}

TEST(CudaDriver, EachDeviceHasItsContext) {
  FakeDriver fake;
  fake.devices = {{"first", 80}, {"second", 120}};
  EXPECT_EQ(context().name, "first");
  {
    const UseDevice second(1);
    EXPECT_EQ(context().name, "second");
    EXPECT_EQ(context().capability, 120);
    EXPECT_EQ(context().multiprocessors, 132);
  }
  EXPECT_EQ(context().index, 0);
}

TEST(CudaDriver, ListedDevicesAreNotUsed) {
  FakeDriver fake;
  fake.devices = {{"Tesla T4", 75}, {"first", 80}, {"second", 120}};
  const std::vector<DeviceInfo> gpus = devices().gpus;
  ASSERT_EQ(gpus.size(), 2U);
  EXPECT_EQ(gpus[1].device, cuda(2));
  EXPECT_EQ(gpus[1].name, "second");
  EXPECT_EQ(gpus[1].memory_bytes, fake.total_memory);
  EXPECT_TRUE(indices_of_contexts().empty());
}

TEST(CudaDriver, DevicesBeyondTheLastThatCanBeUsedAreNotListed) {
  FakeDriver fake;
  fake.devices.assign(17, {"one of many", 90});
  EXPECT_EQ(devices().gpus.size(), static_cast<size_t>(kMostDevices));
}

TEST(CudaDriver, PinnedMemoryUsesNoOtherDevice) {
  FakeDriver fake;
  fake.devices = {{"Tesla T4", 75}, {"NVIDIA H100", 90}};
  const DeviceScope second(cuda(1));
  const Tensor pinned = zeros({2}, cpu).pin_memory();
  EXPECT_EQ(from_vector(std::vector<float>{1, 2}, {2}).device(), cuda(1));
  EXPECT_EQ(indices_of_contexts(), std::vector<int>{1});
}

TEST(CudaDriver, BusyDevicesAreNamed) {
  FakeDriver fake;
  fake.retain = 46;
  EXPECT_TAPE_ERROR(context(), ErrorKind::device,
                    "cuda: device 0 (NVIDIA Fake) is busy: another process uses it alone (its compute mode)");
}

TEST(CudaKernels, BuildWithoutKernelsIsNamed) {
  FakeDriver fake;
  const Kernel kernel("scale_f32");
  try {
    kernel({1}, {1});
    ADD_FAILURE() << "no kernel should have been found";
  } catch (const Error& error) {
    const std::string text = error.what();
    // A build with kernels has others than this one.
    EXPECT_TRUE(text == "cuda: this build has no CUDA kernels (configure with TAPEFORMER_CUDA=ON)" ||
                text == "cuda: no kernel scale_f32 in the compiled modules")
        << text;
  }
}

TEST(CudaKernels, UnknownKernelsAreNamed) {
  FakeDriver fake;
  const Module module("image", 13000);
  const Kernel kernel("scale_f32");
  EXPECT_TAPE_ERROR(kernel({1}, {1}), ErrorKind::device, "cuda: no kernel scale_f32 in the compiled modules");
}

TEST(CudaKernels, KernelsOfANewerToolkitAreExplained) {
  FakeDriver fake;
  fake.load = 209;
  fake.version = 12040;
  const Module module("image", 13000);
  const Kernel kernel("scale_f32");
  EXPECT_TAPE_ERROR(kernel({1}, {1}), ErrorKind::device,
                    "cuda: the driver (CUDA 12.4) cannot load kernels of CUDA 13.0 on NVIDIA Fake, compute capability "
                    "9.0: no kernel image is available for execution on the device (CUDA_ERROR_NO_BINARY_FOR_GPU); "
                    "update the driver");
}

TEST(CudaKernels, CachedMemoryIsReturnedForThoseThatAreLoaded) {
  FakeDriver fake;
  fake.functions = {"scale_f32"};
  const Module module("image", 13000);
  const Kernel kernel("scale_f32");
  const auto launch_beside_cached_memory = [&] {
    empty(Shape{1000}, {f32, cuda});
    EXPECT_GT(fake.used_memory, 0);
    kernel({1}, {1});
    EXPECT_EQ(fake.used_memory, 0);
  };
  fake.loads_without_memory = 1;
  launch_beside_cached_memory();
  fake.launches_without_memory = 1;
  launch_beside_cached_memory();
  fake.launches_without_memory = 2;
  EXPECT_TAPE_ERROR(kernel({1}, {1}), ErrorKind::out_of_memory,
                    "cuda: scale_f32: out of memory (CUDA_ERROR_OUT_OF_MEMORY)");
}

/// A driver with one kernel.
struct LaunchFailures : testing::Test {
  LaunchFailures() { fake.functions = {"scale_f32"}; }
  FakeDriver fake;
  const Module module{"image", 13000};
  const Kernel kernel{"scale_f32"};
};

TEST_F(LaunchFailures, RefusedLaunchesNameTheKernelAndItsSizes) {
  fake.launch = 1;
  EXPECT_TAPE_ERROR(kernel.with_shared({4, 2}, {2048}, 16), ErrorKind::device,
                    "cuda: kernel scale_f32 could not be launched with 4 x 2 x 1 blocks of 2048 x 1 x 1 threads and 16 "
                    "bytes of shared memory: invalid argument (CUDA_ERROR_INVALID_VALUE)");
}

TEST_F(LaunchFailures, FailedKernelsAreFoundAtTheNextCopyWithAHint) {
  fake.synchronize = 700;
  kernel({1}, {1});
  EXPECT_TAPE_ERROR(
      synchronize(), ErrorKind::device,
      "cuda: synchronize: an earlier kernel failed: an illegal memory access was encountered "
      "(CUDA_ERROR_ILLEGAL_ADDRESS); TAPE_CUDA_BLOCKING=1 names it. The device cannot be used any more in "
      "this process");
  char byte = 0;
  EXPECT_TAPE_ERROR(
      copy_to_host(&byte, &byte, 1), ErrorKind::device,
      "cuda: copy to the host: an earlier kernel failed: an illegal memory access was encountered "
      "(CUDA_ERROR_ILLEGAL_ADDRESS); TAPE_CUDA_BLOCKING=1 names it. The device cannot be used any more in "
      "this process");
}

TEST_F(LaunchFailures, BlockingNamesTheKernelAndTheOperation) {
  const Blocking blocking("1");
  kernel({1}, {1});
  EXPECT_EQ(fake.synchronized, 1);
  fake.synchronize = 700;
  EXPECT_TAPE_ERROR(kernel({1}, {1}), ErrorKind::device,
                    "cuda: kernel scale_f32 failed: an illegal memory access was encountered "
                    "(CUDA_ERROR_ILLEGAL_ADDRESS). The device cannot be used any more in this process");
  const LaunchingOperation operation("softmax");
  EXPECT_TAPE_ERROR(kernel({1}, {1}), ErrorKind::device,
                    "cuda: kernel scale_f32 of operation softmax failed: an illegal memory access was encountered "
                    "(CUDA_ERROR_ILLEGAL_ADDRESS). The device cannot be used any more in this process");
}

TEST_F(LaunchFailures, LaunchesDoNotWaitOtherwise) {
  for (const char* value : {"0", ""}) {
    const Blocking blocking(value);
    FakeDriver other;
    other.functions = {"scale_f32"};
    kernel({1}, {1});
    EXPECT_EQ(other.synchronized, 0);
  }
}

TEST_F(LaunchFailures, LostDevicesAreNamed) {
  fake.synchronize = 46;
  const std::string message =
      "device 0 was lost: CUDA-capable device(s) is/are busy or unavailable (CUDA_ERROR_DEVICE_UNAVAILABLE); the Xid "
      "in "
      "the kernel log (dmesg) is the reason. The device cannot be used any more in this process";
  EXPECT_TAPE_ERROR(synchronize(), ErrorKind::device, "cuda: synchronize: " + message);
  EXPECT_TAPE_ERROR(copy_to_device(this, this, 1), ErrorKind::device, "cuda: copy to the device: " + message);
}

TEST_F(LaunchFailures, UnknownResultsHaveTheirNumber) {
  fake.synchronize = 12345;
  EXPECT_TAPE_ERROR(synchronize(), ErrorKind::device, "cuda: synchronize: unknown result 12345");
}

}  // namespace
}  // namespace tape::cuda_device
