#include "autograd/kernels/elementwise/parametric.h"

#include "tests/cuda/kernels/compare.h"

namespace tape::kernels {
namespace {

template <class T>
class CudaParametric : public testing::Test {
 protected:
  void expect_same_function(ParametricLoops<T> ParametricKernels<T>::*function, double a, double b) {
    const ParametricLoops<T>& cpu = parametric<T>().*function;
    const ParametricLoops<T>& cuda = parametric<T>(Target{tape::cuda}).*function;
    for (const int64_t n : kCounts) {
      SCOPED_TRACE(std::to_string(n) + " elements");
      const std::vector<T> values = special_and_random<T>(n);
      HostArray<T> x(values);
      const DeviceArray<T> on_device(values);
      expect_same_results(
          device, values, [&](T* y) { cpu.forward(n, a, b, y, y); }, [&](T* y) { cuda.forward(n, a, b, y, y); });
      expect_same_results(
          device, random_values<T>(n, -1, 1, 2), [&](T* dy) { cpu.backward(n, a, b, x.get(), dy, dy); },
          [&](T* dy) { cuda.backward(n, a, b, on_device.constant(), dy, dy); });
    }
  }

  cuda_device::emulation::EmulatedDevice device;
};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(CudaParametric, Types);

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
