#include "autograd/kernels/elementwise/elementwise.h"

#include "tests/cuda/kernels/beside_cpu.h"
#include "tests/cuda/kernels/plans.h"

namespace tape::kernels {
namespace {
using namespace beside_cpu;

template <class T>
class CudaElementwise : public KernelTest<T> {
 protected:
  using Values = std::vector<T>;
  using Flags = std::vector<uint8_t>;
  static const ElementwiseKernels<T>& cpu() { return elementwise<T>(); }
  static const ElementwiseKernels<T>& cuda() { return elementwise<T>(kOnDevice); }

  /// Operands of a plan; on the host and on the device.
  struct Operand {
    Operand(const Values& values) : host(values), device(values) {}
    Values host;
    DeviceArray<T> device;
  };
  static Values values(const Broadcast& plan, int operand) {
    return special_and_random<T>(elements(plan, operand), static_cast<uint32_t>(operand + 1));
  }
  static Values empty(int64_t count) { return Values(static_cast<size_t>(count)); }
};
TYPED_TEST_SUITE(CudaElementwise, BothTypes);

TYPED_TEST(CudaElementwise, BinaryOperations) {
  using T = TypeParam;
  for (const Broadcast& plan : broadcasts()) {
    const typename TestFixture::Values a_values = this->values(plan, 0), b_values = this->values(plan, 1);
    typename TestFixture::Operand a(a_values), b(b_values);
    for (int op = 0; op <= static_cast<int>(Binary::atan2); ++op) {
      SCOPED_TRACE("operation " + std::to_string(op) + ", " + std::to_string(outputs(plan)) + " elements, rank " +
                   std::to_string(plan.rank));
      const auto binary = static_cast<Binary>(op);
      expect_same_results(
          this->device, this->empty(outputs(plan)),
          [&](T* out) { this->cpu().binary(binary, plan, a.host.data(), b.host.data(), out); },
          [&](T* out) { this->cuda().binary(binary, plan, a.device.constant(), b.device.constant(), out); });
    }
  }
}

TYPED_TEST(CudaElementwise, OutputsMayBeOperands) {
  using T = TypeParam;
  const Broadcast plan = {.rank = 2, .sizes = {9, 33}, .strides = {{33, 1}, {0, 1}}};
  typename TestFixture::Operand b(this->values(plan, 1));
  expect_same_results(
      this->device, this->values(plan, 0), [&](T* a) { this->cpu().binary(Binary::sub, plan, a, b.host.data(), a); },
      [&](T* a) { this->cuda().binary(Binary::sub, plan, a, b.device.constant(), a); });
}

TYPED_TEST(CudaElementwise, ComparesAsTheCpu) {
  for (const Broadcast& plan : broadcasts()) {
    typename TestFixture::Operand a(this->values(plan, 0)), b(this->values(plan, 1));
    for (int op = 0; op <= static_cast<int>(Compare::ge); ++op) {
      SCOPED_TRACE("comparison " + std::to_string(op) + ", " + std::to_string(outputs(plan)) + " elements");
      const auto compare = static_cast<Compare>(op);
      expect_same_results(
          this->device, std::vector<uint8_t>(static_cast<size_t>(outputs(plan))),
          [&](uint8_t* out) { this->cpu().compare(compare, plan, a.host.data(), b.host.data(), flags(out)); },
          [&](uint8_t* out) {
            this->cuda().compare(compare, plan, a.device.constant(), b.device.constant(), flags(out));
          });
    }
  }
}

TYPED_TEST(CudaElementwise, WhereAndLerp) {
  using T = TypeParam;
  for (const Broadcast& plan : broadcasts()) {
    SCOPED_TRACE(std::to_string(outputs(plan)) + " elements, rank " + std::to_string(plan.rank));
    typename TestFixture::Operand a(this->values(plan, 0)), b(this->values(plan, 1));
    typename TestFixture::Operand w(random_values<T>(elements(plan, 2), 1, -0.5, 1.5));
    std::vector<uint8_t> condition;
    for (const int64_t c : random_integers(elements(plan, 2), 0, 2)) condition.push_back(static_cast<uint8_t>(c));
    const DeviceArray<uint8_t> c_device(condition);
    expect_same_results(
        this->device, this->empty(outputs(plan)),
        [&](T* out) { this->cpu().where(plan, flags(condition.data()), a.host.data(), b.host.data(), out); },
        [&](T* out) {
          this->cuda().where(plan, flags(c_device.get()), a.device.constant(), b.device.constant(), out);
        });
    expect_same_results(
        this->device, this->empty(outputs(plan)),
        [&](T* out) { this->cpu().lerp(plan, a.host.data(), b.host.data(), w.host.data(), out); },
        [&](T* out) { this->cuda().lerp(plan, a.device.constant(), b.device.constant(), w.device.constant(), out); });
  }
}

TYPED_TEST(CudaElementwise, ClassifiesAsTheCpu) {
  for (const int64_t n : kCounts) {
    typename TestFixture::Operand x(special_and_random<TypeParam>(n));
    for (const Class kind : {Class::finite, Class::infinite, Class::nan})
      expect_same_results(
          this->device, std::vector<uint8_t>(static_cast<size_t>(n)),
          [&](uint8_t* out) { this->cpu().classify(kind, n, x.host.data(), flags(out)); },
          [&](uint8_t* out) { this->cuda().classify(kind, n, x.device.constant(), flags(out)); });
  }
}

TYPED_TEST(CudaElementwise, ScalarOperations) {
  using T = TypeParam;
  for (const int64_t n : kCounts) {
    SCOPED_TRACE(std::to_string(n) + " elements");
    const std::vector<T> start = special_and_random<T>(n);
    typename TestFixture::Operand x(special_and_random<T>(n, 2)), factor(std::vector<T>{T(0.3)});
    expect_same_results(
        this->device, start, [&](T* y) { this->cpu().affine(n, y, 0.7, -0.2, y); },
        [&](T* y) { this->cuda().affine(n, y, 0.7, -0.2, y); });
    expect_same_results(
        this->device, start, [&](T* y) { this->cpu().scale_by(n, y, factor.host.data(), y); },
        [&](T* y) { this->cuda().scale_by(n, y, factor.device.constant(), y); });
    expect_same_results(
        this->device, start, [&](T* y) { this->cpu().accumulate(n, x.host.data(), -0.75, y); },
        [&](T* y) { this->cuda().accumulate(n, x.device.constant(), -0.75, y); });
    for (const double exponent : {0.0, 0.5, 1.0, 2.0, 3.0, -1.0, -0.5, 1.7, -2.0}) {
      SCOPED_TRACE("exponent " + std::to_string(exponent));
      expect_same_results(
          this->device, start, [&](T* y) { this->cpu().pow_scalar(n, y, exponent, y); },
          [&](T* y) { this->cuda().pow_scalar(n, y, exponent, y); });
    }
  }
}

}  // namespace
}  // namespace tape::kernels
