#include "autograd/kernels/norm/softmax.h"

#include "tests/cuda/kernels/beside_cpu.h"

namespace tape::kernels {
namespace {
using namespace beside_cpu;

template <class T>
class CudaSoftmax : public KernelTest<T> {
 protected:
  /// Compares an entry with one input, or with two.
  template <class Entry, class... Inputs>
  void check(Entry entry, const AxisShape& s, const Inputs&... inputs) {
    Array<T> expected(static_cast<size_t>(s.elements()));
    (softmax<T>().*entry)(s.outer, s.size, s.inner, inputs.data()..., expected.data());
    const auto actual = this->on_device([&] {
      const DeviceArray<T> to(expected.size());
      [&](const auto&... from) {
        (softmax<T>(kOnDevice).*entry)(s.outer, s.size, s.inner, from.constant()..., to.get());
      }(DeviceArray<T>(inputs)...);
      return to.values();
    });
    expect_close(actual, expected, "softmax");
  }
  /// Both functions of x and their gradients.
  void check_all(const AxisShape& s, const Array<T>& x) {
    check(&SoftmaxKernels<T>::softmax, s, x);
    check(&SoftmaxKernels<T>::log_softmax, s, x);
    Array<T> y(x.size());
    const Array<T> dy = random_values<T>(s.elements(), 9);
    softmax<T>().softmax(s.outer, s.size, s.inner, x.data(), y.data());
    check(&SoftmaxKernels<T>::softmax_backward, s, y, dy);
    softmax<T>().log_softmax(s.outer, s.size, s.inner, x.data(), y.data());
    check(&SoftmaxKernels<T>::log_softmax_backward, s, y, dy);
  }
};
TYPED_TEST_SUITE(CudaSoftmax, BothTypes);

TYPED_TEST(CudaSoftmax, IsThatOfTheCpu) {
  using T = TypeParam;
  for (const AxisShape& s : kAxisShapes) {
    this->check_all(s, random_values<T>(s.elements(), 1));
    this->check_all(s, with_specials<T>(s.elements(), 2, {-kInf, 100, -100}, 4));
  }
  this->check_all({2, 0, 3}, {});
}

TYPED_TEST(CudaSoftmax, IsThatOfTheCpuForSpecialLines) {
  using T = TypeParam;
  for (const int64_t size : {1, 3, 33, 1100}) {
    Array<T> x = random_values<T>(5 * size, 3);
    const auto fill_line = [&](int64_t line, double value, int64_t count) {
      std::fill_n(x.begin() + line * size, count, static_cast<T>(value));
    };
    fill_line(0, -kInf, size);
    fill_line(1, kInf, 1);
    fill_line(2, kNan, 1);
    fill_line(3, kNan, size);
    this->check_all({5, size, 1}, x);
  }
  // Lines that are columns: all -inf, one infinity, one NaN.
  const T inf = static_cast<T>(kInf), nan = static_cast<T>(kNan);
  const Array<T> columns = {-inf, 1, 2, 3, -inf, inf, nan, -inf, -inf, 0, 1, 5};
  this->check(&SoftmaxKernels<T>::softmax, {1, 3, 4}, columns);
  this->check(&SoftmaxKernels<T>::log_softmax, {1, 3, 4}, columns);
  this->check(&SoftmaxKernels<T>::log_softmax_backward, {1, 3, 4},
              Array<T>{-inf, -1, -2, -3, -inf, -1, 0, -inf, -inf, -1, -2, -5}, random_values<T>(12, 4));
}

}  // namespace
}  // namespace tape::kernels
