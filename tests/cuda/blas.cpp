// Products of tensors by cuBLASLt, its errors, and what the emulated one reports.
#include "autograd/cuda/blas.h"

#include <cmath>
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "autograd/create.h"
#include "autograd/cuda/blas_product.h"
#include "autograd/cuda/context.h"
#include "autograd/cuda/emulation/emulated_blas.h"
#include "autograd/cuda/emulation/emulation.h"
#include "autograd/cuda/memory.h"
#include "autograd/cuda/stream.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/elementwise/cast.h"
#include "autograd/ops/elementwise/compare.h"
#include "autograd/ops/elementwise/unary.h"
#include "autograd/ops/host_fallbacks.h"
#include "autograd/ops/product/matmul.h"
#include "autograd/ops/reduce/reduce.h"
#include "autograd/ops/shape/shape.h"
#include "autograd/random.h"
#include "autograd/tape/backward.h"
#include "autograd/tape/scope.h"
#include "base/half.h"
#include "tests/cuda/device_array.h"
#include "tests/cuda/environment.h"
#include "tests/cuda/fake_driver.h"
#include "tests/cuda/test_device.h"
#include "tests/support/errors.h"
#include "tests/support/tensors.h"

namespace tape::cuda_device {
namespace {

using emulation::EmulatedDevice, emulation::emulated_blas;

/// cuBLASLt of the emulated device with functions that a test replaces, in use while it exists.
class FakeBlas {
 public:
  FakeBlas() : table(emulated_blas()) { install_blas(&table); }
  ~FakeBlas() { install_blas(&emulated_blas()); }

  Blas table;
  static inline int heuristics = 0;  // number of calls
};

BlasStatus counted_heuristic(void* handle, void* descriptor, void* a, void* b, void* c, void* d, void* preference,
                             int requested, BlasHeuristic* results, int* count) {
  ++FakeBlas::heuristics;
  return emulated_blas().get_heuristic(handle, descriptor, a, b, c, d, preference, requested, results, count);
}

Tensor here(int64_t rows, int64_t columns, uint64_t seed) {
  Generator stream(seed);
  return randn({rows, columns}, {f32, cpu}, stream);
}

TEST(CudaBlas, IsThereOrGivesAReason) {
  {
    const EmulatedDevice device;
    EXPECT_EQ(blas_unavailable(), std::nullopt);
    EXPECT_EQ(blas_version(), 130000);
  }
  {
    const EmulatedDevice device({.blas = false});
    EXPECT_EQ(blas_unavailable(), "the driver in use is not NVIDIA's and has no cuBLASLt");
    EXPECT_EQ(blas_version(), 0);
    EXPECT_TAPE_ERROR(blas(), ErrorKind::device, "cuda: the driver in use is not NVIDIA's and has no cuBLASLt");
  }
  FakeDriver old;
  old.version = 11040;
  EXPECT_EQ(blas_unavailable(), "the NVIDIA driver supports CUDA 11.4, at least 12.0 is needed: update the driver");
}

TEST(CudaBlas, NamesTheMissingLibrary) {
  std::string reason;
  constexpr const char* kFolders =
      " not found in LD_LIBRARY_PATH, the system's folders, CUDA_HOME/lib64 and /usr/local/cuda/lib64)";
  {
    const FakeDriver driver;
    if (load_nvidia_blas(reason)) GTEST_SKIP() << "this machine has cuBLASLt";
    EXPECT_EQ(reason, std::string("no cuBLASLt (libcublasLt.so.13 or libcublasLt.so.12") + kFolders);
  }
  FakeDriver old;
  old.version = 12080;
  EXPECT_FALSE(load_nvidia_blas(reason));
  EXPECT_EQ(reason, std::string("no cuBLASLt (libcublasLt.so.12") + kFolders);
}

TEST(CudaBlas, FailuresAreNamed) {
  const EmulatedDevice device;
  FakeBlas fake;
  const Tensor a = here(5, 7, 1).to(cuda), b = here(7, 6, 2).to(cuda);
  fake.table.matmul = [](auto...) -> BlasStatus { return 14; };
  install_blas(&fake.table);
  EXPECT_TAPE_ERROR(matmul(a, b), ErrorKind::device,
                    "cuda: cublasLtMatmul: status CUBLAS_STATUS_UNKNOWN (14): f32 [5, 7] x [7, 6]");
  fake.table.get_heuristic = [](auto...) -> BlasStatus { return blas_status::invalid_value; };
  install_blas(&fake.table);
  EXPECT_TAPE_ERROR(matmul(a, b), ErrorKind::device,
                    "cuda: cublasLtMatmulAlgoGetHeuristic: status CUBLAS_STATUS_INVALID_VALUE (7)");
  fake.table.create = [](void**) -> BlasStatus { return blas_status::not_initialized; };
  install_blas(&fake.table);
  EXPECT_TAPE_ERROR(matmul(a, b), ErrorKind::device, "cuda: cublasLtCreate: status CUBLAS_STATUS_NOT_INITIALIZED (1)");
}

TEST(CudaBlas, ProductsWithoutAnAlgorithmUseTheKernel) {
  EmulatedDevice device;
  FakeBlas fake;
  const Tensor a = here(5, 7, 1), b = here(7, 6, 2);
  const auto expect_kernel = [&] {
    install_blas(&fake.table);
    const int64_t launches = device.launches();
    EXPECT_TRUE(allclose(matmul(a.to(cuda), b.to(cuda)).to(cpu), matmul(a, b), {.rtol = 1e-5, .atol = 1e-5}));
    EXPECT_EQ(device.launches() - launches, 1);
    EXPECT_EQ(device.products(), 0);
  };
  fake.table.get_heuristic = [](auto...) -> BlasStatus { return blas_status::not_supported; };
  expect_kernel();
  fake.table.get_heuristic = [](void*, void*, void*, void*, void*, void*, void*, int, BlasHeuristic*,
                                int* count) -> BlasStatus { return *count = 0, blas_status::success; };
  expect_kernel();
}

TEST(CudaBlas, ChoosesAnAlgorithmOncePerSizeAndAlignment) {
  const EmulatedDevice device;
  FakeBlas fake;
  fake.table.get_heuristic = counted_heuristic;
  install_blas(&fake.table);
  FakeBlas::heuristics = 0;
  const Tensor a = here(6, 7, 1).to(cuda), b = here(7, 6, 2).to(cuda);
  const Tensor first = matmul(a, b);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(matmul(a, b).to_vector<float>(), first.to_vector<float>());
  EXPECT_EQ(FakeBlas::heuristics, 1);
  matmul(a, b, {.transpose_a = true, .transpose_b = true});
  EXPECT_EQ(FakeBlas::heuristics, 2);
  // A row of 28 bytes further: aligned to 4 bytes.
  const Tensor later = slice(a, 0, {.start = 1}), aligned = here(5, 7, 3).to(cuda);
  matmul(aligned, b);
  matmul(later, b);
  matmul(later, b);
  EXPECT_EQ(FakeBlas::heuristics, 4);
}

TEST(CudaBlas, KeepsOneWorkspace) {
  const EmulatedDevice device;
  const Tensor a = here(2, 600, 1).to(cuda), b = here(600, 3, 2).to(cuda), few = here(2, 20, 1).to(cuda);
  const int64_t before = stats().live_bytes;
  matmul(few, few, {.transpose_b = true});
  EXPECT_EQ(stats().live_bytes, before);
  matmul(a, b);
  const int64_t with_workspace = stats().live_bytes;
  EXPECT_GE(with_workspace - before, kBlasWorkspace);
  EXPECT_LE(with_workspace - before, kBlasWorkspace + 1024);  // space between allocations
  matmul(a, a, {.transpose_b = true});
  matmul(a, b);
  EXPECT_EQ(stats().live_bytes, with_workspace);
}

TEST(CudaBlas, LowerPrecisionsRoundFloatsToTf32) {
  const EmulatedDevice device;
  const Tensor a = here(9, 40, 1).to(cuda), b = here(40, 8, 2).to(cuda);
  const auto largest_difference = [&](MatmulPrecision precision, DType dtype) {
    const Tensor x = a.to(dtype), y = b.to(dtype), exact = matmul(x, y);
    const MatmulPrecisionScope scope(precision);
    const Tensor difference = (matmul(x, y) - exact).to(cpu), products = matmul(abs(x), abs(y)).to(cpu);
    return max(abs(difference) / products).item();
  };
  for (const MatmulPrecision precision : {MatmulPrecision::high, MatmulPrecision::medium}) {
    EXPECT_GT(largest_difference(precision, f32), 1e-6);
    EXPECT_LT(largest_difference(precision, f32), 0x1p-10);
    EXPECT_EQ(largest_difference(precision, f64), 0);
  }
}

/// y and gradients of linear() with a bias in a dtype, computed on a device.
Tensors linear_values(DType dtype, Device device) {
  const auto leaf = [&](Tensor x) { return x.to(dtype).to(device).detach().requires_grad_(); };
  Generator stream(4);
  const Tensor x = leaf(randn({2, 9, 24}, {f32, cpu}, stream)), weight = leaf(here(10, 24, 5)),
               bias = leaf(reshape(here(1, 10, 6), {10}));
  const Tensor y = linear(x, weight, bias), seed = randn({2, 9, 10}, {f32, cpu}, stream).to(dtype).to(device);
  Tensors values = grad({y}, {x, weight, bias}, {.gradients = {seed}});
  values.push_back(y.detach());
  for (Tensor& value : values) value = value.to(cpu).to(f32);
  return values;
}

TEST(CudaBlas, MultipliesHalvesWithoutCasts) {
  for (const bool with_blas : {true, false}) {
    TestDevice device({.blas = with_blas});
    for (const DType dtype : {f16, bf16}) {
      const Tensors expected = linear_values(dtype, cpu), actual = linear_values(dtype, cuda);
      const double unit = dtype == f16 ? 0x1p-10 : 0x1p-7;
      for (size_t i = 0; i < expected.size(); ++i)
        EXPECT_TRUE(allclose(actual[i], expected[i], {.rtol = test_on_gpu() ? 2 * unit : unit, .atol = 1e-5}))
            << i << ": " << actual[i];
      const Tensor x = here(4, 8, 1).to(dtype).to(cuda), weight = here(3, 8, 2).to(dtype).to(cuda);
      const auto fallbacks = host_fallbacks();
      const int64_t launches = device.launches() + device.products();
      const Tensor y = linear(x, weight);
      EXPECT_EQ(y.dtype(), dtype);
      synchronize(cuda);  // the product of bf16 values waits until it is needed
      EXPECT_EQ(device.launches() + device.products() - launches, 1);
      EXPECT_EQ(host_fallbacks(), fallbacks);
    }
  }
}

TEST(CudaBlas, GradientsOfLinearAreTwoProducts) {
  TestDevice device;
  if (const auto reason = blas_unavailable()) GTEST_SKIP() << *reason;
  const auto leaf = [](const Tensor& x) { return x.to(bf16).to(cuda).detach().requires_grad_(); };
  const Tensor x = leaf(here(9, 24, 1)), weight = leaf(here(10, 24, 2)), bias = leaf(reshape(here(1, 10, 3), {10})),
               seed = here(9, 10, 4).to(bf16).to(cuda), y = linear(x, weight, bias);
  const int64_t products = device.products(), launches = device.launches();
  const auto fallbacks = host_fallbacks();
  grad({y}, {x, weight, bias}, {.gradients = {seed}});
  EXPECT_EQ(device.products() - products, 2);
  EXPECT_EQ(device.launches() - launches, 0);
  EXPECT_EQ(host_fallbacks(), fallbacks);
}

/// Device memory of f32 values.
class Floats : NonCopyable {
 public:
  explicit Floats(int64_t count, bool written = true) {
    data = static_cast<float*>(allocate(count * 4, capacity_));
    if (written) fill_bytes(data, 0, count * 4);
  }
  ~Floats() { free(data, capacity_); }

  float* data;

 private:
  int64_t capacity_ = 0;
};

/// d [4, 3] = a [4, 5] b [5, 3].
constexpr BlasProduct kSmall{.rows = 4, .columns = 3, .inner = 5, .lda = 4, .ldb = 5, .ldd = 4};

/// A product that is done when this returns.
void multiply_now(const BlasProduct& product, const BlasOperands& operands) {
  EXPECT_TRUE(multiply(product, operands));
  synchronize();
}

TEST(CudaBlas, Bf16OperandsHaveF32ResultsAndSums) {
  TestDevice device;
  if (const auto reason = blas_unavailable()) GTEST_SKIP() << *reason;
  constexpr int64_t kRows = 16, kColumns = 8, kInner = 600;
  const Tensor a = here(kInner, kRows, 1).to(bf16), b = here(kInner, kColumns, 2).to(bf16);
  const DeviceArray<BFloat16> a_there(a.to_vector<BFloat16>()), b_there(b.to_vector<BFloat16>());
  const DeviceArray<float> d(kRows * kColumns), sums(kColumns);
  const BlasProduct product{.type = BlasType::bf16,
                            .transpose_b = true,
                            .rows = kRows,
                            .columns = kColumns,
                            .inner = kInner,
                            .lda = kRows,
                            .ldb = kColumns,
                            .ldd = kRows};
  const int64_t before = device.products();
  ASSERT_TRUE(multiply(product, {a_there.get(), b_there.get(), nullptr, d.get(), sums.get()}));
  EXPECT_EQ(device.products() - before, 1);
  const Tensor expected = matmul(b.to(f32), a.to(f32), {.transpose_a = true});
  // Rounded to bf16 they would have errors of 0.1.
  EXPECT_TRUE(tensors_near(from_vector(d.values(), {kColumns, kRows}), expected, test_tolerance(1e-4)));
  EXPECT_TRUE(tensors_near(from_vector(sums.values(), {kColumns}), sum(b.to(f32), {0}), test_tolerance(1e-4)));
}

TEST(CudaBlas, SumsAreThoseOfATransposedOperand) {
  const EmulatedDevice device;
  const Floats a(20), b(15), d(12), sums(3);
  BlasProduct product = kSmall;
  EXPECT_FALSE(multiply(product, {a.data, b.data, nullptr, d.data, sums.data}));
  product.transpose_b = true;
  product.ldb = 3;
  EXPECT_TRUE(multiply(product, {a.data, b.data, nullptr, d.data, sums.data}));
}

TEST(CudaBlas, FaultsOfOperandsAreReported) {
  const EmulatedDevice device;
  const Floats a(20), b(15), d(12), unwritten(20, false), few(19), workspace(1);
  std::vector<float> host(20);
  multiply_now(kSmall, {a.data, b.data, nullptr, d.data});
  EXPECT_TAPE_ERROR(multiply_now(kSmall, {host.data(), b.data, nullptr, d.data}), ErrorKind::device,
                    "emulated device: cublasLtMatmul: host pointer: operand a is not device memory");
  EXPECT_EQ(device.last_fault()->kind, emulation::FaultKind::host_pointer);
  EXPECT_TAPE_ERROR(
      multiply_now(kSmall, {few.data, b.data, nullptr, d.data}), ErrorKind::device,
      "emulated device: cublasLtMatmul: out of bounds: operand a reads byte 76 of an allocation of 76 bytes");
  EXPECT_TAPE_ERROR(
      multiply_now(kSmall, {a.data, b.data, nullptr, d.data + 1}), ErrorKind::device,
      "emulated device: cublasLtMatmul: out of bounds: operand d writes byte 48 of an allocation of 48 bytes");
  EXPECT_TAPE_ERROR(
      multiply_now(kSmall, {a.data, unwritten.data, nullptr, d.data}), ErrorKind::device,
      "emulated device: cublasLtMatmul: uninitialized read: operand b reads byte 0 of an allocation of 80 "
      "bytes, which was never written");
  BlasProduct sum = kSmall;
  sum.accumulate = true;
  EXPECT_TAPE_ERROR(
      multiply_now(sum, {a.data, b.data, nullptr, unwritten.data}), ErrorKind::device,
      "emulated device: cublasLtMatmul: uninitialized read: operand c reads byte 0 of an allocation of 80 "
      "bytes, which was never written");
  EXPECT_TAPE_ERROR(multiply_now(kSmall, {a.data, b.data, workspace.data, d.data}), ErrorKind::device,
                    "emulated device: cublasLtMatmul: out of bounds: operand bias reads byte 4 of an allocation of 4 "
                    "bytes");
  EXPECT_TAPE_ERROR(multiply_now(kSmall, {a.data, b.data, nullptr, a.data}), ErrorKind::device,
                    "emulated device: cublasLtMatmul: race: what is written overlaps what is read");
  BlasProduct batch = kSmall;
  batch.batch = 2;
  EXPECT_TAPE_ERROR(multiply_now(batch, {a.data, b.data, nullptr, d.data}), ErrorKind::device,
                    "emulated device: cublasLtMatmul: race: columns or matrices that are written overlap");
}

// cuBLASLt has no preference for the alignment of a bias, and may read it in the vectors in which it writes the result.
TEST(CudaBlas, ReadsBiasesThatBeginAnywhere) {
  const EmulatedDevice device;
  const Floats a(20), b(15), d(12), bias(8);
  for (int64_t first = 0; first < 5; ++first) multiply_now(kSmall, {a.data, b.data, bias.data + first, d.data});
  EXPECT_EQ(device.products(), 5);
}

TEST(CudaBlas, BlockingNamesFailedProducts) {
  const EnvironmentVariable blocking("TAPE_CUDA_BLOCKING", "1"), algorithms("TAPE_CUDA_ALGORITHMS", "first");
  FakeDriver driver;
  Blas table = emulated_blas();
  table.matmul = [](auto...) -> BlasStatus { return blas_status::success; };
  install_blas(&table);
  const Floats a(20), b(15), d(12);
  EXPECT_TRUE(multiply(kSmall, {a.data, b.data, nullptr, d.data}));
  driver.synchronize = 700;
  const LaunchingOperation operation("linear");
  EXPECT_TAPE_ERROR(multiply(kSmall, {a.data, b.data, nullptr, d.data}), ErrorKind::device,
                    "cuda: kernel cublasLtMatmul of operation linear failed: an illegal memory access was encountered "
                    "(CUDA_ERROR_ILLEGAL_ADDRESS). The device cannot be used any more in this process");
  install_blas(nullptr);
}

TEST(CudaBlas, WrongLayoutsAreRefused) {
  const EmulatedDevice device;
  const Floats a(20), b(15), d(12);
  BlasProduct narrow = kSmall;
  narrow.lda = 3;
  EXPECT_TAPE_ERROR(multiply(narrow, {a.data, b.data, nullptr, d.data}), ErrorKind::device,
                    "cuda: cublasLtMatmulAlgoGetHeuristic: status CUBLAS_STATUS_INVALID_VALUE (7)");
  BlasProduct unsupported = kSmall;
  unsupported.compute = BlasCompute::f64;
  EXPECT_FALSE(multiply(unsupported, {a.data, b.data, nullptr, d.data}));
}

/// Objects of a product [4, 5] x [5, 3], which a test may spoil.
struct RawProduct : NonCopyable {
  RawProduct() {
    blas.create(&handle);
    blas.matmul_create(&descriptor, BlasCompute::f32, BlasType::f32);
    blas.layout_create(&a, BlasType::f32, 4, 5, 4);
    blas.layout_create(&b, BlasType::f32, 5, 3, 5);
    blas.layout_create(&d, BlasType::f32, 4, 3, 4);
    blas.preference_create(&preference);
  }
  ~RawProduct() {
    for (void* layout : {a, b, d}) blas.layout_destroy(layout);
    blas.preference_destroy(preference);
    blas.matmul_destroy(descriptor);
    blas.destroy(handle);
  }

  BlasStatus choose() {
    int count = 0;
    return blas.get_heuristic(handle, descriptor, a, b, d, d, preference, 1, &best, &count);
  }
  BlasStatus run(const float* from, const float* by, float* to) {
    const float one = 1, zero = 0;
    return blas.matmul(handle, descriptor, &one, from, a, by, b, &zero, to, d, to, d, &best.algorithm, nullptr, 0,
                       nullptr);
  }

  const Blas& blas = emulated_blas();
  void *handle, *descriptor, *a, *b, *d, *preference;
  BlasHeuristic best = {};
};

TEST(CudaBlas, AttributesHaveTheirSizes) {
  const EmulatedDevice device;
  RawProduct product;
  const Blas& blas = product.blas;
  const int64_t wide = 1;
  const int32_t narrow = 1;
  using namespace matmul_attribute;
  for (const int attribute : {transpose_a, transpose_b, epilogue}) {
    EXPECT_EQ(blas.matmul_set(product.descriptor, attribute, &wide, sizeof wide), blas_status::invalid_value);
    EXPECT_EQ(blas.matmul_set(product.descriptor, attribute, &narrow, sizeof narrow), blas_status::success);
  }
  EXPECT_EQ(blas.matmul_set(product.descriptor, 99, &narrow, sizeof narrow), blas_status::invalid_value);
  EXPECT_EQ(blas.layout_set(product.a, layout_attribute::batch_stride, &narrow, sizeof narrow),
            blas_status::invalid_value);
  EXPECT_EQ(blas.preference_set(product.preference, preference_attribute::workspace_bytes, &narrow, sizeof narrow),
            blas_status::invalid_value);
}

TEST(CudaBlas, AlgorithmsBelongToAProductAndAnAlignment) {
  const EmulatedDevice device;
  const Floats a(21), b(15), d(12);
  RawProduct product;
  EXPECT_EQ(product.run(a.data, b.data, d.data), blas_status::invalid_value);
  EXPECT_EQ(product.choose(), blas_status::success);
  EXPECT_EQ(product.run(a.data, b.data, d.data), blas_status::success);
  EXPECT_TAPE_ERROR(product.run(a.data + 1, b.data, d.data), ErrorKind::device,
                    "emulated device: cublasLtMatmul: operand a is not aligned to 256 bytes");
  const uint32_t bias = blas_epilogue::bias;
  const void* const values = b.data;
  product.blas.matmul_set(product.descriptor, matmul_attribute::epilogue, &bias, sizeof bias);
  product.blas.matmul_set(product.descriptor, matmul_attribute::bias_pointer, &values, sizeof values);
  EXPECT_EQ(product.run(a.data, b.data, d.data), blas_status::invalid_value);
}

}  // namespace
}  // namespace tape::cuda_device
