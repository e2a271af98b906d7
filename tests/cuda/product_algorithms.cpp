// How the algorithms of products are chosen: by measurement (TAPE_CUDA_ALGORITHMS=measure), once.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "autograd/cuda/algorithm_file.h"
#include "autograd/cuda/blas_product.h"
#include "autograd/cuda/emulation/emulated_blas.h"
#include "autograd/cuda/emulation/emulated_driver.h"
#include "autograd/cuda/emulation/emulation.h"
#include "autograd/cuda/graph.h"
#include "autograd/cuda/memory.h"
#include "base/file.h"
#include "base/path.h"
#include "tests/cuda/device_array.h"
#include "tests/cuda/environment.h"
#include "tests/cuda/test_device.h"
#include "tests/support/errors.h"
#include "tests/support/files.h"
#include "tests/support/temporary_folder.h"

namespace tape::cuda_device {
namespace {

using emulation::driver_state, emulation::emulated_blas, emulation::EmulatedAlgorithm, emulation::EmulatedDevice;

constexpr const char* kFile = "/tapeformer/cublaslt-emulated-device-130000.txt";

/// A user's cache folder of its own, and algorithms that are measured, for contexts that are created meanwhile.
struct Measuring {
  TemporaryFolder caches;
  const EnvironmentVariable folder{"XDG_CACHE_HOME", caches.path()}, mode{"TAPE_CUDA_ALGORITHMS", "measure"};

  std::string file() const { return caches.path() + kFile; }
};

/// An emulated device whose cuBLASLt suggests these algorithms, with new contexts as in another process.
class Process : NonCopyable {
 public:
  explicit Process(std::vector<EmulatedAlgorithm> algorithms) { driver_state().algorithms = std::move(algorithms); }

 private:
  EmulatedDevice device_;
};

std::vector<float> values(size_t count, float first) {
  std::vector<float> all(count);
  for (size_t i = 0; i < count; ++i)
    all[i] = first + 0.37F * static_cast<float>(i % 11) - 0.1F * static_cast<float>(i % 7);
  return all;
}

/// Operands of d [4, columns] = a [4, 24] b [24, columns], and 64 values for a bias or sums.
struct Operands {
  explicit Operands(int64_t columns = 3)
      : b(values(static_cast<size_t>(24 * columns), -2)),
        d(values(static_cast<size_t>(4 * columns), 1)),
        product{.rows = 4, .columns = columns, .inner = 24, .lda = 4, .ldb = 24, .ldd = 4} {}

  BlasOperands get() const { return {a.get(), b.get(), nullptr, d.get()}; }
  BlasOperands with_sums() const { return {a.get(), b.get(), nullptr, d.get(), more.get()}; }

  DeviceArray<float> a{values(96, 1)}, b, d, more{values(64, 3)};
  BlasProduct product;
};

std::vector<float> run(const Operands& x) {
  EXPECT_TRUE(multiply(x.product, x.get()));
  return x.d.values();
}

/// Microseconds that a product takes once its algorithm is chosen.
double chosen_time(const Operands& x) {
  run(x);
  synchronize();
  const double before = emulation::work_queue().microseconds();
  EXPECT_TRUE(multiply(x.product, x.get()));
  synchronize();
  return emulation::work_queue().microseconds() - before;
}
double chosen_time_of(const std::vector<EmulatedAlgorithm>& algorithms) {
  const Measuring measuring;
  const Process process(algorithms);
  return chosen_time(Operands());
}

TEST(CudaProductAlgorithms, FastestIsChosen) {
  EXPECT_EQ(chosen_time_of({{100}, {80}, {60}, {90}}), 60);
  EXPECT_EQ(chosen_time_of({{800}, {600}, {900}}), 600);
  EXPECT_EQ(chosen_time_of({{3}, {4}, {2}}), 2);
  EXPECT_EQ(chosen_time_of({{60}, {40}, {150}}), 40);
  EXPECT_EQ(chosen_time_of({{70}}), 70);
}

TEST(CudaProductAlgorithms, EarlierOnesArePreferredToThoseThatAreHardlyFaster) {
  EXPECT_EQ(chosen_time_of({{1000}, {990}, {981}}), 1000);
  EXPECT_EQ(chosen_time_of({{1000}, {979}, {970}}), 979);
}

TEST(CudaProductAlgorithms, EightAreMeasuredAtMost) {
  EXPECT_EQ(chosen_time_of({{90}, {80}, {70}, {60}, {50}, {40}, {30}, {20}, {10}}), 20);
}

TEST(CudaProductAlgorithms, RefusedOnesAreSkipped) {
  EXPECT_EQ(chosen_time_of({{100}, {.microseconds = 10, .status = blas_status::execution_failed}, {70}}), 70);
  EXPECT_EQ(chosen_time_of({{.microseconds = 10, .status = blas_status::execution_failed}, {120}, {70}, {90}}), 70);
  const Measuring measuring;
  const Process process({{.microseconds = 10, .status = blas_status::execution_failed},
                         {.microseconds = 20, .status = blas_status::execution_failed}});
  const Operands x;
  EXPECT_TAPE_ERROR(multiply(x.product, x.get()), ErrorKind::device,
                    "cuda: cublasLtMatmul: status CUBLAS_STATUS_EXECUTION_FAILED (13): f32 [3, 24] x [24, 4]");
}

TEST(CudaProductAlgorithms, UnsupportedOnesAreReplacedWhenTheyRun) {
  const EmulatedAlgorithm unsupported{.microseconds = 10, .status = blas_status::not_supported};
  for (const char* const mode : {"first", "measure"}) {
    const Measuring measuring;
    const EnvironmentVariable chosen{"TAPE_CUDA_ALGORITHMS", mode};
    const Process process({unsupported, unsupported, {30}, {40}});
    EXPECT_EQ(chosen_time(Operands()), 30);
  }
  // None is left, so the caller multiplies without cuBLASLt, now and later.
  const Measuring measuring;
  const Process process({unsupported, unsupported});
  const Operands x;
  for (int i = 0; i < 2; ++i) EXPECT_FALSE(multiply(x.product, x.get()));
}

TEST(CudaProductAlgorithms, ShortProductsAreRepeatedInGraphs) {
  const Measuring measuring;
  {
    const Process process({{200}, {150}});
    chosen_time(Operands());
    EXPECT_EQ(driver_state().graph_launches, 0);
  }
  remove_path(measuring.file());
  const Process process({{3}, {2}});
  chosen_time(Operands());
  EXPECT_EQ(driver_state().graph_launches, 2 * 2 * 3);  // two in each of three rounds for either
}

TEST(CudaProductAlgorithms, MeasuringIsBounded) {
  // 40 ms and 30 ms, after which the third one has no time.
  EXPECT_EQ(chosen_time_of({{20'000}, {15'000}, {1}}), 15'000);
  const Measuring measuring;
  const auto choices = [] {
    const Process process({{25'000}, {24'000}});
    for (int columns = 1; columns <= 90; ++columns) run(Operands(columns));
    return blas_choices();
  };
  // 49 ms each for first runs and for measured ones, 4 seconds in all.
  const BlasChoices first = choices();
  EXPECT_EQ(first.measured, 41);
  EXPECT_EQ(first.unmeasured, 49);
  // Those that were not measured are not measured later, either, since bits would change.
  const BlasChoices second = choices();
  EXPECT_EQ(second.from_file, 90);
  EXPECT_EQ(second.measured + second.unmeasured, 0);
}

/// Where cublasLtMatmul wrote.
std::vector<const void*> written;

TEST(CudaProductAlgorithms, MeasuringChangesNoOperand) {
  const Measuring measuring;
  const Process process({{100}, {80, 2}, {90, 3}});
  Blas table = emulated_blas();
  table.matmul = [](auto... arguments) {
    written.push_back(std::get<10>(std::tuple(arguments...)));
    return emulated_blas().matmul(arguments...);
  };
  install_blas(&table);
  Operands x;
  x.product.ldd = 5;  // a value between columns
  const std::vector<float> a = x.a.values(), b = x.b.values(), more = x.more.values();
  for (const bool accumulate : {false, true}) {
    const Operands y(4);
    const std::vector<float> before = y.d.values();
    x.product.accumulate = accumulate;
    for (const BlasOperands operands : {BlasOperands{x.a.get(), x.b.get(), nullptr, y.d.get()},
                                        BlasOperands{x.a.get(), x.b.get(), x.more.get(), y.d.get()}}) {
      copy_to_device(y.d.get(), before.data(), 64);
      written.clear();
      EXPECT_TRUE(multiply(x.product, operands));
      EXPECT_EQ(std::count(written.begin(), written.end(), y.d.get()), 1);
      EXPECT_EQ(written.back(), y.d.get());
      EXPECT_GT(written.size(), 6);
      const std::vector<float> actual = y.d.values();
      for (size_t column = 0; column < 3; ++column)
        for (size_t row = 0; row < 4; ++row) {
          double expected = accumulate ? before[column * 5 + row] : 0;
          if (operands.bias) expected += more[row];
          for (size_t k = 0; k < 24; ++k)
            expected += static_cast<double>(a[k * 4 + row]) * static_cast<double>(b[column * 24 + k]);
          EXPECT_NEAR(actual[column * 5 + row], expected, 1e-4);
        }
      for (const size_t between : {4U, 9U, 14U}) EXPECT_EQ(actual[between], before[between]);
    }
  }
  EXPECT_EQ(blas_choices().measured, 4);
  EXPECT_EQ(x.a.values(), a);
  EXPECT_EQ(x.b.values(), b);
  EXPECT_EQ(x.more.values(), more);
  install_blas(&emulated_blas());
}

/// Where cublasLtMatmul wrote sums.
std::vector<const void*> sums;

TEST(CudaProductAlgorithms, MeasuringWritesNoSums) {
  const Measuring measuring;
  const Process process({{100}, {80, 2}});
  Blas table = emulated_blas();
  table.matmul_set = [](void* descriptor, int attribute, const void* value, size_t bytes) {
    if (attribute == matmul_attribute::bias_pointer) sums.push_back(*static_cast<const void* const*>(value));
    return emulated_blas().matmul_set(descriptor, attribute, value, bytes);
  };
  install_blas(&table);
  Operands x;
  x.product.transpose_b = true;  // without which there are no sums
  x.product.ldb = 3;
  EXPECT_TRUE(multiply(x.product, x.with_sums()));
  EXPECT_EQ(std::count(sums.begin(), sums.end(), x.more.get()), 2);  // to describe the product, and to run it
  EXPECT_EQ(sums.back(), x.more.get());
  EXPECT_GT(sums.size(), 6);
  const std::vector<float> b = x.b.values(), actual = x.more.values();
  for (size_t column = 0; column < 3; ++column) {
    double expected = 0;
    for (size_t k = 0; k < 24; ++k) expected += b[k * 3 + column];
    EXPECT_NEAR(actual[column], expected, 1e-4);
  }
  install_blas(&emulated_blas());
}

TEST(CudaProductAlgorithms, FirstOneIsTakenWithoutMemory) {
  const Measuring measuring;
  const Process process({{100}, {80}});
  const Operands x;
  const int64_t live = stats().live_bytes;
  set_limit(live);
  EXPECT_EQ(chosen_time(x), 100);
  EXPECT_EQ(blas_choices().unmeasured, 1);
  set_limit(int64_t{1} << 40);
  const Operands y(5);
  const int64_t before = stats().live_bytes;
  EXPECT_EQ(chosen_time(y), 80);
  EXPECT_EQ(stats().live_bytes, before);
}

TEST(CudaProductAlgorithms, AreReadByTheNextProcess) {
  const Measuring measuring;
  std::vector<float> first;
  {
    const Process process({{100}, {60, 2}, {80}});
    first = run(Operands());
    EXPECT_EQ(blas_choices().measured, 1);
    EXPECT_EQ(blas_choices().from_file, 0);
  }
  const std::string text = read_text(measuring.file());
  EXPECT_EQ(text.substr(0, text.rfind(':')),
            "# Algorithms of cuBLASLt 130000 chosen on emulated device. Without this file they are measured again.\n"
            "f32 to f32 in f32: nn 4 x 3 x 24, leading 4 24 4, batch 1 by 0 0 0 0, epilogue 1, aligned 16 16 16 16 0");
  // What cuBLASLt suggests now makes no difference, and the workspace is there.
  const Process process({{40}, {50}});
  EXPECT_EQ(run(Operands()), first);
  EXPECT_EQ(chosen_time(Operands()), 60);
  EXPECT_EQ(blas_choices().measured, 0);
  EXPECT_EQ(blas_choices().from_file, 1);
  EXPECT_EQ(read_text(measuring.file()), text);
}

TEST(CudaProductAlgorithms, BitsAreTheSameFromTheFirstUseOn) {
  const std::vector<EmulatedAlgorithm> algorithms = {{100}, {60, 2}, {80, 3}};
  const Measuring measuring;
  std::vector<std::vector<float>> all;
  for (int i = 0; i < 2; ++i) {
    const Process process(algorithms);
    for (int use = 0; use < 3; ++use) all.push_back(run(Operands()));
  }
  for (const auto& result : all) EXPECT_EQ(result, all.front());
  const EnvironmentVariable mode("TAPE_CUDA_ALGORITHMS", "first");
  const Process process(algorithms);
  EXPECT_NE(run(Operands()), all.front());
}

TEST(CudaProductAlgorithms, DamagedLinesAreIgnored) {
  const Measuring measuring;
  const auto choices = [](double expected) {
    const Process process({{100}, {60}});
    EXPECT_EQ(chosen_time(Operands()), expected);
    return blas_choices();
  };
  choices(60);
  const std::string good = read_text(measuring.file());
  const auto lines_after = [&](const std::string& text) {
    write_file(measuring.file(), text);
    EXPECT_EQ(choices(60).measured, 1);
    // The new line counts, whatever is before it.
    EXPECT_EQ(choices(60).from_file, 1);
    return std::ranges::count(read_text(measuring.file()), '\n');
  };
  EXPECT_EQ(lines_after(""), 2);
  EXPECT_EQ(lines_after("\n\n#\nf32\n" + std::string(300, 'x') + "\n"), 6);
  EXPECT_EQ(lines_after(good.substr(0, good.size() - 1) + "x\n"), 3);
  EXPECT_EQ(lines_after(replaced(good, ": " + good.substr(good.size() - 129), ":x" + good.substr(good.size() - 129))),
            3);
  // Without its end, as after a crash.
  EXPECT_EQ(lines_after(good.substr(0, good.size() - 9)), 3);
  // An algorithm of another product, which cuBLASLt refuses.
  std::string other = good;
  char& digit = other[other.size() - 1 - 128];
  digit = digit == '1' ? '2' : '1';
  EXPECT_EQ(lines_after(other), 3);
}

TEST(CudaProductAlgorithms, HoldForTheProcessWithoutAFile) {
  const auto choices = [] {
    const Process process({{100}, {60}});
    EXPECT_EQ(chosen_time(Operands()), 60);
    EXPECT_EQ(chosen_time(Operands()), 60);
    return blas_choices().measured;
  };
  const Measuring measuring;
  write_file(measuring.caches.path() + "/file", "");
  const EnvironmentVariable folder("XDG_CACHE_HOME", measuring.caches.path() + "/file/folder");
  EXPECT_EQ(choices(), 1);
  EXPECT_EQ(choices(), 1);
  const EnvironmentVariable other("XDG_CACHE_HOME", measuring.caches.path());
  make_folder(measuring.file());
  EXPECT_EQ(choices(), 1);
  EXPECT_EQ(choices(), 1);
  const EnvironmentVariable none("XDG_CACHE_HOME", std::nullopt), homeless("HOME", std::nullopt);
  EXPECT_EQ(choices(), 1);
}

TEST(CudaProductAlgorithms, FullFileIsLeftAsItIs) {
  const Measuring measuring;
  make_folder(measuring.caches.path() + "/tapeformer");
  write_file(measuring.file(), std::string(5 << 20, '\n'));
  const Process process({{100}, {60}});
  EXPECT_EQ(chosen_time(Operands()), 100);
  EXPECT_EQ(blas_choices().unmeasured, 1);
  EXPECT_EQ(file_bytes(measuring.file()), 5 << 20);
}

TEST(CudaProductAlgorithms, OtherVersionsHaveOtherFiles) {
  const Measuring measuring;
  {
    const Process process({{100}, {60}});
    run(Operands());
  }
  const Process process({{100}, {60}});
  Blas table = emulated_blas();
  table.get_version = [] { return size_t{130100}; };
  install_blas(&table);
  run(Operands());
  EXPECT_EQ(blas_choices().measured, 1);
  EXPECT_EQ(folder_entries(measuring.caches.path() + "/tapeformer"),
            (std::vector<std::string>{"cublaslt-emulated-device-130000.txt", "cublaslt-emulated-device-130100.txt"}));
  install_blas(&emulated_blas());
}

TEST(CudaProductAlgorithms, AreKeptInTheCacheFolder) {
  constexpr const char* kName = "cublaslt-nvidia-h100-80gb-hbm3-130100.txt";
  const auto path = [] { return AlgorithmFile("NVIDIA H100 80GB HBM3", 130100).path(); };
  const EnvironmentVariable home("HOME", "/home/ada"), folder("XDG_CACHE_HOME", "/caches");
  EXPECT_EQ(path(), std::string("/caches/tapeformer/") + kName);
  for (const char* const none : {"", "not/absolute"}) {
    const EnvironmentVariable other("XDG_CACHE_HOME", none);
    EXPECT_EQ(path(), std::string("/home/ada/.cache/tapeformer/") + kName);
    const EnvironmentVariable homeless("HOME", std::nullopt);
    EXPECT_EQ(path(), "");
  }
}

TEST(CudaProductAlgorithms, DecisionsOfOtherProcessesAreRead) {
  const Measuring measuring;
  const auto first_word = [](const std::optional<BlasAlgorithm>& algorithm) {
    return algorithm ? algorithm->data[0] : 0;
  };
  AlgorithmFile one("emulated device", 130000), other("emulated device", 130000);
  EXPECT_FALSE(one.find("p"));
  EXPECT_FALSE(other.find("p"));
  one.add("p", {{1}});
  EXPECT_EQ(first_word(other.find("p")), 1);
  // Both at the same time: each keeps its own, and later processes have the same.
  EXPECT_FALSE(one.find("q"));
  EXPECT_FALSE(other.find("q"));
  one.add("q", {{2}});
  other.add("q", {{3}});
  other.add("r", {{4}});
  EXPECT_EQ(first_word(one.find("r")), 4);
  EXPECT_EQ(first_word(one.find("q")), 2);
  EXPECT_EQ(first_word(other.find("q")), 3);
  for (int i = 0; i < 2; ++i) {
    AlgorithmFile later("emulated device", 130000);
    EXPECT_EQ(first_word(later.find("q")), 3);
    EXPECT_EQ(first_word(later.find("p")), 1);
  }
  EXPECT_FALSE(one.find("p with more"));
  // What a process has used stays, even if another one had to decide again.
  one.add("p", {{5}});
  EXPECT_FALSE(other.find("s"));
  EXPECT_EQ(first_word(other.find("p")), 1);
}

TEST(CudaProductAlgorithms, AreTheSameInGraphs) {
  const Measuring measuring;
  const std::vector<EmulatedAlgorithm> algorithms = {{100}, {60, 2}, {80}};
  std::vector<float> expected;
  {
    const Process process(algorithms);
    expected = run(Operands());
  }
  remove_path(measuring.file());
  const EnvironmentVariable graphs("TAPE_CUDA_GRAPHS", "1");
  const Process process(algorithms);
  const Operands x, y;
  const Kernel reverse{"correct_reverse"};
  for (int step = 0; step < 4; ++step) {
    // Collected when the product is measured: a kernel that has yet to read memory that was freed.
    std::optional<DeviceArray<float>> freed(values(64, 5));
    const std::vector<float> before = freed->values();
    const DeviceArray<float> kept(64), again(64);
    reverse({1}, {64}, freed->constant(), kept.get());
    freed.reset();
    EXPECT_TRUE(multiply(x.product, x.get()));
    EXPECT_TRUE(multiply(x.product, y.get()));
    reverse({1}, {64}, kept.constant(), again.get());
    EXPECT_EQ(again.values(), before);
    EXPECT_EQ(x.d.values(), expected);
    EXPECT_EQ(y.d.values(), expected);
  }
  EXPECT_EQ(blas_choices().measured, 1);
  EXPECT_EQ(graph_statistics().refused, 0);
  EXPECT_GE(graph_statistics().graph_launches, 2);
}

TEST(CudaProductAlgorithms, AreNotMeasuredUnlessAsked) {
  const Measuring measuring;
  for (const char* const mode : {"", "first"}) {
    const EnvironmentVariable set("TAPE_CUDA_ALGORITHMS", mode);
    const Process process({{100}, {60}});
    EXPECT_EQ(chosen_time(Operands()), 100);
    const BlasChoices choices = blas_choices();
    EXPECT_EQ(choices.measured + choices.from_file + choices.unmeasured, 0);
  }
  EXPECT_TRUE(folder_entries(measuring.caches.path()).empty());
  const EnvironmentVariable wrong("TAPE_CUDA_ALGORITHMS", "fastest");
  const Process process({});
  const Operands x;
  EXPECT_TAPE_ERROR(multiply(x.product, x.get()), ErrorKind::config,
                    "cuda: TAPE_CUDA_ALGORITHMS must be measure or first, got fastest");
}

TEST(CudaProductAlgorithms, ProductsOnTheTestDeviceAreRightAndTheSameAgain) {
  const Measuring measuring;
  std::vector<std::vector<float>> all;
  for (int i = 0; i < 2; ++i) {
    TestDevice device;
    if (const auto reason = blas_unavailable()) GTEST_SKIP() << *reason;
    const Operands x(40);
    all.push_back(run(x));
    all.push_back(run(x));
    const std::vector<float> a = x.a.values(), b = x.b.values();
    double expected = 0;
    for (size_t k = 0; k < 24; ++k) expected += static_cast<double>(a[k * 4 + 1]) * static_cast<double>(b[24 + k]);
    EXPECT_NEAR(all.back()[5], expected, 1e-4);
    const BlasChoices choices = blas_choices();
    EXPECT_EQ(choices.unmeasured, 0);
    EXPECT_LE(choices.measured, 1 - i);
  }
  for (const auto& result : all) EXPECT_EQ(result, all.front());
}

}  // namespace
}  // namespace tape::cuda_device
