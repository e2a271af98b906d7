#include "autograd/kernels/elementwise/parametric.h"

#include "tests/cuda/kernels/beside_cpu.h"

namespace tape::kernels {
namespace {
using namespace beside_cpu;

template <class T>
class CudaParametric : public KernelTest<T> {
 protected:
  void expect_same_function(ParametricLoops<T> ParametricKernels<T>::*function, double a, double b) {
    const ParametricLoops<T>& cpu = parametric<T>().*function;
    const ParametricLoops<T>& cuda = parametric<T>(kOnDevice).*function;
    for (const int64_t n : kCounts) {
      SCOPED_TRACE(std::to_string(n) + " elements");
      const std::vector<T> values = special_and_random<T>(n);
      const DeviceArray<T> on_device(values);
      expect_same_results(
          this->device, values, [&](T* y) { cpu.forward(n, a, b, y, y); }, [&](T* y) { cuda.forward(n, a, b, y, y); });
      expect_same_results(
          this->device, random_values<T>(n, 2, -1, 1), [&](T* dy) { cpu.backward(n, a, b, values.data(), dy, dy); },
          [&](T* dy) { cuda.backward(n, a, b, on_device.constant(), dy, dy); });
    }
  }
};
TYPED_TEST_SUITE(CudaParametric, BothTypes);

TYPED_TEST(CudaParametric, LeakyRelu) {
  this->expect_same_function(&ParametricKernels<TypeParam>::leaky_relu, 0.01, 0);
}
TYPED_TEST(CudaParametric, ComputesElu) { this->expect_same_function(&ParametricKernels<TypeParam>::elu, 0.7, 0); }
TYPED_TEST(CudaParametric, ComputesSoftplus) {
  this->expect_same_function(&ParametricKernels<TypeParam>::softplus, 1.5, 2);
  this->expect_same_function(&ParametricKernels<TypeParam>::softplus, 1, 20);
}

}  // namespace
}  // namespace tape::kernels
