#include "autograd/kernels/elementwise/unary.h"

#include "tests/cuda/kernels/beside_cpu.h"

namespace tape::kernels {
namespace {
using namespace beside_cpu;

struct Row {
  const char* name;
  UnaryKernel UnaryKernels::*kernel;
};
#define TAPE_ROW(name) \
  Row { #name, &UnaryKernels::name }
const Row kRows[] = {
    TAPE_ROW(neg),     TAPE_ROW(abs),   TAPE_ROW(sign),  TAPE_ROW(square), TAPE_ROW(reciprocal), TAPE_ROW(exp),
    TAPE_ROW(log),     TAPE_ROW(sqrt),  TAPE_ROW(rsqrt), TAPE_ROW(sin),    TAPE_ROW(cos),        TAPE_ROW(tanh),
    TAPE_ROW(sigmoid), TAPE_ROW(erf),   TAPE_ROW(relu),  TAPE_ROW(gelu),   TAPE_ROW(gelu_tanh),  TAPE_ROW(silu),
    TAPE_ROW(log1p),   TAPE_ROW(log2),  TAPE_ROW(log10), TAPE_ROW(expm1),  TAPE_ROW(exp2),       TAPE_ROW(sinh),
    TAPE_ROW(cosh),    TAPE_ROW(atanh), TAPE_ROW(mish),  TAPE_ROW(tan),    TAPE_ROW(asin),       TAPE_ROW(acos),
    TAPE_ROW(atan),    TAPE_ROW(round), TAPE_ROW(floor), TAPE_ROW(ceil),   TAPE_ROW(trunc),      TAPE_ROW(frac)};
static_assert(std::size(kRows) == sizeof(UnaryKernels) / sizeof(UnaryKernel));

template <class T>
class CudaUnary : public KernelTest<T> {};
TYPED_TEST_SUITE(CudaUnary, BothTypes);

TYPED_TEST(CudaUnary, ValuesAreThoseOfTheCpu) {
  for (const Row& row : kRows) {
    const UnaryLoops<TypeParam>& cpu = (unary().*row.kernel).template loops<TypeParam>();
    const UnaryLoops<TypeParam>& cuda = (cuda::unary.*row.kernel).template loops<TypeParam>();
    for (const int64_t n : kCounts) {
      SCOPED_TRACE(std::string(row.name) + ", " + std::to_string(n) + " elements");
      expect_same_results(
          this->device, special_and_random<TypeParam>(n), [&](TypeParam* x) { cpu.forward(n, x, x); },
          [&](TypeParam* x) { cuda.forward(n, x, x); });
    }
  }
}

TYPED_TEST(CudaUnary, DerivativesBeforeADropoutAreThoseOfTheCpu) {
  int activations = 0;
  for (const Row& row : kRows) {
    const UnaryLoops<TypeParam>& cpu = (unary().*row.kernel).template loops<TypeParam>();
    const UnaryLoops<TypeParam>& cuda = (cuda::unary.*row.kernel).template loops<TypeParam>();
    if (!cuda.backward_dropped) continue;
    ++activations;
    for (const int64_t n : kCounts)
      for (const uint64_t counter : {4, 7}) {
        SCOPED_TRACE(std::string(row.name) + ", " + std::to_string(n) + " elements from " + std::to_string(counter));
        const std::vector<TypeParam> values = special_and_random<TypeParam>(n);
        const DeviceArray<TypeParam> on_device(values);
        const Dropout dropout{5, counter, 0.4};
        expect_same_results(
            this->device, random_values<TypeParam>(n, 2, -1, 1),
            [&](TypeParam* dz) {
              random<TypeParam>().dropout(n, dropout.seed, counter, dropout.p, dz, dz);
              cpu.backward(n, values.data(), dz, dz);
            },
            [&](TypeParam* dz) { cuda.backward_dropped(n, on_device.constant(), dz, dropout, dz); });
      }
  }
  EXPECT_EQ(activations, 4);
}

TYPED_TEST(CudaUnary, DerivativesAreThoseOfTheCpu) {
  int slopes = 0;
  for (const Row& row : kRows) {
    EXPECT_EQ((unary().*row.kernel).derivative_reads, (cuda::unary.*row.kernel).derivative_reads) << row.name;
    const UnaryLoops<TypeParam>& cpu = (unary().*row.kernel).template loops<TypeParam>();
    const UnaryLoops<TypeParam>& cuda = (cuda::unary.*row.kernel).template loops<TypeParam>();
    ASSERT_EQ(cpu.backward == nullptr, cuda.backward == nullptr) << row.name;
    if (!cpu.backward) continue;
    ++slopes;
    for (const int64_t n : kCounts) {
      SCOPED_TRACE(std::string(row.name) + ", " + std::to_string(n) + " elements");
      const std::vector<TypeParam> values = special_and_random<TypeParam>(n);
      const DeviceArray<TypeParam> on_device(values);
      expect_same_results(
          this->device, random_values<TypeParam>(n, 2, -1, 1),
          [&](TypeParam* dy) { cpu.backward(n, values.data(), dy, dy); },
          [&](TypeParam* dy) { cuda.backward(n, on_device.constant(), dy, dy); });
    }
  }
  EXPECT_EQ(slopes, 19);
}

}  // namespace
}  // namespace tape::kernels
