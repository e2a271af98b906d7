// What launches and copies cost on a GPU. The bounds are far from what any GPU needs: they find a path that waits or
// copies twice, and the printed values are for people.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <optional>
#include <vector>

#include "autograd/create.h"
#include "autograd/cuda/context.h"
#include "autograd/cuda/memory.h"
#include "autograd/cuda/stream.h"
#include "autograd/kernels/random/tokens.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/product/matmul.h"
#include "autograd/tape/scope.h"
#include "tests/cuda/device_array.h"
#include "tests/cuda/test_device.h"

namespace tape::cuda_device {
namespace {

/// Seconds of one call, the best of three series of `calls` calls, each until the device is done.
double seconds_per_call(int calls, const std::function<void()>& call) {
  double best = 1e9;
  call();
  for (int series = 0; series < 3; ++series) {
    synchronize();
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < calls; ++i) call();
    synchronize();
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / calls);
  }
  return best;
}

class CudaCosts : public testing::Test {
 protected:
  void SetUp() override {
    if (!test_on_gpu()) GTEST_SKIP() << "needs a GPU (TAPE_TEST_DEVICE=cuda)";
    device_.emplace();
  }
  /// Prints the time of a call and expects it to be below a bound.
  static void expect_below(double microseconds, const char* what, int calls, const std::function<void()>& call) {
    const double measured = 1e6 * seconds_per_call(calls, call);
    fmt::print("{:<46} {:8.2f} us\n", what, measured);
    EXPECT_LT(measured, microseconds) << what;
  }
  /// Prints the rate of a copy and expects it to be above a bound.
  static void expect_above(double gigabytes, const char* what, const std::function<void()>& copy) {
    const double measured = 1e-9 * static_cast<double>(kBytes) / seconds_per_call(4, copy);
    fmt::print("{:<46} {:8.1f} GB/s\n", what, measured);
    EXPECT_GT(measured, gigabytes) << what;
  }

  static constexpr int64_t kBytes = int64_t{256} << 20;
  std::optional<TestDevice> device_;
};

TEST_F(CudaCosts, LaunchesTakeMicroseconds) {
  const Kernel reverse("correct_reverse");
  const DeviceArray<float> x{std::vector<float>(64, 1.5F)}, y{64};
  expect_below(40, "launch of a kernel", 10000, [&] { reverse({1}, {64}, x.constant(), y.get()); });
  expect_below(200, "launch of a kernel, waiting for it", 1000, [&] {
    reverse({1}, {64}, x.constant(), y.get());
    synchronize();
  });
  const NoGrad no_grad;
  const Tensor a = ones({1024}, cuda), b = ones({1024}, cuda), first = ones({}, cuda);
  expect_below(80, "add of two tensors", 10000, [&] { a + b; });
  expect_below(400, "copy of one value to the host", 1000, [&] { first.item(); });
}

TEST_F(CudaCosts, CopiesAreFastFromPinnedMemory) {
  const DeviceArray<char> x{static_cast<size_t>(kBytes)}, y{static_cast<size_t>(kBytes)};
  void* const pinned = allocate_pinned(kBytes);
  fill_bytes(x.get(), 1, kBytes);
  expect_above(1, "copy from pinned memory to the device", [&] { copy_to_device(x.get(), pinned, kBytes); });
  expect_above(1, "copy from the device to pinned memory", [&] { copy_to_host(pinned, x.get(), kBytes); });
  expect_above(50, "copy on the device", [&] { copy_on_device(y.get(), x.get(), kBytes); });
  free_pinned(pinned);
}

/// What a generated token takes: reading the weights, and a choice among the ids of GPT-2.
TEST_F(CudaCosts, ATokenReadsItsWeightsAndIsChosenFast) {
  constexpr int64_t kWidth = 4096, kVocab = 50257;
  const NoGrad no_grad;
  for (const DType dtype : {f32, bf16}) {
    const Tensor weight = zeros({kBytes / (kWidth * size_of(dtype)), kWidth}, {dtype, cuda});
    for (const int64_t rows : {1, 2, 4, 8}) {
      const Tensor x = zeros({rows, kWidth}, {dtype, cuda});
      expect_above(200, fmt::format("product of {} rows of {} by a weight", rows, to_string(dtype)).c_str(),
                   [&] { linear(x, weight, Tensor()); });
    }
  }
  const Tensor scores = randn({1, kVocab}, cuda), row = zeros({1}, {i64, cuda});
  Tensor text = zeros({1, 1}, {i64, cuda}), next = zeros({1, 1}, {i64, cuda}), ended = zeros({1}, {boolean, cuda});
  const DeviceArray<kernels::Finding> finding{std::vector<kernels::Finding>(1)};
  const kernels::TokenChoice how{
      .rows = 1, .vocab = kVocab, .limit = kVocab, .columns = 1, .top_k = 50, .temperature = 0.8, .top_p = 0.9};
  expect_below(2000, "choice of a token among 50257", 200, [&] {
    kernels::tokens<float>(kernels::Target{cuda})
        .choose(how,
                {.scores = scores.device_data<float>(),
                 .numbers = row.device_data<int64_t>(),
                 .begin = row.device_data<int64_t>(),
                 .hidden = row.device_data<int64_t>(),
                 .stop_ids = row.device_data<int64_t>(),
                 .text = text.mutable_device_data<int64_t>(),
                 .next = next.mutable_device_data<int64_t>(),
                 .ended = ended.mutable_device_data<bool>()},
                1, finding.get());
  });
}

}  // namespace
}  // namespace tape::cuda_device
