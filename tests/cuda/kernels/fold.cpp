#include "autograd/kernels/reduce/fold.h"

#include <fmt/format.h>

#include "tests/cuda/kernels/beside_cpu.h"

namespace tape::kernels {
namespace {
using namespace beside_cpu;

template <class T>
class CudaFold : public KernelTest<T> {
 protected:
  /// Compares call(kernels, inputs..., output) with an output of n values.
  template <class Call, class... Inputs>
  void check(const char* what, int64_t n, double size, const Call& call, const Inputs&... inputs) {
    Array<T> expected(static_cast<size_t>(n));
    call(fold_axis<T>(), inputs.data()..., expected.data());
    const auto actual = this->on_device([&] {
      const DeviceArray<T> to(expected.size());
      [&](const auto&... from) {
        call(fold_axis<T>(kOnDevice), from.constant()..., to.get());
      }(DeviceArray<T>(inputs)...);
      return to.values();
    });
    expect_close(actual, expected, what, size);
  }
};
TYPED_TEST_SUITE(CudaFold, BothTypes);

TYPED_TEST(CudaFold, SumsAreThoseOfTheCpu) {
  using T = TypeParam;
  using Kernels = const FoldKernels<T>&;
  const auto check_all = [&](const AxisShape& s, const Array<T>& x) {
    SCOPED_TRACE(fmt::format("[{}, {}, {}]", s.outer, s.size, s.inner));
    const int64_t n = s.lines();
    const double size = std::sqrt(static_cast<double>(s.size));
    const auto check = [&](const char* what, auto entry) {
      this->check(
          what, n, size, [&](Kernels k, const T* from, T* to) { (k.*entry)(s.outer, s.size, s.inner, from, to); }, x);
    };
    check("sum_of_abs", &FoldKernels<T>::sum_of_abs);
    check("sum_of_squares", &FoldKernels<T>::sum_of_squares);
    check("nansum", &FoldKernels<T>::nansum);
    this->check(
        "sum_of_squared_deviations", n, size,
        [&](Kernels k, const T* from, const T* centre, T* to) {
          k.sum_of_squared_deviations(s.outer, s.size, s.inner, from, centre, to);
        },
        x, random_values<T>(n, 7));
    for (const double p : {0.5, 3.0})
      this->check(
          "sum_of_abs_powers", n, size,
          [&](Kernels k, const T* from, T* to) { k.sum_of_abs_powers(s.outer, s.size, s.inner, from, p, to); }, x);
  };
  for (const AxisShape& s : kAxisShapes) {
    check_all(s, random_values<T>(s.elements(), 1));
    check_all(s, with_specials<T>(s.elements(), 2, {kInf, 0, 1, -kInf, 0, kNan}, 40));
  }
  check_all({2, 0, 3}, {});
}

TYPED_TEST(CudaFold, ProductsAndTheirGradientsAreThoseOfTheCpu) {
  using T = TypeParam;
  using Kernels = const FoldKernels<T>&;
  const auto check = [&](const AxisShape& s, const Array<T>& x) {
    SCOPED_TRACE(fmt::format("[{}, {}, {}]", s.outer, s.size, s.inner));
    const double size = std::sqrt(static_cast<double>(s.size));
    this->check(
        "product", s.lines(), size,
        [&](Kernels k, const T* from, T* to) { k.product(s.outer, s.size, s.inner, from, to); }, x);
    this->check(
        "product_backward", s.elements(), size,
        [&](Kernels k, const T* from, const T* dy, T* dx) {
          k.product_backward(s.outer, s.size, s.inner, from, dy, dx);
        },
        x, random_values<T>(s.lines(), 5));
  };
  for (const AxisShape& s : kAxisShapes) {
    Array<T> x = random_values<T>(s.elements(), 1);
    for (T& value : x) value = std::exp2(value / 64);  // products of thousands neither overflow nor underflow
    check(s, x);
    for (size_t i = 0; i < x.size(); i += 701) x[i] = 0;  // none, one or several in a line
    check(s, x);
    for (size_t i = 3; i < x.size(); i += 37) x[i] = static_cast<T>(i % 2 ? kInf : kNan);
    check(s, x);
    std::fill(x.begin(), x.end(), T(0.125));  // underflows in long lines
    check(s, x);
  }
  check({2, 0, 3}, {});
}

}  // namespace
}  // namespace tape::kernels
