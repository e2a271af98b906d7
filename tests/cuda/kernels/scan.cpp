#include "autograd/kernels/reduce/scan.h"

#include <fmt/format.h>

#include "tests/cuda/kernels/beside_cpu.h"

namespace tape::kernels {
namespace {
using namespace beside_cpu;

template <class T>
class CudaScan : public KernelTest<T> {
 protected:
  using Kernels = const ScanKernels<T>&;

  /// Compares call(kernels, pointer of each input..., output).
  template <class Call, class... Inputs>
  void check(const char* what, const AxisShape& s, const Call& call, const Inputs&... inputs) {
    Array<T> expected(static_cast<size_t>(s.elements()));
    call(scan<T>(), inputs.data()..., expected.data());
    const auto actual = this->on_device([&] {
      const DeviceArray<T> to(expected.size());
      [&](const auto&... from) { call(scan<T>(kOnDevice), from.constant()..., to.get()); }(DeviceArray<T>(inputs)...);
      return to.values();
    });
    expect_close(actual, expected, what, std::sqrt(static_cast<double>(s.size)));
  }
  void check_all(const AxisShape& s, const Array<T>& x) {
    SCOPED_TRACE(fmt::format("[{}, {}, {}]", s.outer, s.size, s.inner));
    const Array<T> other = random_values<T>(s.elements(), 8);
    for (const bool reverse : {false, true}) {
      check(
          "cumsum", s, [&](Kernels k, const T* from, T* to) { k.cumsum(s.outer, s.size, s.inner, from, to, reverse); },
          x);
      check(
          "linear", s,
          [&](Kernels k, const T* a, const T* b, T* to) { k.linear(s.outer, s.size, s.inner, a, b, to, reverse); },
          factors(s), x);
    }
    check(
        "logcumsumexp", s, [&](Kernels k, const T* from, T* to) { k.logcumsumexp(s.outer, s.size, s.inner, from, to); },
        x);
    Array<T> y(x.size());
    scan<T>().logcumsumexp(s.outer, s.size, s.inner, x.data(), y.data());
    check(
        "logcumsumexp_backward", s,
        [&](Kernels k, const T* from, const T* sums, const T* dy, T* dx) {
          k.logcumsumexp_backward(s.outer, s.size, s.inner, from, sums, dy, dx);
        },
        x, y, other);
    check_product(s, x);
    check_product(s, factors(s));
    for (const bool largest : {false, true}) check_extremum(s, x, largest);
  }

 private:
  /// Values near 1 with an occasional 0, whose products neither overflow nor underflow.
  static Array<T> factors(const AxisShape& s) {
    Array<T> x = random_values<T>(s.elements(), 3);
    for (size_t i = 0; i < x.size(); ++i) x[i] = i % 701 == 500 ? T(0) : std::exp2(x[i] / 64);
    return x;
  }
  void check_product(const AxisShape& s, const Array<T>& x) {
    check(
        "cumprod", s, [&](Kernels k, const T* from, T* to) { k.cumprod(s.outer, s.size, s.inner, from, to); }, x);
    Array<T> y(x.size());
    scan<T>().cumprod(s.outer, s.size, s.inner, x.data(), y.data());
    check(
        "cumprod_backward", s,
        [&](Kernels k, const T* from, const T* products, const T* dy, T* dx) {
          k.cumprod_backward(s.outer, s.size, s.inner, from, products, dy, dx);
        },
        x, y, random_values<T>(s.elements(), 9));
  }
  void check_extremum(const AxisShape& s, const Array<T>& x, bool largest) {
    Array<T> expected(x.size());
    Array<int64_t> at(x.size());
    scan<T>().cumulative_extremum(s.outer, s.size, s.inner, x.data(), largest, expected.data(), at.data());
    const auto index = this->on_device([&] {
      const DeviceArray<T> from(x), to(x.size());
      const DeviceArray<int64_t> positions(x.size());
      scan<T>(kOnDevice).cumulative_extremum(s.outer, s.size, s.inner, from.get(), largest, to.get(), positions.get());
      expect_close(to.values(), expected, "extremum", 0, 0);
      return positions.values();
    });
    EXPECT_EQ(index, at);
  }
};
TYPED_TEST_SUITE(CudaScan, BothTypes);

TYPED_TEST(CudaScan, IsThatOfTheCpu) {
  using T = TypeParam;
  for (const AxisShape& s : kAxisShapes) {
    this->check_all(s, random_values<T>(s.elements(), 1));
    this->check_all(s, with_specials<T>(s.elements(), 2, {1, 1, -1, 2, 2, -2, 0}, 2));  // equal values
    this->check_all(s, with_specials<T>(s.elements(), 2, {-kInf, kInf, 1, kNan, -kInf}, 7));
  }
  this->check_all({1, 40, 1}, Array<T>(40, static_cast<T>(-kInf)));
  this->check_all({2, 0, 3}, {});
}

}  // namespace
}  // namespace tape::kernels
