// Steps as graphs (TAPE_CUDA_GRAPHS=1) on the emulated device.
#include "autograd/cuda/graph.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <vector>

#include <gtest/gtest.h>

#include "autograd/create.h"
#include "autograd/cuda/blas_product.h"
#include "autograd/cuda/emulation/emulated_driver.h"
#include "autograd/cuda/memory.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/elementwise/unary.h"
#include "autograd/random.h"
#include "autograd/tape/backward.h"
#include "tests/cuda/device_array.h"
#include "tests/cuda/test_device.h"
#include "tests/support/tensors.h"

namespace tape::cuda_device {
namespace {

/// Collects launches for graphs in contexts that are created while it exists.
class GraphsOn {
 public:
  GraphsOn() { setenv("TAPE_CUDA_GRAPHS", "1", 1); }
  ~GraphsOn() { unsetenv("TAPE_CUDA_GRAPHS"); }
};

class StepGraphs : public testing::Test {
 protected:
  StepGraphs() { begin(); }
  /// Launches what arrays were initialized by, and counts from here on.
  void begin() {
    synchronize();
    before_ = graph_statistics();
  }
  GraphStatistics counted() const {
    GraphStatistics counts = graph_statistics();
    for (int64_t GraphStatistics::*const count :
         {&GraphStatistics::graphs, &GraphStatistics::graph_launches, &GraphStatistics::by_graph,
          &GraphStatistics::plainly, &GraphStatistics::in_short_lists, &GraphStatistics::seen_once,
          &GraphStatistics::refused, &GraphStatistics::changed})
      counts.*count -= before_.*count;
    for (size_t end = 0; end < kListEnds; ++end) counts.lists[end] -= before_.lists[end];
    return counts;
  }

  static constexpr int64_t kBytes = 64 * sizeof(float);

  /// A step of five works, which ends with values on the host.
  std::vector<float> step(float* to) const {
    fill_bytes(to, 0, kBytes);
    reverse({1}, {64}, x.constant(), to);
    copy_on_device(x.get(), to, kBytes);
    reverse({1}, {64}, x.constant(), to);
    reverse({1}, {64}, x.constant(), to);
    std::vector<float> values(64);
    copy_to_host(values.data(), to, kBytes);
    return values;
  }

  const GraphsOn on;
  TestDevice device;
  DeviceArray<float> x{std::vector<float>(64, 1.5F)};
  DeviceArray<float> y{64}, z{64};
  const Kernel reverse{"correct_reverse"};

 private:
  GraphStatistics before_;
};

TEST_F(StepGraphs, AreMadeWhenAListComesTwice) {
  const std::vector<float> expected(64, 1.5F);
  EXPECT_EQ(step(y.get()), expected);
  EXPECT_EQ(counted().plainly, 5);
  EXPECT_EQ(counted().graphs, 0);
  EXPECT_EQ(step(y.get()), expected);
  EXPECT_EQ(step(y.get()), expected);
  const GraphStatistics same = counted();
  EXPECT_EQ(same.graphs, 1);
  EXPECT_EQ(same.graph_launches, 2);
  EXPECT_EQ(same.by_graph, 10);
  EXPECT_EQ(same.plainly, 5);
  EXPECT_EQ(same.changed, 0);
}

TEST_F(StepGraphs, ChangeOnlyArgumentsThatDiffer) {
  for (int i = 0; i < 2; ++i) step(y.get());
  EXPECT_EQ(step(z.get()), std::vector<float>(64, 1.5F));
  EXPECT_EQ(counted().graphs, 1);
  EXPECT_EQ(counted().graph_launches, 2);
  // All five have an address of z.
  EXPECT_EQ(counted().changed, 5);
  step(z.get());
  EXPECT_EQ(counted().changed, 5);
}

TEST_F(StepGraphs, OtherKernelsAndSizesAreOtherLists) {
  for (int i = 0; i < 2; ++i) step(y.get());
  for (int i = 0; i < 2; ++i) {
    for (int k = 0; k < 4; ++k) reverse({1}, {64}, x.constant(), y.get());
    synchronize();
  }
  EXPECT_EQ(counted().graphs, 2);
  for (int k = 0; k < 4; ++k) reverse.with_shared({1}, {64}, 256, x.constant(), y.get());
  synchronize();
  EXPECT_EQ(counted().graphs, 2);
  EXPECT_EQ(counted().plainly, 5 + 4 + 4);
  EXPECT_EQ(counted().seen_once, 5 + 4 + 4);
  EXPECT_EQ(list_ends_text(counted()), "3 by waits, 2 by copies to the host");
}

TEST_F(StepGraphs, LaunchKernelsWithLessSharedMemoryThanBefore) {
  for (int i = 0; i < 4; ++i) {
    // The driver has one limit of a kernel, and sees the first of these after the second was asked for.
    for (const int64_t kilobytes : {80, 60, 70, 50})
      reverse.with_shared({1}, {64}, kilobytes << 10, x.constant(), i < 3 ? y.get() : z.get());
    EXPECT_EQ((i < 3 ? y : z).values(), std::vector<float>(64, 1.5F));
  }
  EXPECT_EQ(counted().graph_launches, 3);
  EXPECT_EQ(counted().changed, 4);
  EXPECT_EQ(counted().refused, 0);
}

TEST_F(StepGraphs, ShortListsAreLaunchedPlainly) {
  for (int i = 0; i < 3; ++i) {
    reverse({1}, {64}, x.constant(), y.get());
    synchronize();
  }
  EXPECT_EQ(counted().plainly, 3);
  EXPECT_EQ(counted().in_short_lists, 3);
  EXPECT_EQ(counted().graphs, 0);
}

TEST_F(StepGraphs, LongListsAreSplit) {
  for (int i = 0; i < 3 * 512; ++i) reverse({1}, {64}, x.constant(), y.get());
  EXPECT_EQ(counted().graph_launches, 2);
  EXPECT_EQ(counted().plainly, 512);
  synchronize();
  EXPECT_EQ(counted().graph_launches, 2);
}

TEST_F(StepGraphs, HaveCopiesToTheDevice) {
  const float* const pinned = static_cast<const float*>(allocate_pinned(kBytes));
  for (int i = 0; i < 4; ++i) {
    std::vector<float> values(64, static_cast<float>(i));
    copy_to_device(x.get(), values.data(), kBytes);
    // The values are those at the time of the call.
    std::fill(values.begin(), values.end(), -1.0F);
    reverse({1}, {64}, x.constant(), y.get());
    std::fill(const_cast<float*>(pinned), const_cast<float*>(pinned) + 64, static_cast<float>(10 * i));
    copy_to_device(x.get(), pinned, kBytes);
    reverse({1}, {64}, x.constant(), z.get());
    EXPECT_EQ(y.values(), std::vector<float>(64, static_cast<float>(i)));
    EXPECT_EQ(z.values(), std::vector<float>(64, static_cast<float>(10 * i)));
  }
  free_pinned(const_cast<float*>(pinned));
  EXPECT_EQ(counted().graph_launches, 3);
  EXPECT_EQ(counted().by_graph, 3 * 4);
}

TEST_F(StepGraphs, ChangeSizesOfCopies) {
  const std::vector<float> values(64, 2.0F);
  for (int i = 0; i < 4; ++i) {
    const int64_t count = 16 * (i + 1), bytes = count * static_cast<int64_t>(sizeof(float));
    fill_bytes(y.get(), 0, kBytes);
    copy_to_device(x.get(), values.data(), bytes);
    copy_on_device(y.get(), x.get(), bytes);
    reverse({1}, {64}, x.constant(), z.get());
    const std::vector<float> copied = y.values();
    EXPECT_EQ(std::count(copied.begin(), copied.end(), 2.0F), count);
  }
  EXPECT_EQ(counted().graph_launches, 3);
  EXPECT_EQ(counted().changed, 2 * 2);
}

TEST_F(StepGraphs, FillAndCopyAcrossPages) {
  constexpr size_t kCount = 5'000'000;  // 20 MB, of which a GPU's pool maps 16 MiB at once
  constexpr int64_t kAll = kCount * sizeof(float);
  const DeviceArray<float> from(kCount), to(kCount);
  for (uint32_t i = 1; i <= 3; ++i) {
    for (int k = 0; k < 2; ++k) {
      fill_bytes(from.get(), static_cast<uint8_t>(i), kAll);
      copy_on_device(to.get(), from.get(), kAll);
    }
    const std::vector<float> values = to.values();
    EXPECT_EQ(std::count(values.begin(), values.end(), std::bit_cast<float>(0x01010101U * i)), std::ssize(values));
  }
  EXPECT_EQ(counted().graph_launches, 2);
}

TEST_F(StepGraphs, KeepPinnedMemoryUntilItWasCopied) {
  float* const first = static_cast<float*>(allocate_pinned(kBytes));
  std::fill(first, first + 64, 3.0F);
  copy_to_device(x.get(), first, kBytes);
  free_pinned(first);
  float* const second = static_cast<float*>(allocate_pinned(kBytes));
  EXPECT_NE(first, second);
  empty_cache();
  EXPECT_EQ(x.values(), std::vector<float>(64, 3.0F));
  float* const third = static_cast<float*>(allocate_pinned(kBytes));
  free_pinned(second);
  free_pinned(third);
}

TEST_F(StepGraphs, CopyFromPinnedMemoryThatHasTheAddressOfFreedMemory) {
  for (int i = 0; i < 8; ++i) {
    const float value = static_cast<float>(i);
    auto* const pinned = static_cast<float*>(allocate_pinned(kBytes));
    std::fill(pinned, pinned + 64, value);
    copy_to_device(x.get(), pinned, kBytes);
    free_pinned(pinned);
    EXPECT_EQ(step(y.get()), std::vector<float>(64, value));
    empty_cache();
  }
  EXPECT_EQ(counted().graph_launches, 7);
}

TEST_F(StepGraphs, EndWhereALongListCopiesToTheDevice) {
  const std::vector<float> values(64, 2.0F);
  for (int i = 0; i < 3; ++i) {
    for (int k = 0; k < 80; ++k) reverse({1}, {64}, x.constant(), y.get());
    copy_to_device(x.get(), values.data(), kBytes);
  }
  EXPECT_EQ(list_ends_text(counted()), "3 by copies to the device");
  EXPECT_EQ(counted().plainly, 80 + 81);
  EXPECT_EQ(counted().by_graph, 81);
}

TEST_F(StepGraphs, MemoryIsReusedWithinAList) {
  const auto run = [&] {
    for (int i = 0; i < 3; ++i) {
      const DeviceArray<float> between(static_cast<size_t>(64 + i));
      reverse({1}, {64}, x.constant(), between.get());
      reverse({1}, {64}, between.constant(), y.get());
    }
    return y.values();
  };
  for (int i = 0; i < 4; ++i) EXPECT_EQ(run(), std::vector<float>(64, 1.5F));
  EXPECT_EQ(counted().graph_launches, 3);
}

TEST_F(StepGraphs, FaultsNameTheirOperation) {
  if (test_on_gpu()) GTEST_SKIP() << "a GPU does not find this fault";
  const Kernel broken("missing_barrier");
  for (int i = 0; i < 4; ++i) {
    {
      const LaunchingOperation operation("scale");
      for (int k = 0; k < 3; ++k) reverse({1}, {64}, x.constant(), y.get());
    }
    const LaunchingOperation operation(i % 2 ? "softmax" : "exp");
    broken({1}, {64}, x.constant(), y.get());
    EXPECT_THROW(synchronize(), Error);
    EXPECT_EQ(device.emulated().last_fault().value_or(emulation::Fault{}).kernel, "missing_barrier");
    // A graph whose arguments do not change keeps the name of the operation it was made by.
    if (i < 2) {
      EXPECT_EQ(device.emulated().last_fault().value_or(emulation::Fault{}).operation, i % 2 ? "softmax" : "exp");
    }
  }
  EXPECT_EQ(counted().graph_launches, 3);
}

/// d [4, 3] = a [4, 5] b [5, 3].
constexpr BlasProduct kProduct{.rows = 4, .columns = 3, .inner = 5, .lda = 4, .ldb = 5, .ldd = 4};

class ProductsInGraphs : public StepGraphs {
 protected:
  ProductsInGraphs() { begin(); }
  /// d [4, 3] += e [4, 3] identity [3, 3].
  static BlasProduct sum() {
    return {.accumulate = true, .rows = 4, .columns = 3, .inner = 3, .lda = 4, .ldb = 3, .ldd = 4};
  }
  /// d = 2 (a b) + first + second, as four works; the two products with a bias have the same plan.
  std::vector<float> step(const float* first, const float* second, float* d) const {
    EXPECT_TRUE(multiply(kProduct, {a.get(), b.get(), first, d}));
    EXPECT_TRUE(multiply(kProduct, {a.get(), b.get(), second, e.get()}));
    EXPECT_TRUE(multiply(sum(), {e.get(), identity.get(), nullptr, d}));
    copy_on_device(e.get(), d, kValues * sizeof(float));
    std::vector<float> values(kValues);
    copy_to_host(values.data(), e.get(), kValues * sizeof(float));
    return values;
  }
  static std::vector<float> expected(float first, float second) {
    return std::vector<float>(kValues, 2 * 5 * 3.0F + first + second);
  }

  static constexpr size_t kValues = 12;
  DeviceArray<float> a{std::vector<float>(20, 1.5F)}, b{std::vector<float>(15, 2)}, e{kValues};
  DeviceArray<float> one{std::vector<float>(4, 1)}, two{std::vector<float>(4, 2)}, four{std::vector<float>(4, 4)};
  DeviceArray<float> identity{{1, 0, 0, 0, 1, 0, 0, 0, 1}};
};

TEST_F(ProductsInGraphs, AreNodesLikeKernels) {
  const int64_t products = device.products();
  for (int i = 0; i < 4; ++i) EXPECT_EQ(step(one.get(), two.get(), y.get()), expected(1, 2)) << i;
  EXPECT_EQ(counted().graphs, 1);
  EXPECT_EQ(counted().graph_launches, 3);
  EXPECT_EQ(counted().by_graph, 3 * 4);
  EXPECT_EQ(counted().plainly, 4);
  EXPECT_EQ(counted().seen_once, 4);
  EXPECT_EQ(counted().changed, 0);
  EXPECT_EQ(counted().ended_by(ListEnd::copy_to_host), 4);
  if (!test_on_gpu()) {
    EXPECT_EQ(device.products() - products, 4 * 3);
  }
}

TEST_F(ProductsInGraphs, AreCapturedAgainIfAnAddressDiffers) {
  for (int i = 0; i < 2; ++i) step(one.get(), two.get(), y.get());
  EXPECT_EQ(step(one.get(), four.get(), y.get()), expected(1, 4));
  EXPECT_EQ(counted().changed, 1);
  EXPECT_EQ(step(two.get(), four.get(), z.get()), expected(2, 4));
  EXPECT_EQ(counted().changed, 1 + 3);
  EXPECT_EQ(counted().graphs, 1);
  EXPECT_EQ(counted().graph_launches, 3);
}

TEST_F(ProductsInGraphs, ShareTheWorkspaceOfOthers) {
  constexpr int64_t kInner = 600;
  const DeviceArray<float> wide{std::vector<float>(4 * kInner, 1)}, high{std::vector<float>(kInner * 3, 1)};
  begin();
  const BlasProduct longer{.rows = 4, .columns = 3, .inner = kInner, .lda = 4, .ldb = kInner, .ldd = 4};
  for (int i = 0; i < 3; ++i) {
    for (int k = 0; k < 4; ++k) EXPECT_TRUE(multiply(longer, {wide.get(), high.get(), nullptr, y.get()}));
    EXPECT_EQ(y.values()[0], kInner);
  }
  EXPECT_EQ(counted().graph_launches, 2);
}

TEST_F(ProductsInGraphs, AreLaunchedPlainlyIfTheDriverRefusesChanges) {
  if (test_on_gpu()) GTEST_SKIP() << "needs the emulated driver";
  step(one.get(), two.get(), y.get());
  Driver refusing = *context().driver;
  refusing.graph_set_child = [](void*, void*, void*) { return result::invalid_value; };
  const Context& c = context();
  const_cast<Context&>(c).driver = &refusing;
  step(one.get(), two.get(), y.get());
  EXPECT_EQ(counted().graph_launches, 1);
  EXPECT_EQ(step(one.get(), four.get(), y.get()), expected(1, 4));
  EXPECT_EQ(counted().refused, 4);
  EXPECT_EQ(counted().refusal, "change of product: invalid argument (CUDA_ERROR_INVALID_VALUE)");
  EXPECT_EQ(counted().graph_launches, 1);
  // The next list becomes a graph again.
  EXPECT_EQ(step(one.get(), four.get(), y.get()), expected(1, 4));
  EXPECT_EQ(counted().graphs, 2);
  EXPECT_EQ(counted().graph_launches, 2);
  refusing.stream_begin_capture = [](void*, int) { return result::capture_unsupported; };
  EXPECT_EQ(step(two.get(), four.get(), y.get()), expected(2, 4));
  EXPECT_EQ(counted().refused, 8);
  EXPECT_EQ(counted().refusal,
            "change of product: operation not permitted when stream is capturing "
            "(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED)");
  // Once more, and no further graph is made.
  EXPECT_EQ(step(two.get(), four.get(), y.get()), expected(2, 4));
  refusing.stream_begin_capture = emulation::emulated_driver().stream_begin_capture;
  for (int i = 0; i < 2; ++i) EXPECT_EQ(step(two.get(), four.get(), y.get()), expected(2, 4));
  EXPECT_EQ(counted().graphs, 2);
  EXPECT_EQ(counted().refused, 20);
  const_cast<Context&>(c).driver = &emulation::emulated_driver();
}

TEST_F(StepGraphs, RefusedLaunchesAreNamedWhereTheHostWaits) {
  {
    const LaunchingOperation operation("softmax");
    reverse({1}, {2048}, x.constant(), y.get());
  }
  try {
    synchronize();
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_STREQ(
        error.what(),
        "cuda: kernel correct_reverse of operation softmax could not be launched with 1 x 1 x 1 blocks of 2048 "
        "x 1 x 1 threads and 0 bytes of shared memory: invalid argument (CUDA_ERROR_INVALID_VALUE)");
  }
  // What was refused does not come again.
  synchronize();
}

/// Values of a chain of operations with a scalar that differs from step to step, and with gradients.
std::vector<float> chain() {
  const TestDevice device;
  manual_seed(3);
  Tensor w = randn({3, 4}, {f32, cuda});
  w.requires_grad_();
  std::vector<float> values;
  for (int i = 0; i < 6; ++i) {
    const Tensor y = exp(w * (0.1 * i)) + tanh(w) * w;
    y.backward({.gradient = y.detach()});
    for (const float value : w.grad().to_vector<float>()) values.push_back(value);
    w.zero_grad();
  }
  return values;
}

TEST(StepsAsGraphs, AreOffByDefault) {
  const TestDevice device;
  EXPECT_EQ(context().collector, nullptr);
  EXPECT_EQ(graph_statistics().plainly, 0);
}

TEST(StepsAsGraphs, GiveTheSameBits) {
  const std::vector<float> plain = chain();
  const GraphsOn on;
  EXPECT_EQ(chain(), plain);
}

}  // namespace
}  // namespace tape::cuda_device
