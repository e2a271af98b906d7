#include "tests/cuda/test_device.h"

#include <cstdlib>
#include <string>
#include <string_view>

#include "autograd/cuda/blas.h"
#include "autograd/cuda/driver.h"
#include "base/error.h"

namespace tape::cuda_device {
namespace {

int64_t launch_count = 0, product_count = 0;
const Driver* nvidia_driver = nullptr;
const Blas* nvidia_blas = nullptr;

/// The NVIDIA driver's functions, with a count of launches.
const Driver& counting_driver() {
  static const Driver table = [] {
    std::string reason;
    nvidia_driver = load_nvidia_driver(reason);
    if (!nvidia_driver) raise(ErrorKind::device, "TAPE_TEST_DEVICE=cuda: {}", reason);
    Driver counting = *nvidia_driver;
    counting.launch_kernel = [](auto... arguments) {
      ++launch_count;
      return nvidia_driver->launch_kernel(arguments...);
    };
    return counting;
  }();
  return table;
}

/// cuBLASLt's functions, with a count of products; null if it is not installed.
const Blas* counting_blas() {
  static Blas table{};
  std::string reason;
  if (!nvidia_blas) nvidia_blas = load_nvidia_blas(reason);
  if (!nvidia_blas) return nullptr;
  table = *nvidia_blas;
  table.matmul = [](auto... arguments) {
    ++product_count;
    return nvidia_blas->matmul(arguments...);
  };
  return &table;
}

}  // namespace

bool test_on_gpu() {
  const char* const device = std::getenv("TAPE_TEST_DEVICE");
  if (!device || !*device) return false;
  if (std::string_view(device) != "cuda") raise(ErrorKind::config, "TAPE_TEST_DEVICE must be cuda, got {}", device);
  return true;
}

double test_tolerance(double on_emulated_device) { return on_emulated_device * (test_on_gpu() ? 16 : 1); }

TestDevice::TestDevice(const emulation::EmulatedDeviceOptions& options) {
  if (!test_on_gpu()) {
    emulated_.emplace(options);
    return;
  }
  // Unless a test chooses otherwise: others neither depend on the user's file of algorithms nor write to it.
  setenv("TAPE_CUDA_ALGORITHMS", "first", 0);
  install(&counting_driver());
  install_blas(options.blas ? counting_blas() : nullptr);
}

TestDevice::~TestDevice() {
  if (emulated_) return;
  install(nullptr);
  install_blas(nullptr);
}

void TestDevice::set_schedule(int schedule) {
  if (emulated_) emulated_->set_schedule(schedule);
}

int64_t TestDevice::launches() const { return emulated_ ? emulated_->launches() : launch_count; }
int64_t TestDevice::products() const { return emulated_ ? emulated_->products() : product_count; }

}  // namespace tape::cuda_device
